#include <canopy/helpers/kv_layout.h>
#include <canopy/helpers/stream_entries.h>
#include <canopy/plugin.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <vector>

/// Keeps rows in host memory. Addresses are reserved once, and memory comes and goes by segments. Calls:
/// canopy/kv_store.h.
class Example final : public canopy::KVStore {
 public:
  struct Config {
    std::uint32_t layers = 1;
    canopy::StreamEntries streams;
    void visit(canopy::Options& o) {
      o.number("layers", layers, 1, 4096, "model layers");
      o.entries("streams", streams, "row widths by name, such as { k: 2048, v: 2048 }; at most four");
    }
  };

  Example(const Config& config, const Context& context) : config_(config), streams_(config_.streams.streams()) {
    const auto page = canopy::page_bytes(streams_, config_.layers, context.page_size);
    const std::uint32_t segment_pages =
        context.segment_pages ? context.segment_pages
                              : canopy::usual_segment_pages(page.value_or(~std::uint64_t{0}), context.pages);
    const auto layout = canopy::lay_out(streams_, config_.layers, context.page_size, segment_pages,
                                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)), kAddresses);
    if (!layout) throw std::invalid_argument("a segment of these rows does not fit into 1 TiB of addresses");
    layout_ = *layout;
    bytes_ = layout_.segment_stride() * layout_.view.segments;
    void* const addresses = ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (addresses == MAP_FAILED) throw std::runtime_error("the system has no addresses for the rows");
    base_ = static_cast<std::byte*>(addresses);
    std::byte* at = base_;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      layout_.view.stream[s].base = at;
      at += layout_.view.stream[s].segment_stride * layout_.view.segments;
    }
  }
  ~Example() override { ::munmap(base_, bytes_); }
  Example(const Example&) = delete;

  std::span<const canopy::Stream> streams() const override { return streams_; }
  std::uint32_t layers() const override { return config_.layers; }
  const canopy::KVView& view() const override { return layout_.view; }

  void write(std::uint32_t layer, canopy::Slots to, const canopy::Rows& from) override {
    each_row(layer, to, [&](std::size_t s, std::byte* row, std::size_t i, std::size_t bytes) {
      std::memcpy(row, from.streams[s] + i * bytes, bytes);
    });
  }
  void read(std::uint32_t layer, canopy::Slots from, const canopy::Rows& to) override {
    each_row(layer, from, [&](std::size_t s, const std::byte* row, std::size_t i, std::size_t bytes) {
      std::memcpy(to.streams[s] + i * bytes, row, bytes);
    });
  }
  void copy(std::span<const canopy::Page> from, std::span<const canopy::Page> to) override {
    for (std::size_t i = 0; i < from.size(); ++i)
      each_part(to[i], [&](std::size_t s, std::uint32_t layer, std::byte* part, std::size_t bytes) {
        std::memcpy(part, layout_.view.page(s, layer, from[i]), bytes);
      });
  }
  void use_stream(void*) override {}
  const char* sync() override { return nullptr; }

  void save(std::span<const canopy::Page> from, std::byte* images) override {
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::byte* image = images + i * image_bytes();
      each_part(from[i], [&](std::size_t, std::uint32_t, const std::byte* part, std::size_t bytes) {
        std::memcpy(image, part, bytes);
        image += bytes;
      });
    }
  }
  void load(const std::byte* images, std::span<const canopy::Page> to) override {
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::byte* image = images + i * image_bytes();
      each_part(to[i], [&](std::size_t, std::uint32_t, std::byte* part, std::size_t bytes) {
        std::memcpy(part, image, bytes);
        image += bytes;
      });
    }
  }

  bool back(std::uint32_t segment) override {
    if (segment >= layout_.view.segments) return false;
    if (segment >= pins_.size()) pins_.resize(segment + 1);
    pins_[segment].backed = true;
    for (std::size_t s = 0; s < streams_.size(); ++s)
      if (::mprotect(memory(segment, s), layout_.used[s], PROT_READ | PROT_WRITE) != 0) return unback(segment), false;
    return true;
  }
  void unback(std::uint32_t segment) override {
    pins_[segment].backed = false;
    give_back(segment);
  }
  void pin(std::uint32_t segment) override { ++pins_[segment].count; }
  void unpin(std::uint32_t segment) override {
    --pins_[segment].count;
    give_back(segment);
  }
  canopy::SharedMemory share(std::uint32_t, std::size_t) override { return {}; }

 private:
  static constexpr std::uint64_t kAddresses = std::uint64_t{1} << 40;
  struct Pins {
    bool backed = false;
    std::uint32_t count = 0;
  };

  std::byte* memory(std::uint32_t segment, std::size_t s) const {
    return layout_.view.stream[s].base + segment * layout_.view.stream[s].segment_stride;
  }
  void give_back(std::uint32_t segment) {
    if (pins_[segment].backed || pins_[segment].count > 0) return;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      ::madvise(memory(segment, s), layout_.used[s], MADV_DONTNEED);
      ::mprotect(memory(segment, s), layout_.used[s], PROT_NONE);
    }
  }
  /// Calls part(stream, layer, where, bytes) for the parts of a page, in the order of its image.
  template <class Part>
  void each_part(canopy::Page page, Part&& part) {
    for (std::size_t s = 0; s < streams_.size(); ++s)
      for (std::uint32_t layer = 0; layer < config_.layers; ++layer)
        part(s, layer, layout_.view.page(s, layer, page), layout_.view.stream[s].page_stride);
  }
  /// Calls row(stream, where, number, bytes) for each row of a run of tokens.
  template <class Row>
  void each_row(std::uint32_t layer, canopy::Slots slots, Row&& row) {
    const canopy::Units page_size = layout_.view.page_size;
    for (std::size_t s = 0; s < streams_.size(); ++s)
      for (std::uint32_t i = 0; i < slots.count; ++i) {
        const std::uint32_t token = slots.first + i;
        const std::size_t bytes = layout_.view.stream[s].row_bytes;
        row(s, layout_.view.page(s, layer, slots.pages[token / page_size]) + token % page_size * bytes, i, bytes);
      }
  }

  Config config_;
  std::vector<canopy::Stream> streams_;  ///< the names point into config_
  canopy::KVLayout layout_;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::vector<Pins> pins_;  ///< by segment
};

CANOPY_PLUGIN("0.1.0", canopy::provide<canopy::KVStore, Example>("example", "describe in one line where rows are"));
