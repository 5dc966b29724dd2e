/// A build without the page, and so without its server.
#include <fmt/format.h>

#include "program.h"
#include "serve_command.h"

namespace canopy::app {

int serve(const ServeArguments&) {
  return unusable(fmt::format("canopy serve: this build has no page for a browser: {}\nIn the source tree, type: {}",
                              CANOPY_PAGE_MISSING, "./scripts/install web && ./scripts/release"));
}

}  // namespace canopy::app
