#pragma once

#include <canopy/page_storage.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace canopy {

/// Memory behind the page numbers of a tier on the host: a record for each, which is a header and the page's image,
/// both aligned to 4096 bytes. It takes memory when a page is first used, many pages at a time.
class HostPages {
 public:
  /// Both are multiples of 4096. `header_bytes`: in front of each image, for a storage below; 0: there is none. Where
  /// both are 0 pages have no memory.
  HostPages(std::uint64_t image_bytes, std::uint64_t header_bytes);

  std::uint64_t image_bytes() const { return image_bytes_; }
  std::uint64_t record_bytes() const { return header_bytes_ + image_bytes_; }
  /// Null if the system has no memory. REQUIRES: record_bytes() > 0.
  std::byte* record(Page page);
  std::byte* image(Page page) {
    std::byte* const bytes = record(page);
    return bytes ? bytes + header_bytes_ : nullptr;
  }
  /// Takes the memory of all pages up to this one now. False if the system does not have it.
  bool take(Page last);
  /// Whether the storage was given the page's record and has not refused it: for a storage that is written through.
  bool stored(Page page) const { return page < stored_.size() && stored_[page]; }
  void set_stored(Page page, bool stored) {
    if (page >= stored_.size() && stored) stored_.resize(page + std::size_t{1});
    if (page < stored_.size()) stored_[page] = stored;
  }

  /// Is told of memory from now on. REQUIRES: no memory was taken yet. The storage ends before the memory does.
  void use(PageStorage& storage) { storage_ = &storage; }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const;
  };
  std::uint64_t image_bytes_, header_bytes_;
  PageStorage* storage_ = nullptr;
  std::size_t pages_at_once_;
  std::vector<std::unique_ptr<std::byte, Unmap>> pieces_;
  std::vector<bool> stored_;  ///< by page
};

}  // namespace canopy
