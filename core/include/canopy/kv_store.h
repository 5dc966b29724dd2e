#pragma once

#include <canopy/kv_view.h>

namespace canopy {

/// One kind of row that a token has in every model layer: K, V, an MLA latent, the scales of fp8 rows.
struct Stream {
  const char* name = "";
  std::uint32_t row_bytes = 0;
};

/// A run of tokens inside the pages of one request.
struct Slots {
  std::span<const Page> pages;
  std::uint32_t first = 0, count = 0;  ///< the first token, counted from the start of pages[0], and their number
};

/// The rows of a run of tokens in one model layer: one packed array per stream, in which rows are row_bytes apart.
struct Rows {
  enum class At : std::uint32_t { host, device };
  std::array<std::byte*, kMaxStreams> streams{};
  At at = At::host;
};

/// The memory behind one stream of a segment, for another process that maps it and only reads.
struct SharedMemory {
  int descriptor = -1;           ///< file descriptor, closed by the caller of share(); -1: the store shares nothing
  std::uint64_t offset = 0;      ///< bytes from the start of the file to the segment
  std::uint64_t bytes = 0;       ///< length of the memory
  std::uint64_t generation = 0;  ///< times that the segment has been backed; a mapping is valid for one of them
};

/// The rows of a store, which requests write and read.
///
/// Calls take effect in the order in which they were made. A call with host memory returns when the caller may use that
/// memory again. A call with device memory is only queued: sync(), or the stream given to use_stream(), shows when it
/// is done. While a CUDA graph is captured on that stream, only copy() and the write() and read() of rows on the device
/// may be called.
class KVRows {
 public:
  virtual std::span<const Stream> streams() const = 0;
  virtual std::uint32_t layers() const = 0;
  /// Returns addresses and strides, constant for the lifetime of the store.
  virtual const KVView& view() const = 0;

  /// Copy rows into the store, or out of it. REQUIRES: layer < layers(), and every page lies in a backed segment.
  virtual void write(std::uint32_t layer, Slots to, const Rows& from) = 0;
  virtual void read(std::uint32_t layer, Slots from, const Rows& to) = 0;
  /// Copies whole pages, in all layers and streams. REQUIRES: from.size() == to.size(), and no page is in both or twice
  /// in `to`.
  virtual void copy(std::span<const Page> from, std::span<const Page> to) = 0;

  /// Queues later calls on this stream of the device, after those that are queued already. Null: the store's own
  /// stream. A store on the host ignores the call. REQUIRES: the stream exists until the next use_stream() or the
  /// store's end.
  virtual void use_stream(void* stream) = 0;
  /// Waits for all queued calls. Returns null (no failure), or an error message about the first failure since the last
  /// sync(). Once the device itself has failed, every call returns that failure.
  virtual const char* sync() = 0;

 protected:
  ~KVRows() = default;
};

/// Pages of a store as images in host memory, for a lower tier or another process.
class KVImages {
 public:
  /// Returns the size of a page's image in bytes: [stream][layer][token][row] without gaps, rounded up to a multiple of
  /// 4096, as files opened with O_DIRECT and network cards need it.
  virtual std::uint64_t image_bytes() const = 0;
  /// Copy whole pages to images in host memory, and back. Images are image_bytes() apart. The padding at the end of an
  /// image is not read, and may be written.
  virtual void save(std::span<const Page> from, std::byte* images) = 0;
  virtual void load(const std::byte* images, std::span<const Page> to) = 0;

  /// Queue a save or a load, with one pointer per image. Later calls run after it, so the pages of a begin_save() may
  /// be written again at once. Return a number that grows from call to call: the call is done when saved() or loaded()
  /// has reached it; 0: it is already done, as by default, or it failed, and sync() reports that. REQUIRES: one image
  /// for each page, aligned to 4096 bytes and left to the store until the call is done.
  virtual std::uint64_t begin_save(std::span<const Page> from, std::span<std::byte* const> images) {
    for (std::size_t i = 0; i < from.size(); ++i) save(from.subspan(i, 1), images[i]);
    return 0;
  }
  virtual std::uint64_t begin_load(std::span<const std::byte* const> images, std::span<const Page> to) {
    for (std::size_t i = 0; i < to.size(); ++i) load(images[i], to.subspan(i, 1));
    return 0;
  }
  /// Return the number up to which every begin_save(), or begin_load(), is done. 0 after a failure that sync() has not
  /// reported yet.
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
  /// Returns the segment's memory to the system when all queued calls are done; the bytes of its pages are lost.
  /// REQUIRES: it is backed.
  virtual void unback(std::uint32_t segment) = 0;
  /// Pins a segment's memory for external views: it survives unback() until unpin() was called once for each pin().
  /// REQUIRES: the segment is backed at its first pin().
  virtual void pin(std::uint32_t segment) = 0;
  virtual void unpin(std::uint32_t segment) = 0;
  /// Returns the memory of a stream in a segment. REQUIRES: the segment is backed, and stream < view().streams.
  virtual SharedMemory share(std::uint32_t segment, std::size_t stream) = 0;

 protected:
  ~KVMemory() = default;
};

/// Keeps the bytes behind page numbers: rows, images and memory. It makes no decisions, and treats rows as bytes.
///
/// Thread: the engine's. It polls saved() and loaded() for the end of queued calls.
/// Errors: in results, and in sync() for queued calls.
/// Exceptions: none may escape. If one does, the engine records a violation and treats the call as failed.
/// Memory: only back() takes memory for pages, and may fail.
class KVStore : public KVRows, public KVImages, public KVMemory {
 public:
  static constexpr const char* kInterface = "canopy.KVStore/4.0";
  struct Context {
    Units page_size = 1;               ///< tokens
    std::uint32_t segment_pages = 0;   ///< pages of a segment; 0: the store chooses
    std::uint64_t pages = kUnlimited;  ///< initial limit of the pool, including page 0; it may be raised later
  };
  virtual ~KVStore() = default;

  std::uint64_t image_bytes() const override {
    std::uint64_t bytes = 0;
    for (std::size_t s = 0; s < view().streams; ++s) bytes += view().stream[s].page_stride * view().layers;
    return (bytes + 4095) & ~std::uint64_t{4095};
  }
};

}  // namespace canopy
