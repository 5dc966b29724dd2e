/// A build without the page.
#include "page_files.h"

namespace canopy::inspector {

std::span<const PageFile> page_files() { return {}; }

}  // namespace canopy::inspector
