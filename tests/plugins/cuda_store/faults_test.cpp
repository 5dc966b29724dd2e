/// Every call of the driver that the store makes fails once: nothing crashes, hangs, is left behind or goes unsaid.
#include <conformance/model/effort.h>
#include <unistd.h>

#include <map>

#include "support.h"

namespace cuda_store_test {
namespace {

/// A driver call of the store, and the objects that may still be alive after the driver has refused for good to free
/// one. A refusal of the first few calls leaves nothing.
struct Called {
  const char* function;
  enum class Leaves { nothing, itself, anything } leaves = Leaves::nothing;
};
constexpr Called::Leaves kItself = Called::Leaves::itself, kAnything = Called::Leaves::anything;
constexpr Called kCalled[] = {{"cuInit"},
                              {"cuDeviceGetCount"},
                              {"cuDeviceGet"},
                              {"cuDeviceGetAttribute"},
                              {"cuDevicePrimaryCtxRetain"},
                              {"cuModuleLoadData"},
                              {"cuModuleGetFunction"},
                              {"cuMemGetAllocationGranularity"},
                              {"cuMemAddressReserve"},
                              {"cuMemGetInfo_v2"},
                              {"cuMemCreate"},
                              {"cuMemMap"},
                              {"cuMemSetAccess"},
                              {"cuMemAlloc_v2"},
                              {"cuMemHostAlloc"},
                              {"cuMemHostGetDevicePointer_v2"},
                              {"cuMemsetD8Async"},
                              {"cuMemcpyHtoDAsync_v2"},
                              {"cuMemcpyDtoHAsync_v2"},
                              {"cuLaunchKernel"},
                              {"cuStreamCreateWithPriority"},
                              {"cuStreamIsCapturing"},
                              {"cuStreamSynchronize"},
                              {"cuStreamWaitEvent"},
                              {"cuEventCreate"},
                              {"cuEventRecord"},
                              {"cuEventQuery"},
                              {"cuEventSynchronize"},
                              {"cuMemExportToShareableHandle"},
                              {"cuThreadExchangeStreamCaptureMode"},
                              {"cuCtxPopCurrent_v2"},
                              {"cuCtxPushCurrent_v2", kAnything},
                              {"cuMemUnmap", kItself},
                              {"cuMemRelease", kItself},
                              {"cuMemAddressFree", kItself},
                              {"cuMemFree_v2", kItself},
                              {"cuMemFreeHost", kItself},
                              {"cuEventDestroy_v2", kItself},
                              {"cuStreamDestroy_v2", kItself},
                              {"cuModuleUnload", kItself},
                              {"cuDevicePrimaryCtxRelease_v2", kItself}};

constexpr std::uint32_t kRowsWritten = 40;

/// A device, and the memory and stream of a caller of the store.
struct Caller {
  Device device;
  DeviceStream stream{device};
  Pinned pinned{device, 64 * 1024};
  DeviceBytes on_device{device, 256 * 1024};
  Bytes pageable = Bytes(256 * 1024);
};

/// Results of one call of each function of a store, and the driver calls until the last sync().
struct Outcome {
  bool created = false, whole = false;  ///< whole: all that was read is what was written, in the second half
  std::size_t reported = 0, refused = 0;
  bool again = true;  ///< a broken device was reported every time
  std::string first;
  std::uint64_t calls_reported = 0, calls_before_second = 0;
};

void visit(KVStore& store, Caller& caller, Outcome& outcome, bool must_be_whole) {
  Random prng(11);
  const auto ask = [&] {
    if (const char* reported = store.sync()) {
      if (outcome.reported++ == 0) outcome.first = reported;
    }
  };
  const auto back = [&](std::uint32_t segment) {
    const bool there = store.back(segment);
    outcome.refused += !there;
    return there;
  };
  std::vector<Page> pages{3, 70, 1}, others{5, 6, 71};
  const Bytes data = random_bytes(prng, kRowsWritten * 96);
  const Rows host{{const_cast<std::byte*>(data.data()), const_cast<std::byte*>(data.data()) + kRowsWritten * 64}};
  bool whole = true;
  const auto same = [&](const std::byte* found) { whole &= std::memcmp(found, data.data(), kRowsWritten * 96) == 0; };
  const auto read_back = [&](std::byte* memory, const std::vector<Page>& list) {
    std::memset(memory, 0, kRowsWritten * 96);
    store.read(1, {list, 2, kRowsWritten}, {{memory, memory + kRowsWritten * 64}});
    ask();
    same(memory);
  };
  if (back(0) && back(1)) {
    store.write(1, {pages, 2, kRowsWritten}, host);
    ask();
    store.use_stream(caller.stream.get());
    read_back(caller.pageable.data(), pages);
    read_back(caller.pinned.data(), pages);
    store.copy(pages, others);
    read_back(caller.pageable.data(), others);
    std::byte* const device_rows = caller.on_device.data();
    store.read(1, {others, 2, kRowsWritten}, {{device_rows, device_rows + kRowsWritten * 64}, Rows::At::device});
    store.write(1, {pages, 2, kRowsWritten}, {{device_rows, device_rows + kRowsWritten * 64}, Rows::At::device});
    read_back(caller.pageable.data(), pages);
    store.save(pages, caller.pageable.data());
    ask();
    store.use_stream(nullptr);
    store.load(caller.pageable.data(), others);
    read_back(caller.pinned.data(), others);
    std::vector<Page> many(64);
    for (Page i = 0; i < 64; ++i) many[i] = i;
    std::vector<Page> targets(64);
    for (Page i = 0; i < 64; ++i) targets[i] = 64 + i;
    store.copy(many, targets);
    store.copy(targets, many);
    ask();
    const SharedMemory shared = store.share(1, 1);
    if (shared.descriptor >= 0) close(shared.descriptor);
    store.pin(1);
    store.unback(1);  // with work behind it
    store.unpin(1);
    if (back(2)) store.unback(2);
    if (back(1)) store.unback(1);
    ask();
    store.unback(0);
  }
  ask();
  if (must_be_whole) outcome.whole = whole;
}

struct Fault {
  const char* function = nullptr;
  std::uint64_t nth = 0;
  int result = 0;
};

Outcome live_a_life(Caller& caller, const Fault& fault) {
  Outcome outcome;
  if (fault.function) fake()->fail(fault.function, fault.nth, fault.result, 1);
  const std::uint64_t before = fault.function ? fake()->calls(fault.function) : 0;
  std::shared_ptr<KVStore> store;
  try {
    store = small_store();
    outcome.created = true;
  } catch (const std::exception& error) {
    outcome.first = error.what();
    outcome.reported = 1;
  }
  if (store) {
    visit(*store, caller, outcome, false);
    if (fault.function) outcome.calls_before_second = fake()->calls(fault.function) - before;
    const char* const once = store->sync();
    const bool broken = outcome.first.find("must be computed again") != std::string::npos;
    if (broken) outcome.again = once && outcome.first == once;
    else visit(*store, caller, outcome, true);
    if (fault.function) outcome.calls_reported = fake()->calls(fault.function) - before;
  }
  return outcome;
}

/// Returns the objects that are alive now and were not before.
std::map<std::string, std::size_t> left(const FakeCudaLive& before, const FakeCudaLive& after) {
  std::map<std::string, std::size_t> more;
  const auto compare = [&](const char* what, std::size_t was, std::size_t is) {
    if (was != is) more[what] = is - was;
  };
  compare("reservations", before.reservations, after.reservations);
  compare("handles", before.handles, after.handles);
  compare("mappings", before.mappings, after.mappings);
  compare("allocations", before.allocations, after.allocations);
  compare("host allocations", before.host_allocations, after.host_allocations);
  compare("streams", before.streams, after.streams);
  compare("events", before.events, after.events);
  compare("modules", before.modules, after.modules);
  compare("context owners", before.context_owners, after.context_owners);
  return more;
}
std::string text(const std::map<std::string, std::size_t>& more) {
  std::string all;
  for (const auto& [what, count] : more) all += what + " " + std::to_string(count) + ", ";
  return all;
}

}  // namespace

TEST_SUITE_BEGIN("fake");

TEST_CASE("whatever call of the driver fails: no crash, one sentence, nothing left behind") {
  std::map<std::string, std::uint64_t> usual;
  {
    Caller caller;
    const FakeCudaLive before = fake()->now();
    std::map<std::string, std::uint64_t> first;
    for (const Called& called : kCalled) first[called.function] = fake()->calls(called.function);
    const Outcome outcome = live_a_life(caller, {});
    CHECK_MESSAGE(outcome.reported == 0, outcome.first);
    CHECK(outcome.refused == 0);
    CHECK(outcome.whole);
    CHECK(text(left(before, fake()->now())) == "");
    for (const Called& called : kCalled)
      usual[called.function] = fake()->calls(called.function) - first[called.function];
  }
  std::uint64_t lives = 0, kept = 0;
  for (const Called& called : kCalled) {
    CAPTURE(std::string(called.function));
    CHECK(usual[called.function] > 0);
    const std::uint64_t step = effort() < 1 ? 7 : 1;
    for (std::uint64_t nth = 1; nth <= usual[called.function]; nth += nth < 4 ? 1 : step)
      for (const int result : {2, 1, 700}) {
        CAPTURE(nth);
        CAPTURE(result);
        Caller caller;
        const FakeCudaLive before = fake()->now();
        const std::uint64_t calls = fake()->calls(called.function);
        const Outcome outcome = live_a_life(caller, {called.function, nth, result});
        const FakeCudaLive after = fake()->now();
        ++lives;
        CHECK(outcome.first.find('\n') == std::string::npos);
        CHECK(outcome.again);
        const auto more = left(before, after);
        const bool happened = fake()->calls(called.function) - calls >= nth;
        if (!happened) continue;
        if (result == 700) {
          // The context is gone and all in it; only its owner counts.
          if (called.leaves == Called::Leaves::nothing) CHECK(after.context_owners == before.context_owners);
          if (nth < outcome.calls_reported) CHECK(outcome.reported > 0);
          continue;
        }
        // A mapping that is not taken away keeps its addresses; else what was refused is the most that stays.
        const std::size_t most = called.leaves == Called::Leaves::nothing ? 0 : called.leaves == kItself ? 1 : 100;
        const bool mapping = std::string(called.function) == "cuMemUnmap";
        CHECK_MESSAGE(more.size() <= (mapping ? 2 : most), text(more));
        for (const auto& [what, count] : more) CHECK_MESSAGE(count <= most, text(more));
        kept += more.empty();
        // A call that failed once does not fail again.
        if (outcome.created && nth <= outcome.calls_before_second) CHECK(outcome.whole);
        if (outcome.created) CHECK(outcome.reported <= 2);
      }
  }
  MESSAGE(lives, " lives of a store, ", kept, " left nothing where something could stay");
}

TEST_CASE("a store reports each call that it could not do") {
  for (const char* function : {"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemAlloc_v2",
                               "cuMemHostAlloc", "cuStreamWaitEvent", "cuEventRecord", "cuEventSynchronize"}) {
    CAPTURE(std::string(function));
    Caller caller;
    const auto store = small_store();
    REQUIRE(store->back(0));
    fake()->fail(function, 1, 1, 1);
    const Page page = 1;
    store->write(0, {{&page, 1}, 0, 16}, {{caller.pageable.data(), caller.pageable.data()}});
    store->read(0, {{&page, 1}, 0, 16}, {{caller.pageable.data(), caller.pageable.data() + 1024}});
    const char* const reported = store->sync();
    REQUIRE(reported != nullptr);
    CHECK(std::string(reported).find("invalid argument (CUDA_ERROR_INVALID_VALUE)") != std::string::npos);
    CHECK(store->sync() == nullptr);
  }
}

TEST_CASE("rows that could not be brought to the device change nothing there") {
  for (const char* function : {"cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuMemHostAlloc", "cuStreamWaitEvent"}) {
    CAPTURE(std::string(function));
    Caller caller;
    const auto store = small_store();
    REQUIRE(store->back(0));
    const Page page = 9;
    Random prng(2);
    Bytes old_rows = random_bytes(prng, 16 * 96), new_rows = random_bytes(prng, 16 * 96), found(16 * 96);
    const auto rows = [](Bytes& bytes) { return Rows{{bytes.data(), bytes.data() + 16 * 64}}; };
    if (std::string(function) != "cuMemHostAlloc") store->write(0, {{&page, 1}, 0, 16}, rows(old_rows));
    REQUIRE(store->sync() == nullptr);
    fake()->fail(function, 1, 1, 1);
    store->write(0, {{&page, 1}, 0, 16}, rows(new_rows));
    CHECK(store->sync() != nullptr);
    store->read(0, {{&page, 1}, 0, 16}, rows(found));
    REQUIRE(store->sync() == nullptr);
    // An order that was lost was waited for instead, and then the rows are there.
    if (std::string(function) == "cuStreamWaitEvent") CHECK(found == new_rows);
    else if (std::string(function) == "cuMemHostAlloc") CHECK(found == Bytes(16 * 96, std::byte{0xFF}));
    else CHECK(found == old_rows);
  }
}

TEST_CASE("rows that could not be brought from the device leave the caller's memory alone") {
  for (const char* function : {"cuMemcpyDtoHAsync_v2", "cuLaunchKernel"}) {
    CAPTURE(std::string(function));
    Caller caller;
    const auto store = small_store();
    REQUIRE(store->back(0));
    const Page page = 9;
    Bytes rows(16 * 96, std::byte{1}), found(16 * 64, std::byte{7}), second(16 * 32, std::byte{7});
    store->write(0, {{&page, 1}, 0, 16}, {{rows.data(), rows.data()}});
    REQUIRE(store->sync() == nullptr);
    fake()->fail(function, 1, 1, 1);
    store->read(0, {{&page, 1}, 0, 16}, {{found.data(), second.data()}});
    CHECK(store->sync() != nullptr);
    CHECK(found == Bytes(16 * 64, std::byte{7}));
  }
}

TEST_SUITE_END();

}  // namespace cuda_store_test
