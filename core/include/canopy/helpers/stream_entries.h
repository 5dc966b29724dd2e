#pragma once
/// The streams of a store as an option: `streams: { k: 2048, v: { heads: 8, head_dim: 128 } }`. The user chooses the
/// names; only the width of the rows has an effect.

#include <canopy/kv_store.h>
#include <canopy/options.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace canopy {

class StreamEntries final : public Entries {
 public:
  std::size_t size() const override { return entries_.size(); }
  const char* key(std::size_t i) const override { return entries_[i].name.c_str(); }
  const char* add(const char* key) override {
    if (entries_.size() == kMaxStreams) return "a store keeps at most four streams";
    entries_.push_back({key, 0, 0, 0, 3});
    return nullptr;
  }
  void visit(std::size_t i, Options& options) override {
    static constexpr const char* kDtypes[] = {"u8", "fp8", "fp16", "bf16", "fp32"};
    Entry& entry = entries_[i];
    options.number("row_bytes", entry.row_bytes, 0, kMaxRowBytes,
                   "bytes a token has in a layer; 0: heads x head_dim x dtype");
    options.number("heads", entry.heads, 0, 4096, "KV heads");
    options.number("head_dim", entry.head_dim, 0, 65536, "elements a head");
    options.choice("dtype", entry.dtype, kDtypes, "type of an element; only its width matters here");
  }

  /// Returns the streams for KVStore::streams; their names point into this object. Throws std::invalid_argument with an
  /// error message for the user if there is no stream, or if the width of one is not valid.
  std::vector<Stream> streams() const {
    static constexpr std::uint32_t kDtypeBytes[] = {1, 1, 2, 2, 4};
    std::vector<Stream> streams;
    for (const Entry& entry : entries_) {
      const std::uint64_t bytes =
          entry.row_bytes ? entry.row_bytes : std::uint64_t{entry.heads} * entry.head_dim * kDtypeBytes[entry.dtype];
      if (bytes == 0 || bytes > kMaxRowBytes)
        throw std::invalid_argument("stream '" + entry.name + "' has rows of " + std::to_string(bytes) +
                                    " bytes; expected 1 to 1048576 (row_bytes, or heads x head_dim x dtype)");
      streams.push_back({entry.name.c_str(), static_cast<std::uint32_t>(bytes)});
    }
    if (streams.empty()) throw std::invalid_argument("a store needs at least one stream, such as streams: { kv: 8 }");
    return streams;
  }

 private:
  static constexpr std::uint32_t kMaxRowBytes = 1U << 20;
  struct Entry {
    std::string name;
    std::uint32_t row_bytes = 0, heads = 0, head_dim = 0, dtype = 3;
  };
  std::vector<Entry> entries_;
};

}  // namespace canopy
