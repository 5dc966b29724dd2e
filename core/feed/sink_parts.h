#pragma once
/// Parts of the kinds of FeedSink.

#include <canopy/feed/sink.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <string>

#include <fmt/format.h>

namespace canopy {

inline Error cannot(const std::string& what, const char* why) { return Error{fmt::format("{}: {}", what, why)}; }

/// Zeroed memory of this process, which takes no space before it is written.
class Zeroed {
 public:
  Zeroed() = default;
  ~Zeroed() {
    if (base_) ::munmap(base_, bytes_);
  }
  Zeroed(const Zeroed&) = delete;

  bool map(std::size_t bytes) {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return false;
    base_ = static_cast<std::byte*>(at), bytes_ = bytes;
    return true;
  }
  std::byte* base() const { return base_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Creates a header with the fields of `shape`; its atomics are 0.
inline FeedHeader* begin_header(std::byte* at, const FeedShape& shape, const FeedConfig& config,
                                std::uint64_t ring_events) {
  auto* header = new (at) FeedHeader();
  header->event_bytes = sizeof(Event);
  header->page_size = shape.page_size, header->overlap = shape.overlap, header->groups = shape.groups;
  std::copy(std::begin(shape.reaches), std::end(shape.reaches), header->reaches);
  header->ring_events = ring_events;
  header->pid = static_cast<std::uint64_t>(::getpid());
  header->tokens = config.tokens, header->controls = config.controls;
  config.name.copy(header->name, sizeof(header->name) - 1);
  return header;
}

inline void choose_key(FeedWriter& writer, const FeedConfig& config) {
  if (config.tokens) return;
  std::random_device random;
  writer.use_digest_key(std::uint64_t{random()} << 32 | random());
}

/// Opens a recording (FeedSink).
Result<std::unique_ptr<FeedSink>> open_recording(const FeedConfig& config, const FeedShape& shape);

}  // namespace canopy
