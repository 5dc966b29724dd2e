/// When memory comes and goes: never while something on the device may still use it, never more than asked for.
#include <conformance/model/effort.h>
#include <unistd.h>

#include <set>

#include "support.h"

namespace cuda_store_test {
namespace {

constexpr const char* kNobodyPrepares = ", ahead: 0";

struct Rowful {
  Rowful() : in(device, 64 * 96), out(device, 64 * 96) {
    fake()->not_ready(-1);  // the device hangs until a caller waits
  }
  Rows rows(const DeviceBytes& at) const { return {{at.data(), at.data() + 64 * 64}, Rows::At::device}; }
  void write(KVStore& store, std::uint32_t segment) {
    pages = {segment * 64 + 3, segment * 64 + 1, segment * 64 + 63, segment * 64};
    store.write(1, {pages, 0, 64}, rows(in));
  }
  void read(KVStore& store) { store.read(1, {pages, 0, 64}, rows(out)); }

  Device device;
  DeviceStream stream{device};
  DeviceBytes in, out;
  std::vector<Page> pages;
};

std::vector<std::string> log_of(std::size_t from, const std::set<std::string>& wanted) {
  std::vector<const char*> names(fake()->log(nullptr, 0));
  fake()->log(names.data(), names.size());
  std::vector<std::string> found;
  for (std::size_t i = from; i < names.size(); ++i)
    if (wanted.contains(names[i])) found.emplace_back(names[i]);
  return found;
}

}  // namespace

TEST_SUITE_BEGIN("fake");

TEST_CASE("memory stays until the device has done what was queued") {
  Rowful world;
  const auto store = small_store(kNobodyPrepares);
  store->use_stream(world.stream.get());
  REQUIRE(store->back(0));
  REQUIRE(store->back(1));
  world.write(*store, 1);
  world.read(*store);
  const std::uint64_t taken = fake()->now().bytes;
  store->unback(1);
  CHECK(fake()->now().mappings == 2 * kSmallStreams);
  REQUIRE(store->back(2));
  CHECK(fake()->now().mappings == 3 * kSmallStreams);
  REQUIRE(store->sync() == nullptr);
  CHECK(fake()->now().mappings == 2 * kSmallStreams);
  CHECK(fake()->now().bytes == taken);
  store->use_stream(nullptr);
}

TEST_CASE("memory is given back without a wait once the device is done") {
  Rowful world;
  fake()->not_ready(1);
  const auto store = small_store(kNobodyPrepares);
  REQUIRE(store->back(0));
  REQUIRE(store->back(1));
  world.write(*store, 1);
  store->unback(1);
  CHECK(fake()->now().mappings == 2 * kSmallStreams);
  store->unback(0);
  CHECK(fake()->now().mappings == kSmallStreams);
  CHECK(fake()->calls("cuEventSynchronize") == 0);
}

TEST_CASE("a draining segment that is needed again keeps its memory") {
  Rowful world;
  const auto store = small_store(kNobodyPrepares);
  store->use_stream(world.stream.get());
  REQUIRE(store->back(1));
  Random prng(6);
  const Bytes data = random_bytes(prng, 64 * 96);
  upload(world.device, world.in.data(), data, world.stream.get());
  world.write(*store, 1);
  const std::uint64_t created = fake()->calls("cuMemCreate"), mapped = fake()->calls("cuMemMap");
  store->unback(1);
  REQUIRE(store->back(1));
  CHECK(fake()->calls("cuMemCreate") == created);
  CHECK(fake()->calls("cuMemMap") == mapped);
  world.read(*store);
  REQUIRE(store->sync() == nullptr);
  CHECK(fake()->calls("cuMemUnmap") == 1);  // the probe's
  CHECK(download(world.device, world.out.data(), data.size(), world.stream.get()) == data);
  store->use_stream(nullptr);
}

TEST_CASE("an allocation that finds no memory waits for memory on its way back before it is refused") {
  Rowful world;
  fake()->memory(fake()->now().bytes + 3 * kSmallSegment);
  for (const char* ahead : {", ahead: 0", ", ahead: 1", ", ahead: 3"}) {
    CAPTURE(std::string(ahead));
    const auto store = small_store(ahead);
    for (std::uint32_t segment = 0; segment < 3; ++segment) REQUIRE(store->back(segment));
    CHECK_FALSE(store->back(3));
    world.write(*store, 1);
    store->unback(1);
    CHECK(store->back(7));
    CHECK_FALSE(store->back(1));
    world.write(*store, 7);
    CHECK(store->sync() == nullptr);
    CHECK(fake()->now().mappings == 3 * kSmallStreams);
  }
}

TEST_CASE("the thread that prepares memory never takes it away from a caller that needs it") {
  const Device device;
  fake()->memory(3 * kSmallSegment);
  const auto store = small_store(", ahead: 2");
  for (std::uint64_t round = 0; round < with_effort(400); ++round) {
    for (std::uint32_t segment = 0; segment < 3; ++segment) REQUIRE(store->back(segment));
    CHECK_FALSE(store->back(3));
    for (std::uint32_t segment = 0; segment < 3; ++segment) store->unback(segment);
    REQUIRE(store->sync() == nullptr);
  }
}

TEST_CASE("memory stays within the limit plus what is prepared ahead") {
  for (const std::uint64_t ahead : {0U, 1U, 3U}) {
    CAPTURE(ahead);
    const Device device;
    Random prng(ahead);
    const auto store = small_store(", ahead: " + std::to_string(ahead), 4 * 64);
    std::set<std::uint32_t> backed;
    for (int i = 0; i < 300; ++i) {
      const auto segment = prng.below(9);
      if (backed.erase(segment)) store->unback(segment);
      else if (backed.size() < 4 && store->back(segment)) backed.insert(segment);
      if (prng.one_in(3)) REQUIRE(store->sync() == nullptr);
      const FakeCudaLive now = fake()->now();
      if (i % 3 == 0) {
        REQUIRE(store->sync() == nullptr);
        REQUIRE(fake()->now().handles <= (4 + ahead) * kSmallStreams);
      }
      REQUIRE(now.handles <= (9 + ahead) * kSmallStreams);
    }
  }
}

TEST_CASE("callers and the thread that prepares memory both leave the headroom free") {
  const Device device;
  fake()->memory(4 * kSmallSegment + kSmallSegment / 2);
  const auto store = make<KVStore>("cuda", {16, 64, kUnlimited},
                                   "{ layers: 2, streams: { k: 64, v: 32 }, addresses: 1073741824, headroom: 8388608, "
                                   "ahead: 4 }");
  REQUIRE(store->back(0));
  REQUIRE(store->back(1));
  CHECK_FALSE(store->back(2));
  CHECK(device.free_bytes() >= 8 * kMiB);
  CHECK(store->sync() == nullptr);
}

TEST_CASE("the end unmaps everything, then releases it, and frees the addresses last") {
  const Device device;
  const std::size_t before = fake()->log(nullptr, 0);
  {
    const auto store = small_store(", ahead: 2");
    for (const std::uint32_t segment : {4U, 0U, 2U}) REQUIRE(store->back(segment));
    store->unback(0);
    REQUIRE(store->sync() == nullptr);
    REQUIRE(store->back(6));
  }
  const auto calls = log_of(
      before, {"cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemRelease", "cuMemAddressFree"});
  CHECK(calls.back() == "cuMemAddressFree");
  std::uint64_t created = 0, released = 0, mapped = 0, unmapped = 0;
  for (const std::string& call : calls) {
    created += call == "cuMemCreate";
    released += call == "cuMemRelease";
    mapped += call == "cuMemMap";
    unmapped += call == "cuMemUnmap";
    CHECK(created - released >= mapped - unmapped);  // nothing is released that is still mapped
  }
  CHECK(created == released);
  CHECK(mapped == unmapped);
  const FakeCudaLive now = fake()->now();
  CHECK(now.reservations == 0);
  CHECK(now.bytes == 0);
}

TEST_CASE("an event that fails costs a wait and not the order") {
  for (const char* function :
       {"cuEventCreate", "cuEventRecord", "cuEventQuery", "cuEventSynchronize", "cuStreamWaitEvent"})
    for (const std::uint64_t times : {std::uint64_t{1}, std::uint64_t{0}}) {
      CAPTURE(std::string(function));
      CAPTURE(times);
      Rowful world;
      fake()->not_ready(0);
      const DeviceStream other(world.device);
      const auto store = small_store(kNobodyPrepares);
      store->use_stream(world.stream.get());
      REQUIRE(store->back(0));
      REQUIRE(store->back(1));
      Random prng(8);
      const Bytes data = random_bytes(prng, 64 * 96);
      upload(world.device, world.in.data(), data, world.stream.get());
      fake()->fail(function, 1, 1, times);
      world.write(*store, 1);
      store->use_stream(other.get());
      world.read(*store);
      CHECK(download(world.device, world.out.data(), data.size(), other.get()) == data);
      world.write(*store, 1);
      store->unback(1);
      const char* const failure = store->sync();
      if (failure) CHECK(std::string(failure).find("CUDA_ERROR_INVALID_VALUE") != std::string::npos);
      MUST(world.device->ctx_synchronize());  // nothing that ran met memory that was gone
      REQUIRE((store->back(1) && store->back(2)));
      world.write(*store, 2);
      store->sync();
      MUST(world.device->ctx_synchronize());
      store->use_stream(nullptr);
    }
}

TEST_CASE("an unmap that the driver refuses loses nothing") {
  for (const std::uint64_t nth : {1U, 2U}) {
    CAPTURE(nth);
    Rowful world;
    const auto store = small_store(kNobodyPrepares);
    REQUIRE(store->back(0));
    REQUIRE(store->back(1));
    fake()->fail("cuMemUnmap", nth, 1, 1);
    store->unback(1);
    CHECK(store->sync() != nullptr);
    REQUIRE(store->back(1));
    REQUIRE(store->back(2));
    world.write(*store, 1);
    world.read(*store);
    REQUIRE(store->sync() == nullptr);
    CHECK(fake()->now().mappings == 3 * kSmallStreams);
    CHECK(fake()->now().handles == 3 * kSmallStreams);
  }
}

TEST_CASE("a device that can map some kinds of memory only still has a pool that grows") {
  const Device device;
  fake()->fail("cuMemCreate", 1, 801, 1);  // with what a network card may read
  const auto store = small_store(kNobodyPrepares);
  REQUIRE(store->back(0));
  CHECK(fake()->now().mappings == kSmallStreams);
  const SharedMemory memory = store->share(0, 0);
  CHECK(memory.descriptor >= 0);
  close(memory.descriptor);
}

TEST_CASE("without virtual memory there is one piece and its segments are there from the start") {
  const Device device;
  fake()->attribute(102, 0);
  const std::uint64_t before = fake()->now().bytes;
  {
    const auto store = small_store("", 300);
    CHECK(store->view().segments == 5);
    CHECK(fake()->now().allocations == 1);
    REQUIRE(store->back(4));
    CHECK_FALSE(store->back(5));
    CHECK(store->share(4, 0).descriptor == -1);
    store->pin(4);
    store->unback(4);
    store->unpin(4);
    REQUIRE(store->back(4));
    CHECK(store->sync() == nullptr);
    CHECK(fake()->calls("cuMemMap") == 0);
  }
  CHECK(fake()->now().bytes == before);
}

TEST_SUITE_END();

}  // namespace cuda_store_test
