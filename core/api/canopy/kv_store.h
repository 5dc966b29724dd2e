#pragma once

#include <canopy/types.h>

namespace canopy {

inline constexpr std::size_t kMaxStreams = 4;

/// One kind of bytes a token has in every model layer: K, V, an MLA latent, the scales of fp8 rows.
struct Stream {
  const char* name = "";
  std::uint32_t row_bytes = 0;
};

/// A run of tokens inside the pages of one request.
struct Slots {
  std::span<const Page> pages;
  std::uint32_t first = 0, count = 0;  ///< tokens, counted from the start of pages[0]
};

/// The rows of those tokens for one model layer, one packed array per stream (row_bytes apart).
struct Rows {
  enum class At : std::uint32_t { host, device };
  std::array<std::byte*, kMaxStreams> streams{};
  At at = At::host;
};

/// Keeps the bytes behind page numbers. Calls queue and run in order. Decides nothing; knows no dtype.
class KVStore {
 public:
  static constexpr const char* kInterface = "canopy.KVStore/1";
  struct Context {
    Units page_size = 1;  ///< tokens
  };
  virtual ~KVStore() = default;

  virtual std::span<const Stream> streams() const = 0;
  virtual std::uint32_t layers() const = 0;

  /// REQUIRES: layer < layers(), and every page lies in a segment that is backed.
  virtual void write(std::uint32_t layer, Slots to, const Rows& from) = 0;
  virtual void read(std::uint32_t layer, Slots from, const Rows& to) = 0;
  /// Whole pages, all layers and streams, in the order given. REQUIRES: from.size() == to.size().
  virtual void copy(std::span<const Page> from, std::span<const Page> to) = 0;

  /// Puts memory behind a segment's pages; false if there is none to be had, and nothing has changed.
  /// REQUIRES: it overlaps no other backed segment.
  virtual bool back(Segment segment) = 0;
  /// Gives it to the system again; what the pages held is lost. REQUIRES: backed exactly so.
  virtual void unback(Segment segment) = 0;

  /// Waits for everything queued. nullptr, or what failed first since the last call.
  virtual const char* sync() = 0;
};

}  // namespace canopy
