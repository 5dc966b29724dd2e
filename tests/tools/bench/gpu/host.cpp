/// Measurements of the CPU, with a GPU or without one.
#include <canopy/base/registry.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include <bench/subject.h>
#include "session.h"

namespace canopy::bench::gpu {
namespace {

constexpr std::uint32_t kPages = 262144, kSegmentPages = 1024;

/// Returns the seconds to free and allocate one page in a pool of which nine tenths are handed out, in requests of
/// `count` pages that end in random order.
Spread churn(Session& session, SlotAllocator& allocator, std::size_t count) {
  const std::size_t requests = std::size_t{kPages} / 10 * 9 / count;
  std::vector<Page> pages(requests * count);
  for (std::size_t i = 0; i < requests; ++i)
    if (!allocator.allocate(std::span(pages).subspan(i * count, count)))
      throw std::runtime_error("an allocator has no pages left although a tenth of them is free");
  constexpr std::size_t kCalls = 4000;
  std::mt19937 random(11);
  std::vector<std::size_t> order(kCalls);  // drawn in advance, because a draw takes as long as a call
  bool fine = true;
  for (std::size_t& one : order) one = random() % requests;
  const Spread seconds = session.time_call([&] {
    for (const std::size_t request : order) {
      const auto one = std::span(pages).subspan(request * count, count);
      fine = allocator.free(one) && allocator.allocate(one) && fine;
    }
  });
  if (!fine) throw std::runtime_error("an allocator refused pages that it had handed out, or had none left");
  const double each = 1.0 / static_cast<double>(kCalls * count);
  return {seconds.median * each, seconds.low * each, seconds.high * each, seconds.samples};
}

/// Times pinned memory from the driver and the pinning of existing memory.
void measure_pinning(Session& session, std::uint64_t bytes) {
  const Device& device = *session.device();
  const cuda::Driver& driver = device.driver();
  std::vector<std::byte> memory(bytes, std::byte{1});
  session.repeat([&] {
    void* at = nullptr;
    const auto timed = [&](const char* call, auto&& work) { session.timed(call, [&] { device.check(call, work()); }); };
    timed("cuMemHostAlloc", [&] { return driver.mem_host_alloc(&at, bytes, cuda::kHostAllocPortable); });
    timed("cuMemFreeHost", [&] { return driver.mem_free_host(at); });
    timed("cuMemHostRegister of populated memory",
          [&] { return driver.mem_host_register(memory.data(), bytes, cuda::kHostRegisterPortable); });
    timed("cuMemHostUnregister", [&] { return driver.mem_host_unregister(memory.data()); });
  });
  session.on_gpu = true;
  session.add_timed();
}

}  // namespace

void measure_allocators(Session& session) {
  constexpr const char* kAllocators[] = {"free_list", "contiguous", "segments"};
  constexpr std::size_t kCounts[] = {1, 16, 64};
  session.cells(std::size(kAllocators) * std::size(kCounts));
  for (const char* const name : kAllocators)
    for (const std::size_t count : kCounts) {
      const auto allocator = need(make_allocator(session.registry, name, kSegmentPages));
      for (Page first = 0; first < kPages; first += kSegmentPages) allocator->offer({first, kSegmentPages});
      const Spread seconds = churn(session, *allocator, count);
      session.time(fmt::format("{}: {} pages, 90 % out, {} at a time", name, kPages, count), seconds,
                   "a page, freed and allocated");
      session.at_most("page numbers", seconds.median, 50e-9,
                      fmt::format("{:.1f} ns ({}, {} at a time)", 1e9 * seconds.median, name, count));
    }
}

void measure_host_memory(Session& session) {
  constexpr std::uint64_t kBytes = 128 << 20;
  constexpr std::uint32_t kRow = 2048, kLayers = 32, kSegments = 2;
  constexpr std::uint64_t kPageBytes = std::uint64_t{2} * kRow * kLayers * 16;
  const struct {
    const char *name, *options;
  } kinds[] = {{"populated", "populate: true"},
               {"populated and locked", "populate: true\nlock: true"},
               {"populated, huge pages", "populate: true\nhuge_pages: true"}};
  session.cells(8);
  for (const auto& kind : kinds) {
    const auto store = need(
        make_store(session.registry, "host", {16, kBytes / kPageBytes, kSegments * kBytes / kPageBytes},
                   fmt::format("layers: {}\nstreams: {{ k: {}, v: {} }}\n{}\n", kLayers, kRow, kRow, kind.options)));
    bool fine = true;
    session.repeat([&] {
      if (!fine) return;
      session.timed(fmt::format("back(), {}", kind.name), [&] { fine = store->back(0); });
      if (fine) session.timed(fmt::format("unback(), {}", kind.name), [&] { store->unback(0); });
    });
    if (!fine)
      session.report.remarks.push_back(
          fmt::format("host-memory: the system gave no {} memory; see `ulimit -l`.", kind.name));
    if (fine) session.add_timed();
    else session.drop_timed();
  }
  if (session.device()) measure_pinning(session, kBytes);
}

std::vector<double> seconds_to_decline(const std::filesystem::path& plugin) {
  constexpr std::size_t kTimes = 9;
  std::vector<double> took;
  for (std::size_t i = 0; i < kTimes; ++i) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("the system gave no pipe");
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("CANOPY_CUDA_DRIVER", "/nonexistent/libcuda.so.1", 1);
      bool declined = false;
      const double seconds = seconds_of([&] {
        Registry registry;
        registry.add(plugin, Trust::as_ourselves);
        const Offer* const offer = registry.find(KVStore::kInterface, "cuda");
        std::string what;
        declined = offer && !offer->available(what);
      });
      const bool sent = declined && ::write(ends[1], &seconds, sizeof seconds) == sizeof seconds;
      ::_exit(sent ? 0 : 1);
    }
    double seconds = 0;
    ::close(ends[1]);
    const bool received = child > 0 && ::read(ends[0], &seconds, sizeof seconds) == sizeof seconds;
    ::close(ends[0]);
    if (child > 0) ::waitpid(child, nullptr, 0);
    if (!received) throw std::runtime_error("the cuda plugin did not decline where there is no driver");
    took.push_back(seconds);
  }
  return took;
}

}  // namespace canopy::bench::gpu
