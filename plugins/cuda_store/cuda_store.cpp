#include <canopy/helpers/kv_layout.h>
#include <canopy/helpers/stream_entries.h>
#include <canopy/plugin.h>

#include <cstring>

#include <cuda/gpu.h>
#include "page_lists.h"
#include "segments.h"
#include "transfer.h"

namespace canopy::cuda {
namespace {

/// K/V rows in GPU memory. sync() reports failures, which change nothing else. Once the device itself has failed, all
/// calls do nothing, and sync() always reports that failure.
class CudaStore final : public KVStore {
 public:
  struct Config {
    std::uint32_t layers = 1;
    StreamEntries streams;
    std::uint32_t device = 0;
    Segments::Options memory;
    std::uint64_t staging = std::uint64_t{16} << 20;
    void visit(Options& options) {
      options.number("layers", layers, 1, 4096, "model layers");
      options.entries("streams", streams, "row widths by name, such as { k: 2048, v: 2048 }; at most four");
      options.number("device", device, 0, 1023, "number of the device in the CUDA driver's order");
      options.number(
          "addresses", memory.addresses, 1 << 21, std::uint64_t{64} << 40,
          "address space to reserve, the limit for the growth of the pool; halved until the driver accepts it",
          Unit::bytes);
      options.number("headroom", memory.headroom, 0, std::uint64_t{1} << 40,
                     "device memory that is never taken: for workspaces, graphs and other libraries", Unit::bytes);
      options.number("ahead", memory.ahead, 0, 64, "segments whose memory is allocated in advance");
      options.number(
          "staging", staging, std::uint64_t{4} << 20, std::uint64_t{1} << 30,
          "size of each of the two buffers for rows that cross the bus, on the device and pinned on the host",
          Unit::bytes);
    }
  };

  static bool available(void (*say)(void*, const char*), void* say_to) noexcept {
    try {
      std::string what;
      const bool found = Gpu::find(0, what);
      say(say_to, what.c_str());
      return found;
    } catch (...) {
      return false;
    }
  }

  CudaStore(const Config& config, const Context& context)
      : config_(config), streams_(config_.streams.streams()), gpu_(config_.device) {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    const std::uint64_t page = page_bytes(streams_, config_.layers, context.page_size).value_or(0);
    // At least the image of one page, and what aligning the start of each stream costs.
    const std::uint64_t staging = std::max(config_.staging, (page + 4095) / 4096 * 4096) + kMaxStreams * kAligned;
    config_.memory.buffers = Transfer::kLanes * staging + PageLists::kBytes;
    segments_ = std::make_unique<Segments>(gpu_, config_.memory, streams_, config_.layers, context);
    pool_ = pool_of(segments_->view());
    transfer_ = std::make_unique<Transfer>(gpu_, staging);
    lists_ = std::make_unique<PageLists>(gpu_);
    gpu_.note("cuStreamCreateWithPriority", gpu_.driver().stream_create_with_priority(&own_, kStreamNonBlocking, 0));
    stream_ = own_;
    if (const char* failure = gpu_.failure()) {
      const std::runtime_error error(failure);
      close();  // here, where the context is still current
      throw error;
    }
  }
  ~CudaStore() override {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    gpu_.wait(stream_);
    close();
  }

  std::span<const Stream> streams() const override { return streams_; }
  std::uint32_t layers() const override { return config_.layers; }
  const KVView& view() const override { return segments_->view(); }

  void write(std::uint32_t layer, Slots to, const Rows& from) override {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    if (from.at == Rows::At::device) {
      rows(Kernel::rows_scatter, layer, to, from.streams, stream_, kNoCap);
      return;
    }
    each_chunk(to, from,
               [&](Transfer::Lane& lane, std::span<const Piece> pieces, Slots slots,
                   const std::array<std::byte*, kMaxStreams>& staged) {
                 if (transfer_->to_device(lane, pieces))
                   rows(Kernel::rows_scatter, layer, slots, staged, lane.stream, kFeedsTheBus);
               });
  }
  void read(std::uint32_t layer, Slots from, const Rows& to) override {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    if (to.at == Rows::At::device) {
      rows(Kernel::rows_gather, layer, from, to.streams, stream_, kNoCap);
      return;
    }
    each_chunk(from, to,
               [&](Transfer::Lane& lane, std::span<const Piece> pieces, Slots slots,
                   const std::array<std::byte*, kMaxStreams>& staged) {
                 if (rows(Kernel::rows_gather, layer, slots, staged, lane.stream, kFeedsTheBus))
                   transfer_->to_host(lane, pieces);
               });
  }

  void copy(std::span<const Page> from, std::span<const Page> to) override {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    const bool inline_only = capturing() || from.size() <= kInlinePages;
    const std::size_t most = inline_only ? kInlinePages : PageLists::kPages / 2;
    PagesJob job{};
    job.pool = pool_;
    for (std::size_t done = 0; done < from.size() && !gpu_.broken(); done += most) {
      const std::size_t count = std::min(most, from.size() - done);
      job.count = static_cast<std::uint32_t>(count);
      if (inline_only) {
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(done), count, job.inline_from);
        std::copy_n(to.begin() + static_cast<std::ptrdiff_t>(done), count, job.inline_to);
      } else {
        job.from = lists_->put(from.subspan(done, count), to.subspan(done, count), stream_);
        if (!job.from) return;
        job.to = job.from + count;
      }
      const std::uint32_t by = width(job);
      gpu_.launch(Kernel::page_copy, by, pages_grid(pool_, job.count, by, gpu_.multiprocessors()), &job, stream_);
      if (!inline_only) lists_->used(stream_);
    }
  }

  void save(std::span<const Page> from, std::byte* images) override {
    each_image(from, images, [&](Transfer::Lane& lane, const Piece& piece, const ImageJob& job) {
      if (launch(Kernel::image_gather, job, lane.stream)) transfer_->to_host(lane, {&piece, 1});
    });
  }
  void load(const std::byte* images, std::span<const Page> to) override {
    // A piece has one pointer to the host for both directions; load only reads through it.
    each_image(to, const_cast<std::byte*>(images), [&](Transfer::Lane& lane, const Piece& piece, const ImageJob& job) {
      if (transfer_->to_device(lane, {&piece, 1})) launch(Kernel::image_scatter, job, lane.stream);
    });
  }

  // The gather kernel runs before work that is queued later; the transfer across the bus overlaps with that work.
  std::uint64_t begin_save(std::span<const Page> from, std::span<std::byte* const> images) override {
    return leave_images(from, images, [&](Transfer::Lane& lane, std::span<const Piece> pieces, const ImageJob& job) {
      if (!launch(Kernel::image_gather, job, lane.stream)) return;
      transfer_->then(lane, stream_);
      transfer_->to_host(lane, pieces);
    });
  }
  std::uint64_t begin_load(std::span<const std::byte* const> images, std::span<const Page> to) override {
    // As in load: nothing writes through these pointers.
    const std::span<std::byte* const> read(const_cast<std::byte* const*>(images.data()), images.size());
    return leave_images(to, read, [&](Transfer::Lane& lane, std::span<const Piece> pieces, const ImageJob& job) {
      if (transfer_->to_device(lane, pieces)) launch(Kernel::image_scatter, job, lane.stream);
      transfer_->then(lane, stream_);
    });
  }
  std::uint64_t saved() const override { return ended(); }
  std::uint64_t loaded() const override { return ended(); }

  bool back(std::uint32_t segment) override {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    return segments_->back(segment);
  }
  void unback(std::uint32_t segment) override {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    segments_->unback(segment, stream_);
  }
  void pin(std::uint32_t segment) override { segments_->pin(segment); }
  void unpin(std::uint32_t segment) override {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    segments_->unpin(segment, stream_);
  }
  SharedMemory share(std::uint32_t segment, std::size_t stream) override {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    return segments_->share(segment, stream);
  }

  void use_stream(void* stream) override {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    const StreamHandle next = stream ? static_cast<StreamHandle>(stream) : own_;
    if (next == stream_) return;
    Event before(gpu_);
    before.record(stream_);
    before.before(next);
    stream_ = next;
  }
  const char* sync() override {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    gpu_.wait(stream_);
    transfer_->wait();
    if (!gpu_.broken()) segments_->reap(true);
    return gpu_.failure();
  }

 private:
  /// Blocks of a kernel that packs for the bus: a few multiprocessors are faster than the bus, and the others are left
  /// to the model.
  static constexpr std::uint32_t kFeedsTheBus = 16;
  static constexpr std::uint64_t kAligned = 256;  ///< a stream begins at a multiple of this in a buffer

  /// REQUIRES: the context is current.
  void close() {
    lists_.reset();
    transfer_.reset();
    segments_.reset();
    if (own_) static_cast<void>(gpu_.driver().stream_destroy(own_));
  }

  bool capturing() const {
    CaptureStatus status = CaptureStatus::none;
    return gpu_.driver().stream_is_capturing(stream_, &status) == Result::success && status != CaptureStatus::none;
  }

  /// Moves rows between the pool and device memory. Returns false if not all were queued (see Gpu::failure).
  bool rows(Kernel kernel, std::uint32_t layer, Slots slots, const std::array<std::byte*, kMaxStreams>& at,
            StreamHandle stream, std::uint32_t cap) {
    const Units page_size = view().page_size;
    RowsJob job{};
    job.pool = pool_;
    job.layer = layer;
    const auto pages_of = [&](std::uint32_t first, std::uint32_t count) {
      return slots.pages.subspan(first / page_size, (first + count - 1) / page_size - first / page_size + 1);
    };
    const bool inline_only =
        slots.count == 0 || pages_of(slots.first, slots.count).size() <= kInlineRowPages || capturing();
    const std::uint64_t most = std::uint64_t{inline_only ? kInlineRowPages : PageLists::kPages} * page_size;
    for (std::uint32_t done = 0; done < slots.count && !gpu_.broken();) {
      const std::uint32_t token = slots.first + done;
      job.first = token % page_size;
      job.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(most - job.first, slots.count - done));
      for (std::size_t s = 0; s < streams_.size(); ++s)
        job.rows[s] = at[s] + std::uint64_t{done} * streams_[s].row_bytes;
      const auto pages = pages_of(token, job.count);
      if (inline_only) std::copy(pages.begin(), pages.end(), job.inline_pages);
      else if (job.pages = lists_->put(pages, {}, stream); !job.pages) return false;
      const std::uint32_t by = width(job);
      const bool fine = gpu_.launch(kernel, by, rows_grid(job, by, gpu_.multiprocessors(), cap), &job, stream);
      if (!inline_only) lists_->used(stream);
      if (!fine) return false;
      done += job.count;
    }
    return !gpu_.broken();
  }

  /// Moves rows between the pool and host memory, as many at a time as fit into a lane's buffer. Calls chunk(lane, its
  /// pieces, its tokens, the offset of each stream in the buffer).
  template <class Chunk>
  void each_chunk(Slots slots, const Rows& host, Chunk&& chunk) {
    if (slots.count == 0 || !may_wait("rows") || !transfer_->begin(stream_)) return;
    std::uint64_t token_bytes = 0;
    for (const Stream& stream : streams_) token_bytes += stream.row_bytes;
    const std::uint64_t most = (transfer_->bytes() - kMaxStreams * kAligned) / token_bytes;
    const Units page_size = view().page_size;
    for (std::uint32_t done = 0; done < slots.count && !gpu_.broken();) {
      const std::uint32_t token = slots.first + done;
      const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, slots.count - done));
      Transfer::Lane& lane = transfer_->lane();
      std::array<Piece, kMaxStreams> pieces;
      std::array<std::byte*, kMaxStreams> staged{};
      std::uint64_t offset = 0;
      for (std::size_t s = 0; s < streams_.size(); ++s) {
        const std::uint64_t bytes = std::uint64_t{count} * streams_[s].row_bytes;
        pieces[s] = {host.streams[s] + std::uint64_t{done} * streams_[s].row_bytes, offset, bytes};
        staged[s] = reinterpret_cast<std::byte*>(lane.buffer + offset);
        offset = (offset + bytes + kAligned - 1) / kAligned * kAligned;
      }
      const Slots part{slots.pages.subspan(token / page_size), token % page_size, count};
      chunk(lane, std::span<const Piece>(pieces.data(), streams_.size()), part, staged);
      done += count;
    }
    transfer_->end(stream_);
  }

  /// Calls chunk(lane, first, job) for as many images at a time as a lane has room for; `first`: an index into `pages`.
  template <class Chunk>
  void each_chunk(std::span<const Page> pages, Chunk&& chunk) {
    ImageJob job{};
    job.pool = pool_;
    job.image_stride = image_bytes();
    const std::size_t most = std::min<std::size_t>(transfer_->bytes() / job.image_stride, kInlineImages);
    for (std::size_t first = 0; first < pages.size() && !gpu_.broken(); first += most) {
      Transfer::Lane& lane = transfer_->lane();
      job.count = static_cast<std::uint32_t>(std::min(most, pages.size() - first));
      job.images = reinterpret_cast<std::byte*>(lane.buffer);
      std::copy_n(pages.begin() + static_cast<std::ptrdiff_t>(first), job.count, job.inline_pages);
      chunk(lane, first, job);
    }
  }
  template <class Chunk>
  void each_image(std::span<const Page> pages, std::byte* images, Chunk&& chunk) {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    if (pages.empty() || !may_wait("page images") || !transfer_->begin(stream_)) return;
    each_chunk(pages, [&](Transfer::Lane& lane, std::size_t first, const ImageJob& job) {
      chunk(lane, Piece{images + first * job.image_stride, 0, job.count * job.image_stride}, job);
    });
    transfer_->end(stream_);
  }
  /// Works as each_image, but each image has its own address, and the host does not wait. Returns the ticket, or 0
  /// after a failure.
  template <class Chunk>
  std::uint64_t leave_images(std::span<const Page> pages, std::span<std::byte* const> images, Chunk&& chunk) {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    if (pages.empty() || !may_wait("page images") || !transfer_->begin(stream_)) return 0;
    ++tickets_;
    std::vector<Piece> pieces;
    each_chunk(pages, [&](Transfer::Lane& lane, std::size_t first, const ImageJob& job) {
      pieces.clear();
      for (std::size_t i = 0; i < job.count; ++i)
        pieces.push_back({images[first + i], i * job.image_stride, job.image_stride});
      chunk(lane, std::span<const Piece>(pieces), job);
      transfer_->leave(lane, tickets_);
    });
    return gpu_.has_failed() ? 0 : tickets_;
  }
  std::uint64_t ended() const {
    const ContextScope scope(gpu_.driver(), gpu_.context());
    const std::uint64_t ended = transfer_->ended(tickets_);
    return gpu_.has_failed() ? 0 : ended;  // the transfers of a device that has failed end, too
  }
  bool launch(Kernel kernel, const ImageJob& job, StreamHandle stream) {
    const std::uint32_t by = width(job);
    return gpu_.launch(kernel, by, pages_grid(pool_, job.count, by, gpu_.multiprocessors(), kFeedsTheBus), &job,
                       stream);
  }

  /// Returns false while a graph is captured: a graph cannot wait for the host.
  bool may_wait(const char* what) {
    if (gpu_.broken()) return false;
    if (!capturing()) return true;
    gpu_.fail(std::string(what) + " in host memory cannot be part of a CUDA graph; pass device memory");
    return false;
  }

  Config config_;
  std::vector<Stream> streams_;  ///< the names point into config_
  Gpu gpu_;
  std::unique_ptr<Segments> segments_;
  Pool pool_{};
  std::unique_ptr<Transfer> transfer_;
  std::unique_ptr<PageLists> lists_;
  StreamHandle own_ = nullptr, stream_ = nullptr;
  std::uint64_t tickets_ = 0;  ///< tickets returned by begin_save and begin_load
};

}  // namespace
}  // namespace canopy::cuda

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::KVStore, canopy::cuda::CudaStore>(
                           "cuda", "rows in GPU memory, in segments that are added and removed"));
