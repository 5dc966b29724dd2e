#include <canopy/base/plugin_call.h>

namespace canopy::detail {

thread_local constinit PluginCall plugin_call;

}  // namespace canopy::detail
