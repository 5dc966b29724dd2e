#include "host_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include <cache/guard/ports.h>

namespace canopy {

HostPages::HostPages(std::uint64_t image_bytes, std::uint64_t header_bytes, std::uint64_t& refused)
    : image_bytes_(image_bytes), header_bytes_(header_bytes), refused_(refused) {
  constexpr std::uint64_t kPiece = std::uint64_t{32} << 20;
  pages_at_once_ = std::max<std::uint64_t>(kPiece / std::max<std::uint64_t>(record_bytes(), 1), 1);
}

void HostPages::Unmap::operator()(std::byte* memory) const { munmap(memory, bytes); }

bool HostPages::take(Page last) {
  if (record_bytes() == 0) return true;
  for (std::size_t piece = 0; piece <= last / pages_at_once_; ++piece)
    if (!record(static_cast<Page>(piece * pages_at_once_))) return false;
  return true;
}

std::byte* HostPages::record(Page page) noexcept try {
  const std::size_t number = page / pages_at_once_;
  if (number >= pieces_.size()) {
    stored_.resize((number + 1) * pages_at_once_);
    was_refused_.resize(number + 1);
    pieces_.resize(number + 1);
  }
  auto& piece = pieces_[number];
  if (!piece) {
    const std::size_t bytes = pages_at_once_ * record_bytes();
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return refuse(number), nullptr;
    // A transfer of 1 MiB covers 256 pages of 4 KiB. Disks accept fewer at once, so it would become two requests.
    ::madvise(memory, bytes, MADV_HUGEPAGE);
    piece = {static_cast<std::byte*>(memory), Unmap{bytes}};
    ++mapped_;
    if (storage_) storage_->call("use_memory", &PageStorage::use_memory, std::span(piece.get(), bytes));
  }
  return piece.get() + page % pages_at_once_ * record_bytes();
} catch (const std::bad_alloc&) {
  return refuse(page / pages_at_once_), nullptr;
}

/// Counts the pages of a piece, once.
void HostPages::refuse(std::size_t piece) {
  const bool counted = piece < was_refused_.size() ? was_refused_[piece] : std::exchange(lists_were_refused_, true);
  if (counted) return;
  if (piece < was_refused_.size()) was_refused_[piece] = true;
  refused_ += pages_at_once_;
}

}  // namespace canopy
