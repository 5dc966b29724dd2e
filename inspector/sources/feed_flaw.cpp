#include "feed_flaw.h"

#include <cstring>

namespace canopy::inspector {

std::string flaw_of(const FeedShape& shape) {
  constexpr Units kMostPageSize = 65536;  // limit of every engine
  constexpr std::size_t kVersion = sizeof(shape.magic) - 1;
  const char version = shape.magic[kVersion];  // a digit; otherwise it is no feed, and the byte must not be printed
  if (std::memcmp(shape.magic, FeedShape::kMagic, kVersion) != 0 || version < '0' || version > '9') return kNotAFeed;
  if (version != FeedShape::kMagic[kVersion])
    return std::string("it is a feed of another version of Canopy, in format '") + version +
           "'; this one reads format '" + FeedShape::kMagic[kVersion] + "'";
  if (shape.event_bytes != sizeof(Event) || shape.groups == 0 || shape.groups > kMaxGroups || shape.page_size == 0 ||
      shape.page_size > kMostPageSize)
    return "its header makes no sense";
  return {};
}

}  // namespace canopy::inspector
