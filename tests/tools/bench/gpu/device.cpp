#include "device.h"

#include <cstring>
#include <random>

namespace canopy::bench::gpu {

using cuda::Kernel, cuda::Result;

Device::Device() {
  constexpr const char* kFakeName = "Fake device";  // that of tests/fake_cuda
  check("cuCtxPushCurrent", scope_.result());
  char text[128] = "";
  check("cuDeviceGetName", driver().device_get_name(text, sizeof text, gpu_.ordinal()));
  name = text;
  fake = name == kFakeName;
  check("cuDriverGetVersion", driver().driver_get_version(&driver_version));
  std::size_t free = 0, total = 0;
  check("cuMemGetInfo", driver().mem_get_info(&free, &total));
  total_bytes = total;
  for (StreamHandle* one : {&stream, &beside})
    check("cuStreamCreateWithPriority", driver().stream_create_with_priority(one, cuda::kStreamNonBlocking, 0));
}

Device::~Device() {
  for (StreamHandle one : {stream, beside}) static_cast<void>(driver().stream_destroy(one));
}

std::uint64_t Device::free_bytes() const {
  std::size_t free = 0, total = 0;
  check("cuMemGetInfo", driver().mem_get_info(&free, &total));
  return free;
}

void Device::launch(Kernel kernel, std::uint32_t width, cuda::Grid grid, const void* job, StreamHandle on) const {
  if (!gpu_.launch(kernel, width, grid, job, on)) throw std::runtime_error(gpu_.failure());
}

Buffer::Buffer(const Device& device, std::uint64_t size) : bytes(size), device_(device) {
  device_.check("cuMemAlloc", device_.driver().mem_alloc(&at, bytes));
}
Buffer::~Buffer() { static_cast<void>(device_.driver().mem_free(at)); }

Pinned::Pinned(const Device& device, std::uint64_t size) : bytes(size), device_(device) {
  void* memory = nullptr;
  device_.check("cuMemHostAlloc", device_.driver().mem_host_alloc(&memory, bytes, cuda::kHostAllocPortable));
  at = static_cast<std::byte*>(memory);
}
Pinned::~Pinned() { static_cast<void>(device_.driver().mem_free_host(at)); }

Event::Event(const Device& device) : device_(device) {
  device_.check("cuEventCreate", device_.driver().event_create(&handle, cuda::kEventDefault));
}
Event::~Event() { static_cast<void>(device_.driver().event_destroy(handle)); }
bool Event::done() const {
  const Result result = device_.driver().event_query(handle);
  if (result != Result::not_ready) device_.check("cuEventQuery", result);
  return result == Result::success;
}
double Event::since(const Event& earlier) const {
  float milliseconds = 0;
  device_.check("cuEventElapsedTime", device_.driver().event_elapsed_time(&milliseconds, earlier.handle, handle));
  return 1e-3 * static_cast<double>(milliseconds);
}

Mover::Mover(const Device& device, const KVView& view, std::size_t pages)
    : device_(device),
      view_(view),
      pool_(cuda::pool_of(view)),
      most_(pages),
      lists_(device, 2 * pages * sizeof(Page)) {}

void Mover::use(std::span<const Page> pages, std::span<const Page> others) {
  count_ = pages.size();
  device_.to_device(lists_.at, pages.data(), pages.size_bytes(), device_.stream);
  if (!others.empty())
    device_.to_device(lists_.at + most_ * sizeof(Page), others.data(), others.size_bytes(), device_.stream);
  device_.wait(device_.stream);
}

void Mover::rows(Kernel kernel, std::uint32_t layer, std::uint32_t count, DevicePtr packed, StreamHandle on) const {
  cuda::RowsJob job{};
  job.pool = pool_;
  for (std::uint32_t s = 0; s < pool_.streams; ++s) {
    job.rows[s] = reinterpret_cast<std::byte*>(packed);
    packed += std::uint64_t{count} * pool_.stream[s].row_bytes;
  }
  job.pages = reinterpret_cast<const std::uint32_t*>(lists_.at);
  job.layer = layer;
  job.count = count;
  const std::uint32_t by = cuda::width(job);
  device_.launch(kernel, by, cuda::rows_grid(job, by, device_.multiprocessors()), &job, on);
}

void Mover::copy(StreamHandle on) const {
  cuda::PagesJob job{};
  job.pool = pool_;
  job.from = reinterpret_cast<const std::uint32_t*>(lists_.at);
  job.to = job.from + most_;
  job.count = static_cast<std::uint32_t>(count_);
  const std::uint32_t by = cuda::width(job);
  device_.launch(Kernel::page_copy, by, cuda::pages_grid(pool_, job.count, by, device_.multiprocessors()), &job, on);
}

void Mover::images(Kernel kernel, DevicePtr images, StreamHandle on) const {
  cuda::ImageJob job{};
  job.pool = pool_;
  job.images = reinterpret_cast<std::byte*>(images);
  job.image_stride = image_stride();
  job.pages = reinterpret_cast<const std::uint32_t*>(lists_.at);
  job.count = static_cast<std::uint32_t>(count_);
  const std::uint32_t by = cuda::width(job);
  device_.launch(kernel, by, cuda::pages_grid(pool_, job.count, by, device_.multiprocessors()), &job, on);
}

std::uint64_t Mover::token_bytes() const {
  std::uint64_t bytes = 0;
  for (std::uint32_t s = 0; s < view_.streams; ++s) bytes += view_.stream[s].row_bytes;
  return bytes;
}

namespace {

std::vector<std::uint32_t> words(std::uint64_t bytes, std::uint64_t seed) {
  std::vector<std::uint32_t> some((bytes + 3) / 4);
  std::mt19937 random(static_cast<std::uint32_t>(seed * 2654435761U + 1));
  for (std::uint32_t& word : some) word = static_cast<std::uint32_t>(random());
  return some;
}

}  // namespace

void Mover::stamp(std::span<const Page> pages, std::uint64_t seed) {
  const auto tokens = static_cast<std::uint32_t>(pages.size() * view_.page_size);
  const std::uint64_t bytes = tokens * token_bytes();
  const Buffer packed(device_, bytes);
  use(pages);
  for (std::uint32_t layer = 0; layer < view_.layers; ++layer) {
    const auto some = words(bytes, seed + layer);
    device_.to_device(packed.at, some.data(), bytes, device_.stream);
    rows(Kernel::rows_scatter, layer, tokens, packed.at, device_.stream);
    device_.wait(device_.stream);
  }
}

bool Mover::stamped(std::span<const Page> pages, std::uint64_t seed) {
  const auto tokens = static_cast<std::uint32_t>(pages.size() * view_.page_size);
  const std::uint64_t bytes = tokens * token_bytes();
  const Buffer packed(device_, bytes);
  std::vector<std::byte> here(bytes);
  use(pages);
  bool same = true;
  for (std::uint32_t layer = 0; layer < view_.layers && same; ++layer) {
    device_.fill(packed.at, 0xFF, bytes, device_.stream);
    rows(Kernel::rows_gather, layer, tokens, packed.at, device_.stream);
    device_.to_host(here.data(), packed.at, bytes, device_.stream);
    device_.wait(device_.stream);
    same = std::memcmp(here.data(), words(bytes, seed + layer).data(), bytes) == 0;
  }
  return same;
}

}  // namespace canopy::bench::gpu
