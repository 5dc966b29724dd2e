#include <filesystem>
#include <thread>

#include "fake_driver.h"

namespace canopy::cuda {
namespace {

TEST_CASE("a machine without the driver gets one sentence that says so") {
  std::string why;
  CHECK(Driver::open("libcuda_that_nobody_has.so.1", why) == nullptr);
  CHECK(why.find("no CUDA driver here: libcuda_that_nobody_has.so.1: ") == 0);
  CHECK(why.find('\n') == std::string::npos);
}

TEST_CASE("the real driver is opened where there is one and missed in a sentence elsewhere") {
  std::string why = "untouched";
  if (Driver::open(Driver::kLibrary, why)) CHECK(why.empty());
  else CHECK(why.find("no CUDA driver here: libcuda.so.1: ") == 0);
}

TEST_CASE("a library without our functions is a driver too old and the function is named") {
  std::string why;
  CHECK(Driver::open("libm.so.6", why) == nullptr);
  CHECK(why == "the CUDA driver libm.so.6 is too old: it has no cuInit");
}

TEST_CASE("a driver without the batch copy opens all the same") {
  std::string why;
  const auto old = Driver::open(FAKE_CUDA_OLD, why);
  REQUIRE_MESSAGE(old, why);
  CHECK_FALSE(static_cast<bool>(old->memcpy_batch_async));
  CHECK(static_cast<bool>(old->mem_create));
  const auto recent = Driver::open(FAKE_CUDA, why);
  REQUIRE_MESSAGE(recent, why);
  CHECK(static_cast<bool>(recent->memcpy_batch_async));
}

TEST_CASE("errors have the driver's words") {
  const FakeDriver fake;
  CHECK(fake->sentence("cuMemCreate", Result::out_of_memory) ==
        "cuMemCreate: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
  CHECK(fake->sentence("cuMemMap", static_cast<Result>(12345)) ==
        "cuMemMap: error 12345, which has no name in the driver");
}

TEST_CASE("which errors end a context and which mean that there is no GPU") {
  for (const int value : {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719}) {
    CAPTURE(value);
    CHECK(sticky(static_cast<Result>(value)));
    CHECK(!absent(static_cast<Result>(value)));
  }
  for (const int value : {34, 35, 36, 100, 803, 804}) {
    CAPTURE(value);
    CHECK(absent(static_cast<Result>(value)));
    CHECK(!sticky(static_cast<Result>(value)));
  }
  for (const int value : {0, 1, 2, 201, 400, 600, 701, 900, 999}) {
    CAPTURE(value);
    CHECK(!sticky(static_cast<Result>(value)));
    CHECK(!absent(static_cast<Result>(value)));
  }
}

TEST_CASE("the device of the fake and a machine without one") {
  FakeDriver fake(false);
  int value = 0;
  CHECK(fake->device_get_count(&value) == Result::not_initialized);
  MUST(fake->init(0));
  MUST(fake->device_get_count(&value));
  CHECK(value == 1);
  char name[64] = {};
  MUST(fake->device_get_name(name, sizeof name, 0));
  CHECK(std::string(name) == "Fake device");
  MUST(fake->device_get_attribute(&value, DeviceAttribute::multiprocessor_count, 0));
  CHECK(value == 132);
  MUST(fake->device_get_attribute(&value, DeviceAttribute::compute_capability_major, 0));
  CHECK(value == 9);
  fake_cuda_attribute(102, 0);
  MUST(fake->device_get_attribute(&value, DeviceAttribute::virtual_memory_management_supported, 0));
  CHECK(value == 0);
  Device device = -1;
  CHECK(fake->device_get(&device, 1) == Result::invalid_device);

  fake_cuda_reset();
  fake_cuda_devices(0);
  const Result none = fake->init(0);
  CHECK(none == Result::no_device);
  CHECK(absent(none));
}

TEST_CASE("a call needs a context of its own thread") {
  const FakeDriver fake(false);
  MUST(fake->init(0));
  ContextHandle context = nullptr;
  CHECK(fake->ctx_push_current(context) == Result::invalid_context);
  MUST(fake->device_primary_ctx_retain(&context, 0));
  std::size_t free = 0, total = 0;
  CHECK(fake->mem_get_info(&free, &total) == Result::invalid_context);
  {
    const ContextScope scope(*fake.driver, context);
    OK(scope.result());
    OK(fake->mem_get_info(&free, &total));
    CHECK(total == 4096 * kMiB);
    std::thread([&] { CHECK(fake->mem_get_info(&free, &total) == Result::invalid_context); }).join();
  }
  CHECK(fake->mem_get_info(&free, &total) == Result::invalid_context);
  OK(fake->device_primary_ctx_release(0));
  CHECK(FakeDriver::live().context_owners == 0);
  CHECK(ContextScope(*fake.driver, context).result() == Result::invalid_context);
}

TEST_CASE("planted faults hit the call they name and no other") {
  const FakeDriver fake;
  fake_cuda_fail("cuMemAlloc_v2", 2, 2, 1);
  fake_cuda_fail("cuMemAlloc_v2", 4, 999, 2);
  DevicePtr at = 0;
  std::vector<int> results;
  for (int i = 0; i < 6; ++i) results.push_back(static_cast<int>(fake->mem_alloc(&at, 4096)));
  CHECK(results == std::vector<int>{0, 2, 0, 999, 999, 0});
  CHECK(fake_cuda_calls("cuMemAlloc_v2") == 6);
  CHECK(FakeDriver::live().allocations == 3);

  fake_cuda_fail("cuMemFree_v2", 1, 719, 1);
  CHECK(fake->mem_free(at) == Result::launch_failed);
  CHECK(fake->mem_alloc(&at, 4096) == Result::launch_failed);

  const char* names[64];
  const std::size_t count = fake_cuda_log(names, 64);
  REQUIRE(count == 11);
  CHECK(std::string(names[0]) == "cuInit");
  CHECK(std::string(names[2]) == "cuCtxPushCurrent_v2");
  CHECK(std::string(names[9]) == "cuMemFree_v2");
}

TEST_CASE("the environment sets what a whole program meets") {
  setenv("FAKE_CUDA_MEMORY", "4194304", 1);
  setenv("FAKE_CUDA_FAIL", "cuEventCreate:2,cuMemFreeHost:1:999", 1);
  setenv("FAKE_CUDA_ATTRIBUTES", "102:0,16:7", 1);
  {
    const FakeDriver fake;
    std::size_t free = 0, total = 0;
    MUST(fake->mem_get_info(&free, &total));
    CHECK(total == 4 * kMiB);
    EventHandle event = nullptr;
    OK(fake->event_create(&event, kEventDefault));
    CHECK(fake->event_create(&event, kEventDefault) == Result::out_of_memory);
    CHECK(fake->mem_free_host(nullptr) == Result::unknown);
    int value = 0;
    MUST(fake->device_get_attribute(&value, DeviceAttribute::multiprocessor_count, 0));
    CHECK(value == 7);
    DevicePtr at = 0;
    CHECK(fake->mem_address_reserve(&at, kPiece, 0, 0, 0) == Result::not_supported);
  }
  unsetenv("FAKE_CUDA_MEMORY");
  unsetenv("FAKE_CUDA_FAIL");
  unsetenv("FAKE_CUDA_ATTRIBUTES");
  fake_cuda_reset();
}

}  // namespace
}  // namespace canopy::cuda
