#pragma once

#include <canopy/page_storage.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace canopy {

class StoragePort;

/// Memory of the pages of a tier on the host: one record per page, which is a header and the page's image, both aligned
/// to 4096 bytes. Memory is allocated when a page is first used, for many pages at a time.
class HostPages {
 public:
  /// Both sizes are multiples of 4096. `header_bytes`: size of the header for a storage below; 0 if there is none. If
  /// both are 0, pages have no memory. `refused` counts the pages for which the system refused memory, each once.
  /// REQUIRES: it outlives this object.
  HostPages(std::uint64_t image_bytes, std::uint64_t header_bytes, std::uint64_t& refused);

  std::uint64_t image_bytes() const { return image_bytes_; }
  std::uint64_t record_bytes() const { return header_bytes_ + image_bytes_; }
  /// Returns a page's record. Null if the system has no memory: it never throws. REQUIRES: record_bytes() > 0.
  std::byte* record(Page page) noexcept;
  std::byte* image(Page page) {
    std::byte* const bytes = record(page);
    return bytes ? bytes + header_bytes_ : nullptr;
  }
  /// Returns the number of pages that have memory, with those beyond the tier's last page.
  std::uint64_t with_memory() const { return pages_at_once_ * mapped_; }
  /// Allocates the memory of all pages up to `last`. Returns false if the system does not have it.
  bool take(Page last);
  /// Returns true if the storage received the page's record and has not refused it: for write-through.
  bool stored(Page page) const { return page < stored_.size() && stored_[page]; }
  /// REQUIRES: record(page) was not null, or `stored` is false.
  void set_stored(Page page, bool stored) {
    if (page < stored_.size()) stored_[page] = stored;
  }

  /// Registers the memory that is allocated from now on with a storage. REQUIRES: no memory was allocated yet. The
  /// storage is destroyed before the memory.
  void use(StoragePort& storage) { storage_ = &storage; }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const;
  };
  void refuse(std::size_t piece);

  std::uint64_t image_bytes_, header_bytes_;
  std::uint64_t& refused_;
  std::uint64_t mapped_ = 0;  ///< pieces that have memory
  StoragePort* storage_ = nullptr;
  std::size_t pages_at_once_;
  std::vector<std::unique_ptr<std::byte, Unmap>> pieces_;
  std::vector<bool> stored_;       ///< one per page
  std::vector<bool> was_refused_;  ///< pieces that are counted in refused_
  bool lists_were_refused_ = false;
};

}  // namespace canopy
