// A plugin has no path to the engine's headers: this must not compile.
#include <canopy/plugin.h>

#include <canopy/engine/engine.h>
