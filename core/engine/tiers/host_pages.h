#pragma once

#include <canopy/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace canopy {

/// Memory behind the page numbers of a tier on the host: an image of a page for each, aligned to 4096 bytes. It takes
/// memory when a page is first used, many pages at a time.
class HostPages {
 public:
  /// `image_bytes`: a multiple of 4096; 0: pages without bytes, which have no memory.
  explicit HostPages(std::uint64_t image_bytes);

  std::uint64_t image_bytes() const { return image_bytes_; }
  /// Null if the system has no memory. REQUIRES: image_bytes() > 0.
  std::byte* image(Page page);

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const;
  };
  std::uint64_t image_bytes_;
  std::size_t pages_at_once_;
  std::vector<std::unique_ptr<std::byte, Unmap>> pieces_;
};

}  // namespace canopy
