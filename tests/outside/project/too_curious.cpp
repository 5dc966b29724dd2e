// A plugin links nothing of Canopy's: one that calls the registry must not link.
#include <canopy/base/registry.h>
#include <canopy/plugin.h>

void load_plugins(canopy::Registry& registry) { registry.scan(".", canopy::Trust::strict); }
