#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <cache/cache_state.h>
#include "storage_read.h"

namespace canopy {

/// The pages that a read needs of each group: of a whole path all that the host tier lacks, of a window or a state the
/// last part before the boundary at which the read ends.
class ReadNeeds {
 public:
  /// REQUIRES: `host`, the state of the host tier, outlives this object.
  explicit ReadNeeds(const CacheState& host) : host_(host) {}

  /// Returns the first page that a read needs of a group.
  std::size_t first(const StorageRead& read, std::size_t group) const { return first(read, group, read.end); }
  /// Returns the number of pages that a read needs of a group, up to its end.
  std::size_t count(const StorageRead& read, std::size_t group) const { return read.end - first(read, group); }

  /// Returns the deepest boundary of a read, up to its end, that every group can serve with the pages for which
  /// has(group, page) returns true. Returns the read's first page if there is none. Calls `has` only for pages that a
  /// boundary needs.
  template <class Has>
  std::size_t boundary(const StorageRead& read, Has&& has) const {
    std::size_t end = read.end;
    for (std::size_t g = 0; g < host_.groups.size(); ++g)
      if (is_whole_path(g)) end = std::min(end, served(read, g, end, has));
    for (std::size_t g = 0; g < host_.groups.size() && end > read.first;) {
      const std::size_t until = is_whole_path(g) ? end : served(read, g, end, has);
      g = until == end ? g + 1 : 0;  // a nearer boundary needs other pages of the windows and states before
      end = until;
    }
    return end;
  }

 private:
  bool is_whole_path(std::size_t group) const { return host_.groups[group].reach == kWholePath; }
  std::size_t first(const StorageRead& read, std::size_t group, std::size_t end) const {
    if (is_whole_path(group)) return std::min(read.whole, end);
    const std::uint64_t reach = host_.groups[group].reach;
    return std::max(read.first, end - std::min<std::uint64_t>(end, (reach + host_.page_size - 1) / host_.page_size));
  }
  /// Returns `end` if the group can serve a boundary there, else the deepest place before it where it may serve one.
  template <class Has>
  std::size_t served(const StorageRead& read, std::size_t group, std::size_t end, Has&& has) const {
    const std::size_t from = first(read, group, end);
    if (is_whole_path(group)) {
      std::size_t page = from;
      while (page < end && has(group, page)) ++page;
      return page;
    }
    for (std::size_t page = end; page > from; --page)
      if (!has(group, page - 1)) return page - 1;
    return end;
  }

  const CacheState& host_;
};

}  // namespace canopy
