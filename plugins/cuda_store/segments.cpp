#include "segments.h"

#include <stdexcept>
#include <system_error>

namespace canopy::cuda {

Segments::Segments(Gpu& gpu, const Options& options, std::span<const Stream> streams, std::uint32_t layers,
                   const KVStore::Context& context)
    : gpu_(gpu), headroom_(options.headroom), ahead_(options.ahead) {
  properties_.type = MemAllocationType::pinned;
  properties_.location = {MemLocationType::device, gpu_.ordinal()};
  // Access for another process or a network card must be requested now; it cannot be added later.
  if (gpu_.attribute(DeviceAttribute::handle_type_posix_file_descriptor_supported))
    properties_.requested_handle_types = MemHandleType::posix_file_descriptor;
  if (gpu_.attribute(DeviceAttribute::gpu_direct_rdma_with_cuda_vmm_supported))
    properties_.flags.gpu_direct_rdma_capable = 1;
  const auto page = page_bytes(streams, layers, context.page_size);
  const std::uint64_t chosen = context.segment_pages
                                   ? context.segment_pages
                                   : usual_segment_pages(page.value_or(~std::uint64_t{0}), context.pages);
  if (!std::has_single_bit(chosen) || !std::has_single_bit(context.page_size))
    throw std::invalid_argument("a store on a GPU needs powers of two; it has pages of " +
                                std::to_string(context.page_size) + " tokens, segments of " + std::to_string(chosen) +
                                " pages");
  // A pool smaller than a segment gets one of its own size.
  const auto segment_pages = static_cast<std::uint32_t>(std::min(
      chosen, context.pages == kUnlimited ? chosen : std::bit_ceil(std::max<std::uint64_t>(context.pages, 1))));
  expected_ = context.pages == kUnlimited ? kUnlimited : (context.pages + segment_pages - 1) / segment_pages;
  fixed_ = !vmm_works();
  if (fixed_) take_fixed(options, streams, layers, context.page_size, segment_pages);
  else reserve(options, streams, layers, context.page_size, segment_pages);
  layout_.view.device = gpu_.ordinal();
  auto* base = reinterpret_cast<std::byte*>(base_);
  for (std::size_t s = 0; s < streams.size(); ++s) {
    layout_.view.stream[s].base = base;
    base += layout_.view.stream[s].segment_stride * layout_.view.segments;
  }
  wanted_ = static_cast<std::size_t>(std::min<std::uint64_t>(ahead_, expected_));
  if (fixed_ || ahead_ == 0) return;
  try {
    preparer_ = std::thread([this] { prepare(); });
  } catch (const std::system_error&) {
    ahead_ = wanted_ = 0;  // no thread available: growing takes longer
  }
}

Segments::~Segments() {
  if (preparer_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    preparer_.join();
  }
  if (fixed_) {
    static_cast<void>(gpu_.driver().mem_free(base_));
    return;
  }
  for (std::uint32_t segment = 0; segment < segments_.size(); ++segment) {
    State& state = segments_[segment];
    state.last_use.reset();
    if (state.taken) drop(segment);
    if (state.taken) release(state.handles);
  }
  for (Handles& handles : ready_) release(handles);
  static_cast<void>(gpu_.driver().mem_address_free(base_, bytes_));
}

/// Returns true if the device can map memory. Some devices report that they can and then fail, or fail with some of the
/// properties.
bool Segments::vmm_works() {
  if (!gpu_.attribute(DeviceAttribute::virtual_memory_management_supported)) return false;
  if (vmm_works_with(properties_)) return true;
  MemAllocationProp less = properties_;
  less.flags.gpu_direct_rdma_capable = 0;
  if (!vmm_works_with(less)) {
    less.requested_handle_types = MemHandleType::none;
    if (!vmm_works_with(less)) return false;
  }
  properties_ = less;
  return true;
}

bool Segments::vmm_works_with(const MemAllocationProp& properties) const {
  const Driver& driver = gpu_.driver();
  std::size_t bytes = 0;
  DevicePtr at = 0;
  MemHandle handle = 0;
  const MemAccessDesc access{properties.location, MemAccess::read_write};
  if (driver.mem_get_allocation_granularity(&bytes, &properties, MemGranularity::minimum) != Result::success)
    return false;
  if (driver.mem_address_reserve(&at, bytes, 0, 0, 0) != Result::success) return false;
  bool works = driver.mem_create(&handle, bytes, &properties, 0) == Result::success;
  if (works) {
    works = driver.mem_map(at, bytes, 0, handle, 0) == Result::success;
    if (works) {
      works = driver.mem_set_access(at, bytes, &access, 1) == Result::success;
      works = driver.mem_unmap(at, bytes) == Result::success && works;
    }
    static_cast<void>(driver.mem_release(handle));
  }
  static_cast<void>(driver.mem_address_free(at, bytes));
  return works;
}

void Segments::reserve(const Options& options, std::span<const Stream> streams, std::uint32_t layers, Units page_size,
                       std::uint32_t segment_pages) {
  std::size_t granularity = 0;
  if (const Result result =
          gpu_.driver().mem_get_allocation_granularity(&granularity, &properties_, MemGranularity::minimum);
      result != Result::success)
    throw std::runtime_error(gpu_.driver().sentence("cuMemGetAllocationGranularity", result));
  for (std::uint64_t addresses = options.addresses; base_ == 0; addresses /= 2) {
    const auto layout = lay_out(streams, layers, page_size, segment_pages, granularity, addresses);
    if (!layout)
      throw std::invalid_argument("no addresses on the GPU for a segment of " + std::to_string(segment_pages) +
                                  " pages of " + std::to_string(page_size) + " tokens in " + std::to_string(layers) +
                                  " layers: the driver, or `addresses`, allows less than " + std::to_string(addresses) +
                                  " bytes");
    layout_ = *layout;
    bytes_ = layout_.segment_stride() * layout_.view.segments;
    const Result result = gpu_.driver().mem_address_reserve(&base_, bytes_, 0, 0, 0);
    if (sticky(result)) throw std::runtime_error(gpu_.driver().sentence("cuMemAddressReserve", result));
    if (result != Result::success) base_ = 0;
  }
}

void Segments::take_fixed(const Options& options, std::span<const Stream> streams, std::uint32_t layers,
                          Units page_size, std::uint32_t segment_pages) {
  constexpr std::uint64_t kGranularity = 256;  // an alignment at which kernels are fast
  std::size_t free = 0, total = 0;
  if (const Result result = gpu_.driver().mem_get_info(&free, &total); result != Result::success)
    throw std::runtime_error(gpu_.driver().sentence("cuMemGetInfo", result));
  const std::uint64_t kept = options.headroom + options.buffers;
  std::uint64_t bytes = free - std::min<std::uint64_t>(free, kept);
  auto layout = lay_out(streams, layers, page_size, segment_pages, kGranularity, bytes);
  if (layout) {
    layout->view.segments = static_cast<std::uint32_t>(std::min<std::uint64_t>(layout->view.segments, expected_));
    bytes = layout->segment_stride() * layout->view.segments;
  }
  if (!layout || gpu_.driver().mem_alloc(&base_, bytes) != Result::success)
    throw std::runtime_error("the GPU has no memory for a pool: " + std::to_string(free) + " bytes are free, " +
                             std::to_string(kept) + " of them are headroom and buffers, and a segment has " +
                             std::to_string(segment_pages) + " pages of " + std::to_string(page_size) + " tokens");
  layout_ = *layout;
  bytes_ = bytes;
}

DevicePtr Segments::at(std::uint32_t segment, std::size_t stream) const {
  const KVStream& in = layout_.view.stream[stream];
  return reinterpret_cast<DevicePtr>(in.base) + segment * in.segment_stride;
}

/// Allocates the memory of a segment, all of it or none.
Result Segments::create(Handles& handles) const {
  std::size_t free = 0, total = 0;
  Result result = gpu_.driver().mem_get_info(&free, &total);
  if (result == Result::success && free < headroom_ + layout_.segment_bytes()) return Result::out_of_memory;
  for (std::size_t s = 0; s < layout_.view.streams && result == Result::success; ++s) {
    result = gpu_.driver().mem_create(&handles[s], layout_.used[s], &properties_, 0);
    if (result != Result::success)
      while (s-- > 0) static_cast<void>(gpu_.driver().mem_release(handles[s]));
  }
  return result;
}

void Segments::release(Handles& handles) {
  for (std::size_t s = 0; s < layout_.view.streams; ++s)
    gpu_.note("cuMemRelease", gpu_.driver().mem_release(handles[s]));
}

/// Keeps memory ready, so that growing only waits for a mapping.
void Segments::prepare() {
  const ContextScope scope(gpu_.driver(), gpu_.context());
  // Otherwise an allocation would invalidate a graph that another thread is capturing.
  CaptureMode mode = CaptureMode::relaxed;
  static_cast<void>(gpu_.driver().thread_exchange_stream_capture_mode(&mode));
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || (ready_.size() < wanted_ && !pause_); });
    if (stop_) return;
    creating_ = true;
    lock.unlock();
    Handles handles{};
    const Result result = create(handles);
    lock.lock();
    creating_ = false;
    if (result == Result::success) ready_.push_back(handles);
    else pause_ = true;  // the next call of obtain() reports the failure
    changed_.notify_all();
  }
}

std::optional<Segments::Handles> Segments::obtain() {
  std::optional<Handles> handles;
  const auto take_ready = [&] {
    if (ready_.empty()) return;
    handles = ready_.back();
    ready_.pop_back();
  };
  {
    std::unique_lock lock(mutex_);
    pause_ = true;  // the thread must not take memory that this call may need
    changed_.wait(lock, [&] { return !creating_ || !ready_.empty(); });
    wanted_ = static_cast<std::size_t>(std::min<std::uint64_t>(ahead_, expected_ - std::min(expected_, taken_ + 1)));
    take_ready();
  }
  if (!handles) {
    Handles made{};
    Result result = create(made);
    if (result == Result::out_of_memory) {
      reap(true);  // some may be draining
      const std::lock_guard lock(mutex_);
      take_ready();
      if (!handles) result = create(made);
    }
    if (!handles && result == Result::success) handles = made;
    if (!handles && result != Result::out_of_memory) gpu_.note("cuMemCreate", result);
  }
  if (handles) {
    {
      const std::lock_guard lock(mutex_);
      pause_ = false;
    }
    changed_.notify_all();
  }
  return handles;
}

/// Maps a segment's memory behind its addresses, as far as it is not mapped yet.
bool Segments::map(std::uint32_t segment) {
  const MemAccessDesc access{properties_.location, MemAccess::read_write};
  State& state = segments_[segment];
  for (std::size_t s = 0; s < layout_.view.streams; ++s) {
    if (!(state.mapped >> s & 1U) &&
        !gpu_.note("cuMemMap", gpu_.driver().mem_map(at(segment, s), layout_.used[s], 0, state.handles[s], 0)))
      return false;
    state.mapped |= std::uint32_t{1} << s;
    if (!gpu_.note("cuMemSetAccess", gpu_.driver().mem_set_access(at(segment, s), layout_.used[s], &access, 1)))
      return false;
  }
  state.usable = true;
  return true;
}

bool Segments::back(std::uint32_t segment) {
  if (segment >= layout_.view.segments || gpu_.broken()) return false;
  if (segment >= segments_.size()) segments_.resize(segment + 1);
  State& state = segments_[segment];
  if (state.last_use) {
    state.last_use.reset();
    --draining_;
  }
  reap(false);
  if (!fixed_ && !state.usable) {
    if (!state.taken) {
      const auto handles = obtain();
      if (!handles) return false;
      state.handles = *handles;
      state.taken = true;
      ++taken_;
    }
    if (!map(segment)) {
      drop(segment);
      return false;
    }
  }
  state.backed = true;
  ++state.generation;
  return true;
}

void Segments::unback(std::uint32_t segment, StreamHandle stream) {
  segments_[segment].backed = false;
  drain_if_unused(segment, stream);
}

void Segments::unpin(std::uint32_t segment, StreamHandle stream) {
  --segments_[segment].pins;
  drain_if_unused(segment, stream);
}

void Segments::drain_if_unused(std::uint32_t segment, StreamHandle stream) {
  State& state = segments_[segment];
  if (state.backed || state.pins > 0 || !state.usable) return;
  draining_ += state.last_use == nullptr;
  if (!state.last_use) state.last_use = std::make_unique<Event>(gpu_);
  state.last_use->record(stream);
  reap(false);
}

void Segments::reap(bool wait) {
  for (std::uint32_t segment = 0; draining_ > 0 && segment < segments_.size(); ++segment) {
    State& state = segments_[segment];
    if (!state.last_use) continue;
    if (wait) state.last_use->wait();
    if (!state.last_use->done()) continue;
    state.last_use.reset();
    --draining_;
    drop(segment);
  }
}

/// Unmaps a segment's memory. Memory that the driver fails to unmap stays mapped until the segment is wanted again or
/// the pool ends. REQUIRES: the GPU no longer uses it.
void Segments::drop(std::uint32_t segment) {
  State& state = segments_[segment];
  state.usable = false;
  for (std::size_t s = 0; s < layout_.view.streams; ++s)
    if (state.mapped >> s & 1U && gpu_.note("cuMemUnmap", gpu_.driver().mem_unmap(at(segment, s), layout_.used[s])))
      state.mapped &= ~(std::uint32_t{1} << s);
  if (state.mapped) return;
  state.taken = false;
  --taken_;
  {
    const std::lock_guard lock(mutex_);
    if (!stop_ && ready_.size() < wanted_) {
      ready_.push_back(state.handles);
      return;
    }
  }
  release(state.handles);
}

SharedMemory Segments::share(std::uint32_t segment, std::size_t stream) {
  SharedMemory shared;
  if (fixed_ || properties_.requested_handle_types != MemHandleType::posix_file_descriptor) return shared;
  int descriptor = -1;
  if (!gpu_.note("cuMemExportToShareableHandle",
                 gpu_.driver().mem_export_to_shareable_handle(&descriptor, segments_[segment].handles[stream],
                                                              MemHandleType::posix_file_descriptor, 0)))
    return shared;
  return {descriptor, 0, layout_.used[stream], segments_[segment].generation};
}

}  // namespace canopy::cuda
