#include <canopy/helpers/kv_layout.h>
#include <canopy/helpers/stream_entries.h>
#include <canopy/plugin.h>

#include <cstring>
#include <string>

#include "reservation.h"

namespace {

using namespace canopy;

/// K/V rows in host memory: the reference for every other store, and the store of engines that run on the CPU.
class HostStore final : public KVStore {
 public:
  struct Config {
    std::uint32_t layers = 1;
    StreamEntries streams;
    Reservation::Options memory;
    std::uint64_t addresses = std::uint64_t{16} << 40;
    void visit(Options& options) {
      options.number("layers", layers, 1, 4096, "model layers");
      options.entries("streams", streams, "row widths by name, such as { k: 2048, v: 2048 }; at most four");
      options.flag("populate", memory.populate, "allocate a segment's memory at once, not when a row is first written");
      options.flag("huge_pages", memory.huge_pages, "request pages of 2 MiB");
      options.flag("lock", memory.lock, "never swap the memory out (`ulimit -l` shows the limit)");
      options.flag("share", memory.share, "let other processes map segments");
      options.number(
          "addresses", addresses, 4096, std::uint64_t{64} << 40,
          "address space to reserve, the limit for the growth of the pool; halved until the system accepts it",
          Unit::bytes);
    }
  };

  HostStore(const Config& config, const Context& context)
      : config_(config), streams_(config_.streams.streams()), memory_(config_.memory) {
    const auto page = page_bytes(streams_, config_.layers, context.page_size);
    const std::uint32_t chosen = context.segment_pages
                                     ? context.segment_pages
                                     : usual_segment_pages(page.value_or(~std::uint64_t{0}), context.pages);
    // A pool smaller than a segment gets a segment of its own size.
    const auto segment_pages =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(chosen, std::max<std::uint64_t>(context.pages, 1)));
    for (std::uint64_t addresses = config_.addresses; !memory_.base(); addresses /= 2) {
      const auto layout =
          lay_out(streams_, config_.layers, context.page_size, segment_pages, memory_.granularity(), addresses);
      if (!layout)
        throw std::invalid_argument("no addresses for a segment of " + std::to_string(segment_pages) + " pages of " +
                                    std::to_string(context.page_size) + " tokens in " + std::to_string(config_.layers) +
                                    " layers: the system, or `addresses`, allows less than " +
                                    std::to_string(addresses) + " bytes");
      layout_ = *layout;
      memory_.reserve(layout_.segment_stride() * layout_.view.segments);
    }
    std::byte* base = memory_.base();
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      layout_.view.stream[s].base = base;
      base += layout_.view.stream[s].segment_stride * layout_.view.segments;
    }
  }

  std::span<const Stream> streams() const override { return streams_; }
  std::uint32_t layers() const override { return config_.layers; }
  const KVView& view() const override { return layout_.view; }

  void write(std::uint32_t layer, Slots to, const Rows& from) override {
    each_piece(layer, to, [&](std::size_t stream, std::byte* in_store, std::size_t offset, std::size_t bytes) {
      std::memcpy(in_store, from.streams[stream] + offset, bytes);
    });
  }
  void read(std::uint32_t layer, Slots from, const Rows& to) override {
    each_piece(layer, from, [&](std::size_t stream, std::byte* in_store, std::size_t offset, std::size_t bytes) {
      std::memcpy(to.streams[stream] + offset, in_store, bytes);
    });
  }
  void copy(std::span<const Page> from, std::span<const Page> to) override {
    for (std::size_t i = 0; i < from.size(); ++i)
      each_run(to[i], [&](std::size_t s, std::uint32_t layer, std::byte* target, std::size_t bytes) {
        std::memcpy(target, layout_.view.page(s, layer, from[i]), bytes);
      });
  }
  void save(std::span<const Page> from, std::byte* images) override {
    for (const Page page : from) {
      std::byte* image = images;
      each_run(page, [&](std::size_t, std::uint32_t, const std::byte* source, std::size_t bytes) {
        std::memcpy(image, source, bytes);
        image += bytes;
      });
      images += image_bytes();
    }
  }
  void load(const std::byte* images, std::span<const Page> to) override {
    for (const Page page : to) {
      const std::byte* image = images;
      each_run(page, [&](std::size_t, std::uint32_t, std::byte* target, std::size_t bytes) {
        std::memcpy(target, image, bytes);
        image += bytes;
      });
      images += image_bytes();
    }
  }

  bool back(std::uint32_t segment) override {
    if (segment >= layout_.view.segments) return false;
    if (segment >= segments_.size()) segments_.resize(segment + 1);
    if (!segments_[segment].has_memory) {
      for (std::size_t s = 0; s < streams_.size(); ++s)
        if (!memory_.back(offset_of(segment, s), layout_.used[s])) {
          while (s-- > 0) memory_.unback(offset_of(segment, s), layout_.used[s]);
          return false;
        }
    }
    segments_[segment].has_memory = segments_[segment].backed = true;
    ++segments_[segment].generation;
    return true;
  }
  void unback(std::uint32_t segment) override {
    segments_[segment].backed = false;
    release(segment);
  }
  void pin(std::uint32_t segment) override { ++segments_[segment].pins; }
  void unpin(std::uint32_t segment) override {
    --segments_[segment].pins;
    release(segment);
  }
  SharedMemory share(std::uint32_t segment, std::size_t stream) override {
    return {memory_.reader(), offset_of(segment, stream), layout_.used[stream], segments_[segment].generation};
  }

  void use_stream(void*) override {}
  const char* sync() override { return nullptr; }

 private:
  struct SegmentMemory {
    bool has_memory = false, backed = false;
    std::uint32_t pins = 0;  ///< calls of pin() without unpin()
    std::uint64_t generation = 0;
  };

  std::uint64_t offset_of(std::uint32_t segment, std::size_t stream) const {
    const KVStream& in = layout_.view.stream[stream];
    return static_cast<std::uint64_t>(in.base - memory_.base()) + segment * in.segment_stride;
  }
  void release(std::uint32_t segment) {
    SegmentMemory& of = segments_[segment];
    if (of.backed || of.pins > 0 || !of.has_memory) return;
    for (std::size_t s = 0; s < streams_.size(); ++s) memory_.unback(offset_of(segment, s), layout_.used[s]);
    of.has_memory = false;
  }

  /// Calls run(stream, layer, where, bytes) for each piece of a page without gaps, in the order of the page's image.
  template <class Run>
  void each_run(Page page, Run&& run) {
    for (std::size_t s = 0; s < streams_.size(); ++s)
      for (std::uint32_t layer = 0; layer < config_.layers; ++layer)
        run(s, layer, layout_.view.page(s, layer, page), layout_.view.stream[s].page_stride);
  }
  /// Calls piece(stream, place in the store, offset in the caller's array, bytes) for each stream and page touched.
  template <class Piece>
  void each_piece(std::uint32_t layer, Slots slots, Piece&& piece) {
    const Units page_size = layout_.view.page_size;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      const std::size_t row = layout_.view.stream[s].row_bytes;
      for (std::uint32_t done = 0; done < slots.count;) {
        const std::uint32_t token = slots.first + done, in_page = token % page_size;
        const std::uint32_t rows = std::min(page_size - in_page, slots.count - done);
        piece(s, layout_.view.page(s, layer, slots.pages[token / page_size]) + in_page * row, done * row, rows * row);
        done += rows;
      }
    }
  }

  Config config_;
  std::vector<Stream> streams_;  ///< the names point into config_
  Reservation memory_;
  KVLayout layout_;
  std::vector<SegmentMemory> segments_;  ///< up to the last one that was ever backed
};

}  // namespace

CANOPY_PLUGIN("2.0.0", canopy::provide<canopy::KVStore, HostStore>("host", "rows in host memory"));
