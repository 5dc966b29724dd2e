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
  std::uint64_t offset = 0;  ///< bytes from its start to the segment
  std::uint64_t bytes = 0;
  std::uint64_t generation = 0;  ///< times the segment has been backed; a mapping belongs to one of them
};

/// The rows of a store, which requests write and read.
///
/// Calls queue and run in the order they were made. A call with memory of the host returns when the caller may use that
/// memory again. A call with memory of the device only queues; sync(), or the stream given to use_stream(), shows when
/// it is done. While a CUDA graph is being captured on its stream, only write() and read() with rows on the device and
/// copy() may be called.
class KVRows {
 public:
  virtual std::span<const Stream> streams() const = 0;
  virtual std::uint32_t layers() const = 0;
  /// Returns addresses and strides, constant for the lifetime of the store.
  virtual const KvView& view() const = 0;

  /// REQUIRES: layer < layers(), and every page lies in a segment that is backed.
  virtual void write(std::uint32_t layer, Slots to, const Rows& from) = 0;
  virtual void read(std::uint32_t layer, Slots from, const Rows& to) = 0;
  /// Copies whole pages, in all layers and streams. REQUIRES: from.size() == to.size(), and no page is in both or twice
  /// in `to`.
  virtual void copy(std::span<const Page> from, std::span<const Page> to) = 0;

  /// Queues later calls on this stream of the device, behind those queued before. It lives until another is given or
  /// the store ends. Null selects the store's own stream. A store on the host ignores the call.
  virtual void use_stream(void* stream) = 0;
  /// Waits for everything queued. Returns null, or the first failure since the last call, in words; once the device
  /// itself has failed, that failure in every call.
  virtual const char* sync() = 0;

 protected:
  ~KVRows() = default;
};

/// Pages of a store as images in memory of the host, for a lower tier or another process.
class KVImages {
 public:
  /// Returns the bytes of a page's image: [stream][layer][token][row] without gaps, rounded up to 4096, so that files
  /// opened with O_DIRECT and network cards take it as it is.
  virtual std::uint64_t image_bytes() const = 0;
  /// Copies whole pages to and from images on the host, image_bytes() apart. The padding at the end of an image is not
  /// read, and may be written.
  virtual void save(std::span<const Page> from, std::byte* images) = 0;
  virtual void load(const std::byte* images, std::span<const Page> to) = 0;

  /// As save and load, with one pointer per image, aligned to 4096, and the call only queues. Later calls run after it,
  /// so the pages of a begin_save may be written again at once. The store uses the images until the call is done.
  /// Returns a number that grows from call to call: the call is done when saved() or loaded() has reached it. 0: it is
  /// done already, as in the default. REQUIRES: images.size() is the number of pages.
  virtual std::uint64_t begin_save(std::span<const Page> from, std::span<std::byte* const> images) {
    for (std::size_t i = 0; i < from.size(); ++i) save(from.subspan(i, 1), images[i]);
    return 0;
  }
  virtual std::uint64_t begin_load(std::span<const std::byte* const> images, std::span<const Page> to) {
    for (std::size_t i = 0; i < to.size(); ++i) load(images[i], to.subspan(i, 1));
    return 0;
  }
  /// Returns the number up to which every begin_save, or begin_load, is done.
  virtual std::uint64_t saved() const { return 0; }
  virtual std::uint64_t loaded() const { return 0; }

 protected:
  ~KVImages() = default;
};

/// The memory of a store, in segments: segment s holds the pages from s * view().segment_pages on.
class KVMemory {
 public:
  /// Commits uninitialized memory for a segment. Returns false and changes nothing if allocation fails. REQUIRES: it is
  /// not backed.
  virtual bool back(std::uint32_t segment) = 0;
  /// Returns the memory to the system once everything queued is done; the bytes of its pages are lost. REQUIRES: it is
  /// backed.
  virtual void unback(std::uint32_t segment) = 0;
  /// Pins a segment's memory for external views: it survives unback() until each pin() has had its unpin(). REQUIRES:
  /// it is backed when first pinned.
  virtual void pin(std::uint32_t segment) = 0;
  virtual void unpin(std::uint32_t segment) = 0;
  /// REQUIRES: the segment is backed, and stream < view().streams.
  virtual SharedMemory share(std::uint32_t segment, std::size_t stream) = 0;

 protected:
  ~KVMemory() = default;
};

/// Keeps the bytes behind page numbers: rows, images and memory. Decides nothing; knows no dtype.
///
/// Thread: called from the engine's thread only; what a call has queued ends by polling, saved() and loaded(). Errors:
/// return values, and sync() for what was queued. Exceptions: none; the engine records one that escapes as a violation.
/// Memory: back() may fail, and no other call takes memory for pages.
class KVStore : public KVRows, public KVImages, public KVMemory {
 public:
  static constexpr const char* kInterface = "canopy.KVStore/4.0";
  struct Context {
    Units page_size = 1;               ///< tokens
    std::uint32_t segment_pages = 0;   ///< 0: the store chooses
    std::uint64_t pages = kUnlimited;  ///< first limit of the pool, page 0 counted; it can be raised later
  };
  virtual ~KVStore() = default;

  std::uint64_t image_bytes() const override {
    std::uint64_t bytes = 0;
    for (std::size_t s = 0; s < view().streams; ++s) bytes += view().stream[s].page_stride * view().layers;
    return (bytes + 4095) & ~std::uint64_t{4095};
  }
};

}  // namespace canopy
