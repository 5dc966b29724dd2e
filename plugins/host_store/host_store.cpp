#include <canopy/plugin.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace canopy;

constexpr const char* kDtypes[] = {"u8", "fp8", "fp16", "bf16", "fp32"};
constexpr std::uint32_t kDtypeBytes[] = {1, 1, 2, 2, 4};

/// What the user calls the streams, and how wide a row of each is: bytes, or heads x head_dim x dtype.
class StreamEntries final : public Entries {
 public:
  struct Entry {
    std::string name;
    std::uint32_t row_bytes = 0, heads = 0, head_dim = 0, dtype = 3;
  };

  std::size_t size() const override { return entries_.size(); }
  const char* key(std::size_t i) const override { return entries_[i].name.c_str(); }
  const char* add(const char* key) override {
    if (entries_.size() == kMaxStreams) return "a store keeps at most four streams";
    entries_.push_back({key, 0, 0, 0, 3});
    return nullptr;
  }
  void visit(std::size_t i, Options& options) override {
    Entry& entry = entries_[i];
    options.number("row_bytes", entry.row_bytes, 0, 1U << 20,
                   "bytes a token has in a layer; 0: heads x head_dim x dtype");
    options.number("heads", entry.heads, 0, 4096, "KV heads");
    options.number("head_dim", entry.head_dim, 0, 65536, "elements a head");
    options.choice("dtype", entry.dtype, kDtypes, "of an element; only its width matters here");
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// K/V rows in host memory, [layer][page][token][row] per stream and segment. The reference that every other
/// store is compared with, and a real store for engines that run on the CPU.
class HostStore final : public KVStore {
 public:
  struct Config {
    std::uint32_t layers = 1;
    StreamEntries streams;
    void visit(Options& options) {
      options.number("layers", layers, 1, 4096, "model layers");
      options.entries("streams", streams, "row widths by name, such as { k: 2048, v: 2048 }; at most four");
    }
  };

  HostStore(const Config& config, const Context& context) : page_size_(context.page_size), layers_(config.layers) {
    for (const StreamEntries::Entry& entry : config.streams.entries()) {
      const std::uint64_t bytes =
          entry.row_bytes ? entry.row_bytes : std::uint64_t{entry.heads} * entry.head_dim * kDtypeBytes[entry.dtype];
      if (bytes == 0 || bytes > 1U << 20)
        throw std::invalid_argument("stream '" + entry.name + "' has rows of " + std::to_string(bytes) +
                                    " bytes; expected 1 to 1048576 (row_bytes, or heads x head_dim x dtype)");
      names_.push_back(entry.name);
      row_bytes_.push_back(static_cast<std::uint32_t>(bytes));
    }
    if (names_.empty()) throw std::invalid_argument("a store needs at least one stream, such as streams: { kv: 8 }");
    for (std::size_t s = 0; s < names_.size(); ++s) streams_.push_back({names_[s].c_str(), row_bytes_[s]});
  }
  ~HostStore() override {
    for (const Backed& backed : backed_) munmap(backed.base, backed.bytes);
  }

  std::span<const Stream> streams() const override { return streams_; }
  std::uint32_t layers() const override { return layers_; }

  void write(std::uint32_t layer, Slots to, const Rows& from) override {
    each_piece(layer, to, [&](std::size_t stream, std::byte* in_store, std::size_t row, std::size_t bytes) {
      std::memcpy(in_store, from.streams[stream] + row * row_bytes_[stream], bytes);
    });
  }
  void read(std::uint32_t layer, Slots from, const Rows& to) override {
    each_piece(layer, from, [&](std::size_t stream, std::byte* in_store, std::size_t row, std::size_t bytes) {
      std::memcpy(to.streams[stream] + row * row_bytes_[stream], in_store, bytes);
    });
  }
  void copy(std::span<const Page> from, std::span<const Page> to) override {
    for (std::size_t i = 0; i < from.size(); ++i)
      for (std::size_t s = 0; s < streams_.size(); ++s)
        for (std::uint32_t layer = 0; layer < layers_; ++layer)
          std::memmove(page_at(layer, s, to[i]), page_at(layer, s, from[i]), std::size_t{page_size_} * row_bytes_[s]);
  }

  bool back(Segment segment) override {
    Backed backed{segment, nullptr, 0, {}};
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      backed.streams[s] = backed.bytes;
      std::size_t bytes = row_bytes_[s];
      for (const std::size_t factor : {std::size_t{layers_}, std::size_t{segment.pages}, std::size_t{page_size_}})
        if (__builtin_mul_overflow(bytes, factor, &bytes)) return false;
      if (__builtin_add_overflow(backed.bytes, bytes, &backed.bytes)) return false;
    }
    void* memory =
        mmap(nullptr, backed.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    backed.base = static_cast<std::byte*>(memory);
    const auto place = std::upper_bound(backed_.begin(), backed_.end(), segment.first,
                                        [](Page page, const Backed& other) { return page < other.segment.first; });
    backed_.insert(place, backed);
    last_ = 0;
    return true;
  }
  void unback(Segment segment) override {
    const auto found = std::find_if(backed_.begin(), backed_.end(), [&](const Backed& backed) {
      return backed.segment.first == segment.first && backed.segment.pages == segment.pages;
    });
    if (found == backed_.end()) return;
    munmap(found->base, found->bytes);
    backed_.erase(found);
    last_ = 0;
  }

  const char* sync() override { return nullptr; }

 private:
  struct Backed {
    Segment segment;
    std::byte* base;
    std::size_t bytes;
    std::array<std::size_t, kMaxStreams> streams;  ///< where each stream starts
    bool holds(Page page) const { return page - segment.first < segment.pages; }
  };

  std::byte* page_at(std::uint32_t layer, std::size_t stream, Page page) {
    if (!backed_[last_].holds(page)) {
      const auto after = std::upper_bound(backed_.begin(), backed_.end(), page, [](Page wanted, const Backed& other) {
        return wanted < other.segment.first;
      });
      last_ = static_cast<std::size_t>(after - backed_.begin()) - 1;
    }
    const Backed& backed = backed_[last_];
    const std::size_t page_bytes = std::size_t{page_size_} * row_bytes_[stream];
    return backed.base + backed.streams[stream] +
           (std::size_t{layer} * backed.segment.pages + (page - backed.segment.first)) * page_bytes;
  }

  /// piece(stream, where it is in the store, first row of the caller's array, bytes): one call per page touched.
  template <class Piece>
  void each_piece(std::uint32_t layer, Slots slots, Piece&& piece) {
    for (std::size_t s = 0; s < streams_.size(); ++s)
      for (std::uint32_t row = 0; row < slots.count;) {
        const std::uint32_t token = slots.first + row, in_page = token % page_size_;
        const std::uint32_t rows = std::min(page_size_ - in_page, slots.count - row);
        piece(s, page_at(layer, s, slots.pages[token / page_size_]) + std::size_t{in_page} * row_bytes_[s],
              std::size_t{row}, std::size_t{rows} * row_bytes_[s]);
        row += rows;
      }
  }

  Units page_size_;
  std::uint32_t layers_;
  std::vector<std::string> names_;
  std::vector<std::uint32_t> row_bytes_;
  std::vector<Stream> streams_;
  std::vector<Backed> backed_;  ///< by first page
  std::size_t last_ = 0;        ///< where the last page was found: neighbours mostly follow
};

}  // namespace

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::KVStore, HostStore>("host", "rows in host memory"));
