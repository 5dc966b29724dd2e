#include "plugins.h"

namespace canopy::test {

const Registry& plugins() {
  static const Registry loaded = [] {
    Registry registry;
    registry.scan(own_plugin_folder(), Trust::as_ourselves);
    return registry;
  }();
  return loaded;
}

}  // namespace canopy::test
