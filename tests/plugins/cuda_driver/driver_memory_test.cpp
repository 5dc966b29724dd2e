#include <sys/wait.h>
#include <unistd.h>

#include "fake_driver.h"

namespace canopy::cuda {
namespace {

TEST_CASE("virtual memory lives from reserve to free and nothing is left") {
  const FakeDriver fake;
  const MemAllocationProp prop = FakeDriver::device_memory();
  std::size_t granularity = 0;
  MUST(fake->mem_get_allocation_granularity(&granularity, &prop, MemGranularity::minimum));
  CHECK(granularity == kPiece);
  const DevicePtr base = fake.reserve(1024 * kPiece);
  CHECK(base % kPiece == 0);
  const MemHandle handle = fake.create(2 * kPiece);
  CHECK(FakeDriver::live().bytes == 2 * kPiece);
  MUST(fake->mem_map(base + kPiece, 2 * kPiece, 0, handle, 0));
  MUST(fake->mem_release(handle));
  CHECK(FakeDriver::live().handles == 0);
  CHECK(FakeDriver::live().bytes == 2 * kPiece);  // the mapping keeps it
  MUST(fake.access(base + kPiece, 2 * kPiece));
  CHECK(bytes_at(base + kPiece, 4096) == all(0xFF, 4096));  // fresh memory is not zero
  CHECK(bytes_at(base + 3 * kPiece - 64, 64) == all(0xFF, 64));
  OK(fake->mem_unmap(base + kPiece, 2 * kPiece));
  CHECK(FakeDriver::live().bytes == 0);
  OK(fake->mem_address_free(base, 1024 * kPiece));
  const FakeCudaLive left = FakeDriver::live();
  CHECK(left.reservations + left.handles + left.mappings + left.allocations == 0);
}

TEST_CASE("the memory of the device ends") {
  const FakeDriver fake;
  fake_cuda_memory(3 * kPiece);
  const MemAllocationProp prop = FakeDriver::device_memory();
  const MemHandle first = fake.create(2 * kPiece);
  MemHandle second = 0;
  CHECK(fake->mem_create(&second, 2 * kPiece, &prop, 0) == Result::out_of_memory);
  DevicePtr at = 0;
  OK(fake->mem_alloc(&at, kPiece));
  DevicePtr more = 0;
  CHECK(fake->mem_alloc(&more, 1) == Result::out_of_memory);
  OK(fake->mem_release(first));
  OK(fake->mem_create(&second, 2 * kPiece, &prop, 0));
  OK(fake->mem_free(at));
  CHECK(fake->mem_free(at) == Result::invalid_value);
}

TEST_CASE("mapping is strict") {
  const FakeDriver fake;
  const DevicePtr base = fake.reserve(8 * kPiece);
  const MemHandle handle = fake.create(2 * kPiece);
  const Result refused = Result::invalid_value;
  CHECK(fake->mem_map(base, kPiece, 0, handle, 0) == refused);                   // part of a handle
  CHECK(fake->mem_map(base, kPiece, kPiece, handle, 0) == refused);              // an offset
  CHECK(fake->mem_map(base + 4096, 2 * kPiece, 0, handle, 0) == refused);        // not aligned
  CHECK(fake->mem_map(base + 7 * kPiece, 2 * kPiece, 0, handle, 0) == refused);  // beyond the reservation
  CHECK(fake->mem_map(base, 2 * kPiece, 0, handle + 1, 0) == refused);           // no such handle
  MUST(fake->mem_map(base + 2 * kPiece, 2 * kPiece, 0, handle, 0));
  for (const std::size_t piece : {1U, 2U, 3U})
    CHECK(fake->mem_map(base + piece * kPiece, 2 * kPiece, 0, handle, 0) == refused);  // something is there
  OK(fake->mem_map(base + 4 * kPiece, 2 * kPiece, 0, handle, 0));                      // the same memory twice is fine

  CHECK(fake.access(base + kPiece, 2 * kPiece) == refused);
  CHECK(fake.access(base + 4 * kPiece, 4 * kPiece) == refused);
  OK(fake.access(base + 2 * kPiece, 4 * kPiece));  // two neighbours at once
  std::memset(reinterpret_cast<void*>(base + 2 * kPiece), 7, 16);
  CHECK(bytes_at(base + 4 * kPiece, 16) == all(7, 16));

  CHECK(fake->mem_unmap(base + 2 * kPiece, kPiece) == refused);
  CHECK(fake->mem_unmap(base + 3 * kPiece, kPiece) == refused);
  CHECK(fake->mem_unmap(base + 2 * kPiece, 4 * kPiece) == refused);
  CHECK(fake->mem_address_free(base, 8 * kPiece) == refused);
  OK(fake->mem_unmap(base + 2 * kPiece, 2 * kPiece));
  OK(fake->mem_unmap(base + 4 * kPiece, 2 * kPiece));
  CHECK(fake->mem_address_free(base, 4 * kPiece) == refused);
  CHECK(fake->mem_address_free(base + kPiece, 7 * kPiece) == refused);
  OK(fake->mem_release(handle));
  CHECK(fake->mem_release(handle) == refused);
  OK(fake->mem_address_free(base, 8 * kPiece));
  CHECK(fake->mem_address_free(base, 8 * kPiece) == refused);

  MemHandle odd = 0;
  const MemAllocationProp prop = FakeDriver::device_memory();
  CHECK(fake->mem_create(&odd, kMiB, &prop, 0) == refused);
  const MemAllocationProp fabric = FakeDriver::device_memory(MemHandleType::fabric);
  CHECK(fake->mem_create(&odd, kPiece, &fabric, 0) == Result::not_supported);
}

TEST_CASE("pinned memory is known by its range") {
  const FakeDriver fake;
  void* pinned = nullptr;
  MUST(fake->mem_host_alloc(&pinned, 8192, kHostAllocPortable | kHostAllocDeviceMap));
  std::vector<unsigned char> own(65536);
  MUST(fake->mem_host_register(own.data(), own.size(), kHostRegisterDeviceMap));
  CHECK(fake->mem_host_register(own.data() + 100, 8, 0) == Result::host_memory_already_registered);
  DevicePtr alias = 0;
  OK(fake->mem_host_get_device_pointer(&alias, own.data(), 0));
  CHECK(FakeDriver::live().host_allocations == 1);
  CHECK(FakeDriver::live().host_registrations == 1);
  CHECK(fake->mem_free_host(own.data()) == Result::invalid_value);
  CHECK(fake->mem_host_unregister(own.data() + 1) == Result::host_memory_not_registered);
  OK(fake->mem_host_unregister(own.data()));
  CHECK(fake->mem_host_get_device_pointer(&alias, own.data(), 0) == Result::invalid_value);
  OK(fake->mem_free_host(pinned));
  CHECK(FakeDriver::live().host_allocations + FakeDriver::live().host_registrations == 0);
}

TEST_CASE("memory is shared with another process through a file descriptor") {
  const FakeDriver fake;
  const DevicePtr base = fake.reserve(kPiece);
  const MemHandle handle = fake.create(kPiece, MemHandleType::posix_file_descriptor);
  MUST(fake->mem_map(base, kPiece, 0, handle, 0));
  MUST(fake.access(base, kPiece));
  int fd = -1;
  MUST(fake->mem_export_to_shareable_handle(&fd, handle, MemHandleType::posix_file_descriptor, 0));
  const MemHandle closed = fake.create(kPiece);
  int none = -1;
  CHECK(fake->mem_export_to_shareable_handle(&none, closed, MemHandleType::posix_file_descriptor, 0) ==
        Result::invalid_value);  // it was not asked for when the memory was made
  std::memset(reinterpret_cast<void*>(base), 1, 4096);

  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // answers with its exit status; no test of doctest's in here
    fake_cuda_reset();
    ContextHandle context = nullptr;
    MemHandle theirs = 0;
    DevicePtr at = 0;
    const MemAccessDesc description{{MemLocationType::device, 0}, MemAccess::read_write};
    void* const os_handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
    if (fake->init(0) != Result::success || fake->device_primary_ctx_retain(&context, 0) != Result::success ||
        fake->ctx_push_current(context) != Result::success)
      _exit(1);
    if (fake->mem_import_from_shareable_handle(&theirs, os_handle, MemHandleType::posix_file_descriptor) !=
        Result::success)
      _exit(2);
    if (FakeDriver::live().bytes != 0) _exit(3);  // it is the parent's memory
    if (fake->mem_address_reserve(&at, kPiece, 0, 0, 0) != Result::success ||
        fake->mem_map(at, kPiece, 0, theirs, 0) != Result::success ||
        fake->mem_set_access(at, kPiece, &description, 1) != Result::success)
      _exit(4);
    auto* const bytes = reinterpret_cast<unsigned char*>(at);
    if (bytes[0] != 1 || bytes[4095] != 1 || bytes[4096] != 0xFF) _exit(5);
    bytes[0] = 42;
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(bytes_at(base, 1) == all(42, 1));

  MemHandle again = 0;
  MUST(fake->mem_import_from_shareable_handle(&again, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                                              MemHandleType::posix_file_descriptor));
  close(fd);
  OK(fake->mem_unmap(base, kPiece));
  OK(fake->mem_release(handle));
  CHECK(FakeDriver::live().bytes == 2 * kPiece);  // the process that imported it keeps it
  OK(fake->mem_release(again));
  CHECK(FakeDriver::live().bytes == kPiece);
}

}  // namespace
}  // namespace canopy::cuda
