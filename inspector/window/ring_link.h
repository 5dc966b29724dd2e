#pragma once

#include <shell/link.h>
#include <sources/attachment.h>

namespace canopy::inspector {

/// Returns a link to the ring of an engine in this process. REQUIRES: the engine outlives it.
std::unique_ptr<Link> link_to(FeedHeader& header, std::string name);
std::unique_ptr<Link> link_to(std::unique_ptr<Attachment> attachment, std::string name);

}  // namespace canopy::inspector
