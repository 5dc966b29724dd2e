#pragma once

#include <canopy/kv_view.h>

namespace canopy {

/// One kind of bytes a token has in every model layer: K, V, an MLA latent, the scales of fp8 rows.
struct Stream {
  const char* name = "";
  std::uint32_t row_bytes = 0;
};

/// A run of tokens inside the pages of one request.
struct Slots {
  std::span<const Page> pages;
  std::uint32_t first = 0, count = 0;  ///< tokens, counted from the first one of pages[0]
};

/// The rows of those tokens for one model layer, one packed array per stream (row_bytes apart).
struct Rows {
  enum class At : std::uint32_t { host, device };
  std::array<std::byte*, kMaxStreams> streams{};
  At at = At::host;
};

/// The memory behind one stream of a segment, for another process that maps it and only reads.
struct SharedMemory {
  int descriptor = -1;       ///< the taker closes it; -1: this store shares nothing
  std::uint64_t offset = 0;  ///< bytes, where in it the segment begins
  std::uint64_t bytes = 0;
  std::uint64_t generation = 0;  ///< how often the segment has been backed; a mapping belongs to one of them
};

/// The rows of a store: what a request writes and reads.
///
/// Calls queue and run in the order they were made. A call with memory of the host returns when the caller may use that
/// memory again. A call with memory of the device only queues; it is done when sync(), or the stream given to
/// use_stream(), says so. While a CUDA graph is being captured on its stream a store only queues: write() and read()
/// with rows on the device, and copy(). All other calls are for the time before and after.
class KVRows {
 public:
  virtual std::span<const Stream> streams() const = 0;
  virtual std::uint32_t layers() const = 0;
  /// Addresses and strides, the same from the store's first day to its last.
  virtual const KvView& view() const = 0;

  /// REQUIRES: layer < layers(), and every page lies in a segment that is backed.
  virtual void write(std::uint32_t layer, Slots to, const Rows& from) = 0;
  virtual void read(std::uint32_t layer, Slots from, const Rows& to) = 0;
  /// Whole pages, all layers and streams. REQUIRES: from.size() == to.size(), and no page is in both or twice in `to`.
  virtual void copy(std::span<const Page> from, std::span<const Page> to) = 0;

  /// Calls queue on this stream of the device from now on. It lives until another is given or the store ends; null: the
  /// store's own. What was queued before runs before. A store on the host has no use for it.
  virtual void use_stream(void* stream) = 0;
  /// Waits for everything queued. nullptr, or what failed first: since the last call or, once the device itself has
  /// failed, ever.
  virtual const char* sync() = 0;

 protected:
  ~KVRows() = default;
};

/// Pages of a store as images in memory of the host, for a lower tier or another process.
class KVImages {
 public:
  /// Bytes of a page's image: [stream][layer][token][row] without gaps, rounded up to 4096, so that files opened with
  /// O_DIRECT and network cards take it as it is.
  virtual std::uint64_t image_bytes() const = 0;
  /// Images of whole pages to and from the host, image_bytes() apart. The bytes that an image is rounded up with are
  /// not read, and may be written.
  virtual void save(std::span<const Page> from, std::byte* images) = 0;
  virtual void load(const std::byte* images, std::span<const Page> to) = 0;

  /// As save and load, but each image lies where its pointer says, aligned to 4096, and the call only queues. Calls
  /// made later run after it: the pages of a begin_save may be written again at once. The memory of the images is the
  /// store's until the call is done. Returns a number that grows from call to call, by which saved() or loaded() tells
  /// that it is done; 0: it is done already, as it is by default. REQUIRES: as many images as pages.
  virtual std::uint64_t begin_save(std::span<const Page> from, std::span<std::byte* const> images) {
    for (std::size_t i = 0; i < from.size(); ++i) save(from.subspan(i, 1), images[i]);
    return 0;
  }
  virtual std::uint64_t begin_load(std::span<const std::byte* const> images, std::span<const Page> to) {
    for (std::size_t i = 0; i < to.size(); ++i) load(images[i], to.subspan(i, 1));
    return 0;
  }
  /// Every begin_save, or begin_load, up to this number is done.
  virtual std::uint64_t saved() const { return 0; }
  virtual std::uint64_t loaded() const { return 0; }

 protected:
  ~KVImages() = default;
};

/// The memory of a store, which comes and goes by segments: segment s holds the pages from s * view().segment_pages on.
class KVMemory {
 public:
  /// Puts memory behind a segment's pages, with anything in it; false if there is none to be had, and nothing has
  /// changed. REQUIRES: it is not backed.
  virtual bool back(std::uint32_t segment) = 0;
  /// Gives it to the system again once everything queued is done; the bytes of its pages are lost. REQUIRES: it is
  /// backed.
  virtual void unback(std::uint32_t segment) = 0;
  /// Pins a segment's memory for external views. It survives unback() until unpin() was called as many times as pin().
  /// REQUIRES: it is backed when first pinned.
  virtual void pin(std::uint32_t segment) = 0;
  virtual void unpin(std::uint32_t segment) = 0;
  /// REQUIRES: the segment is backed, and stream < view().streams.
  virtual SharedMemory share(std::uint32_t segment, std::size_t stream) = 0;

 protected:
  ~KVMemory() = default;
};

/// Keeps the bytes behind page numbers: rows, images and memory. Decides nothing; knows no dtype.
class KVStore : public KVRows, public KVImages, public KVMemory {
 public:
  static constexpr const char* kInterface = "canopy.KVStore/4";
  struct Context {
    Units page_size = 1;               ///< tokens
    std::uint32_t segment_pages = 0;   ///< 0: the store chooses
    std::uint64_t pages = kUnlimited;  ///< the pool's limit when it begins, page 0 counted; a limit can be raised later
  };
  virtual ~KVStore() = default;

  std::uint64_t image_bytes() const override {
    std::uint64_t bytes = 0;
    for (std::size_t s = 0; s < view().streams; ++s) bytes += view().stream[s].page_stride * view().layers;
    return (bytes + 4095) & ~std::uint64_t{4095};
  }
};

}  // namespace canopy
