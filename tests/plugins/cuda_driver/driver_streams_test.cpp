#include <thread>

#include "fake_driver.h"

namespace canopy::cuda {
namespace {

using fake_cuda::Launch;

/// One thread a byte.
const fake_cuda::Twin kFill = fake_cuda::twin(
    "fill", +[](const Launch& launch, DevicePtr to, std::uint32_t count, unsigned char value) {
      const std::uint64_t threads = std::uint64_t{launch.grid[0]} * launch.block[0];
      auto* const bytes = reinterpret_cast<volatile unsigned char*>(to);
      for (std::uint64_t i = 0; i < threads && i < count; ++i) bytes[i] = value;
    });

/// A kernel of the module, launched with parameters that do not outlive the call.
Result fill(const FakeDriver& fake, StreamHandle stream, DevicePtr to, std::uint32_t count, unsigned char value) {
  fake_cuda_add_twin(&kFill);
  ModuleHandle module = nullptr;
  FunctionHandle function = nullptr;
  MUST(fake->module_load_data(&module, "an image"));
  MUST(fake->module_get_function(&function, module, "fill"));
  void* params[] = {&to, &count, &value};
  const Result result = fake->launch_kernel(function, (count + 63) / 64, 1, 1, 64, 1, 1, 0, stream, params, nullptr);
  to = 0;
  count = 0;
  return result;
}

TEST_CASE("work runs when a caller waits and not before") {
  const FakeDriver fake;
  const DevicePtr at = fake.mapped(kPiece);
  const StreamHandle stream = fake.stream();
  void* pinned = nullptr;
  MUST(fake->mem_host_alloc(&pinned, 4096, 0));
  std::memset(pinned, 1, 4096);
  MUST(fake->memcpy_htod_async(at, pinned, 4096, stream));
  CHECK(bytes_at(at, 4096) == all(0xFF, 4096));
  std::memset(pinned, 2, 4096);  // too early
  MUST(fake->stream_synchronize(stream));
  CHECK(bytes_at(at, 4096) == all(2, 4096));

  MUST(fake->memset_d8_async(at, 3, 4096, stream));
  MUST(fake->memcpy_dtod_async(at + 8192, at, 4096, stream));
  MUST(fake->memcpy_dtoh_async(pinned, at + 8192, 4096, stream));
  CHECK(FakeDriver::live().queued == 3);
  CHECK(static_cast<unsigned char*>(pinned)[0] == 2);
  MUST(fake->ctx_synchronize());
  CHECK(static_cast<unsigned char*>(pinned)[4095] == 3);
  CHECK(FakeDriver::live().pageable_copies == 0);
  unsigned char own[16] = {};
  MUST(fake->memcpy_htod_async(at, own, 16, stream));
  CHECK(FakeDriver::live().pageable_copies == 1);
  MUST(fake->stream_synchronize(stream));
  OK(fake->mem_free_host(pinned));
}

TEST_CASE("streams that no event joins do not run for each other") {
  const FakeDriver fake;
  const DevicePtr at = fake.mapped(kPiece);
  const StreamHandle first = fake.stream();
  const StreamHandle second = fake.stream();
  const EventHandle event = fake.event();
  MUST(fake->memset_d8_async(at, 1, 64, first));
  MUST(fake->event_record(event, first));
  MUST(fake->memset_d8_async(at, 2, 64, first));  // after the record
  MUST(fake->memcpy_dtod_async(at + 64, at, 64, second));
  MUST(fake->stream_synchronize(second));
  CHECK(bytes_at(at + 64, 64) == all(0xFF, 64));  // nothing said that it comes after
  MUST(fake->stream_wait_event(second, event, 0));
  MUST(fake->memcpy_dtod_async(at + 64, at, 64, second));
  MUST(fake->event_destroy(event));  // the wait keeps what it needs
  MUST(fake->stream_synchronize(second));
  CHECK(bytes_at(at + 64, 64) == all(1, 64));
  MUST(fake->stream_destroy(first));  // does not wait; what is in it still comes
  CHECK(bytes_at(at, 64) == all(1, 64));
  MUST(fake->ctx_synchronize());
  CHECK(bytes_at(at, 64) == all(2, 64));
  CHECK(fake->memset_d8_async(at, 1, 64, first) == Result::invalid_handle);
}

TEST_CASE("a record of an event on one stream says nothing of an earlier one on another") {
  const FakeDriver fake;
  const DevicePtr at = fake.mapped(kPiece);
  const StreamHandle first = fake.stream(), second = fake.stream(), third = fake.stream();
  const EventHandle event = fake.event();
  MUST(fake->memset_d8_async(at, 1, 64, first));
  MUST(fake->event_record(event, first));
  MUST(fake->stream_wait_event(third, event, 0));
  MUST(fake->event_record(event, second));
  MUST(fake->event_synchronize(event));  // the second stream's, at once
  MUST(fake->memcpy_dtod_async(at + 64, at, 64, third));
  MUST(fake->stream_synchronize(third));
  CHECK(bytes_at(at + 64, 64) == all(1, 64));
}

TEST_CASE("an event is not ready for a while or for ever") {
  const FakeDriver fake;
  const DevicePtr at = fake.mapped(kPiece);
  const StreamHandle stream = fake.stream();
  const EventHandle event = fake.event();
  OK(fake->event_query(event));  // never recorded
  MUST(fake->memset_d8_async(at, 5, 64, stream));
  MUST(fake->event_record(event, stream));
  CHECK(fake->event_query(event) == Result::not_ready);
  CHECK(fake->event_query(event) == Result::not_ready);
  CHECK(bytes_at(at, 1) == all(0xFF, 1));
  OK(fake->event_query(event));
  CHECK(bytes_at(at, 64) == all(5, 64));
  fake_cuda_not_ready(-1);
  MUST(fake->event_record(event, stream));
  for (int i = 0; i < 100; ++i) CHECK(fake->event_query(event) == Result::not_ready);
  MUST(fake->event_synchronize(event));
  OK(fake->event_query(event));
  float milliseconds = 0;
  CHECK(fake->event_elapsed_time(&milliseconds, event, event) == Result::invalid_handle);  // made without times
  const EventHandle first = fake.event(kEventDefault);
  const EventHandle last = fake.event(kEventDefault);
  MUST(fake->event_record(first, stream));
  MUST(fake->event_record(last, stream));
  CHECK(fake->event_elapsed_time(&milliseconds, first, last) == Result::not_ready);
  MUST(fake->stream_synchronize(stream));
  OK(fake->event_elapsed_time(&milliseconds, first, last));
  CHECK(milliseconds >= 0);
}

TEST_CASE("threads call side by side") {
  const FakeDriver fake;
  const DevicePtr at = fake.mapped(kPiece);
  const auto work = [&](std::size_t mine) {
    const ContextScope scope(*fake.driver, fake.context);
    StreamHandle stream = nullptr;
    bool good = fake->stream_create_with_priority(&stream, kStreamNonBlocking, 0) == Result::success;
    for (unsigned char round = 0; round < 100; ++round)
      good = good && fake->memset_d8_async(at + mine * 4096, round, 4096, stream) == Result::success &&
             fake->stream_synchronize(stream) == Result::success &&
             bytes_at(at + mine * 4096, 4096) == all(round, 4096);
    good = good && fake->stream_destroy(stream) == Result::success;
    CHECK(good);
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  CHECK(FakeDriver::live().streams == 0);
}

TEST_CASE("eager work runs in the call that queues it") {
  const FakeDriver fake;
  fake_cuda_eager(1);
  const DevicePtr at = fake.mapped(kPiece);
  MUST(fake->memset_d8_async(at, 9, 64, fake.stream()));
  CHECK(bytes_at(at, 64) == all(9, 64));
}

TEST_CASE("the legacy stream waits for blocking streams and they for it") {
  const FakeDriver fake;
  const DevicePtr at = fake.mapped(kPiece);
  StreamHandle blocking = nullptr;
  MUST(fake->stream_create_with_priority(&blocking, kStreamDefault, 0));
  const StreamHandle free = fake.stream();
  MUST(fake->memset_d8_async(at, 1, 64, blocking));
  MUST(fake->memset_d8_async(at + 64, 1, 64, free));
  MUST(fake->memset_d8_async(at, 2, 64, nullptr));
  MUST(fake->stream_synchronize(nullptr));
  CHECK(bytes_at(at, 128) == [] {
    auto expected = all(2, 64);
    expected.resize(128, 0xFF);
    return expected;
  }());
}

TEST_CASE("rows and batches are copied") {
  const FakeDriver fake;
  const DevicePtr at = fake.mapped(kPiece);
  const StreamHandle stream = fake.stream();
  unsigned char rows[8 * 16];
  for (unsigned i = 0; i < sizeof rows; ++i) rows[i] = static_cast<unsigned char>(i);
  Memcpy2D copy;
  copy.src_type = MemoryType::host;
  copy.src_host = rows;
  copy.src_pitch = 16;
  copy.src_x_bytes = 4;
  copy.dst_device = at;
  copy.dst_pitch = 8;
  copy.width_bytes = 8;
  copy.height = 8;
  MUST(fake->memcpy_2d_async(&copy, stream));
  MUST(fake->stream_synchronize(stream));
  for (unsigned i = 0; i < 64; ++i) CHECK(bytes_at(at + i, 1)[0] == rows[i / 8 * 16 + 4 + i % 8]);
  copy.dst_pitch = 4;
  CHECK(fake->memcpy_2d_async(&copy, stream) == Result::invalid_value);

  MUST(fake->memset_d8_async(at, 1, 4096, stream));
  MUST(fake->stream_synchronize(stream));
  MUST(fake->memset_d8_async(at, 2, 4096, stream));
  DevicePtr to[] = {at + 8192, at + 16384};
  DevicePtr from[] = {at, at};
  std::size_t sizes[] = {64, 64};
  MemcpyAttributes attributes[2];
  attributes[1].source_order = SourceOrder::any;
  std::size_t first[] = {0, 1};
  std::size_t failed = 0;
  MUST(fake->memcpy_batch_async(to, from, sizes, 2, attributes, first, 2, &failed, stream));
  MUST(fake->stream_synchronize(stream));
  CHECK(bytes_at(at + 8192, 64) == all(2, 64));
  CHECK(bytes_at(at + 16384, 64) == all(1, 64));  // "any order" may read before the stream comes to it
  CHECK(fake->memcpy_batch_async(to, from, sizes, 2, attributes, first, 2, &failed, nullptr) == Result::invalid_value);
}

TEST_CASE("a kernel's twin gets the parameters of the launch") {
  const FakeDriver fake;
  const DevicePtr at = fake.mapped(kPiece);
  const StreamHandle stream = fake.stream();
  MUST(fill(fake, stream, at, 100, 6));
  CHECK(FakeDriver::live().launches == 0);
  MUST(fake->stream_synchronize(stream));
  CHECK(bytes_at(at, 100) == all(6, 100));
  CHECK(bytes_at(at + 100, 1) == all(0xFF, 1));
  CHECK(FakeDriver::live().launches == 1);

  ModuleHandle module = nullptr;
  FunctionHandle function = nullptr;
  MUST(fake->module_load_data(&module, "an image"));
  CHECK(fake->module_get_function(&function, module, "no such kernel") == Result::not_found);
  MUST(fake->module_get_function(&function, module, "fill"));
  int registers = 0;
  OK(fake->func_get_attribute(&registers, FunctionAttribute::num_regs, function));
  CHECK(registers > 0);
  CHECK(fake->launch_kernel(function, 0, 1, 1, 64, 1, 1, 0, stream, nullptr, nullptr) == Result::invalid_value);
  CHECK(fake->launch_kernel(function, 1, 1, 1, 2048, 1, 1, 0, stream, nullptr, nullptr) == Result::invalid_value);
  MUST(fake->module_unload(module));
  CHECK(fake->func_get_attribute(&registers, FunctionAttribute::num_regs, function) == Result::invalid_handle);
}

TEST_CASE("work on memory that is gone by then ends the context") {
  const FakeDriver fake;
  const StreamHandle stream = fake.stream();
  const DevicePtr at = fake.mapped(kPiece);
  void* pinned = nullptr;
  MUST(fake->mem_host_alloc(&pinned, 4096, 0));
  SUBCASE("a copy to what is unmapped") {
    MUST(fake->memset_d8_async(at, 1, 64, stream));
    MUST(fake->mem_unmap(at, kPiece));  // does not wait
  }
  SUBCASE("a kernel on what is unmapped") {
    MUST(fill(fake, stream, at, 64, 1));
    MUST(fake->mem_unmap(at, kPiece));
  }
  SUBCASE("a kernel that writes what may only be read") {
    MUST(fake.access(at, kPiece, MemAccess::read));
    MUST(fill(fake, stream, at, 64, 1));
  }
  SUBCASE("a kernel that runs past the mapping") { MUST(fill(fake, stream, at + kPiece - 8, 64, 1)); }
  SUBCASE("a kernel on what is freed") {
    DevicePtr plain = 0;
    MUST(fake->mem_alloc(&plain, 4096));
    MUST(fill(fake, stream, plain, 64, 1));
    MUST(fake->mem_free(plain));
    DevicePtr other = 0;
    MUST(fake->mem_alloc(&other, 4096));
  }
  SUBCASE("a copy from pinned memory that is freed") {
    MUST(fake->memcpy_htod_async(at, pinned, 4096, stream));
    MUST(fake->mem_free_host(pinned));
    MUST(fake->mem_host_alloc(&pinned, 4096, 0));  // perhaps at the same address
  }
  SUBCASE("a copy over two mappings with a hole") {
    const DevicePtr base = fake.reserve(3 * kPiece);
    const MemHandle handle = fake.create(kPiece);
    for (const std::size_t piece : {0U, 2U}) MUST(fake->mem_map(base + piece * kPiece, kPiece, 0, handle, 0));
    MUST(fake.access(base, kPiece));
    MUST(fake.access(base + 2 * kPiece, kPiece));
    MUST(fake->memset_d8_async(base, 1, 3 * kPiece, stream));
  }
  CHECK(fake->stream_synchronize(stream) == Result::illegal_address);
  CHECK(sticky(fake->stream_synchronize(stream)));
  CHECK(fake->memset_d8_async(at, 1, 64, stream) == Result::illegal_address);
  CHECK(fake->mem_host_alloc(&pinned, 64, 0) == Result::illegal_address);
  DevicePtr more = 0;
  CHECK(fake->mem_address_reserve(&more, kPiece, 0, 0, 0) == Result::illegal_address);
}

TEST_CASE("a captured graph runs as often as it is launched") {
  const FakeDriver fake;
  const DevicePtr at = fake.mapped(kPiece);
  const StreamHandle stream = fake.stream();
  const StreamHandle side = fake.stream();
  const EventHandle fork = fake.event();
  const EventHandle join = fake.event();
  MUST(fake->stream_begin_capture(stream, CaptureMode::global));
  CaptureStatus status = CaptureStatus::none;
  MUST(fake->stream_is_capturing(stream, &status));
  CHECK(status == CaptureStatus::active);
  MUST(fake->memcpy_dtod_async(at + 64, at, 64, stream));
  MUST(fake->event_record(fork, stream));
  MUST(fake->stream_wait_event(side, fork, 0));
  MUST(fake->memcpy_dtod_async(at + 128, at + 64, 64, side));
  MUST(fake->event_record(join, side));
  MUST(fake->stream_wait_event(stream, join, 0));
  GraphHandle graph = nullptr;
  MUST(fake->stream_end_capture(stream, &graph));
  MUST(fake->ctx_synchronize());
  CHECK(bytes_at(at + 64, 64) == all(0xFF, 64));  // recorded, not run
  GraphExecHandle exec = nullptr;
  MUST(fake->graph_instantiate_with_flags(&exec, graph, 0));
  MUST(fake->graph_destroy(graph));
  for (unsigned char value = 1; value < 3; ++value) {
    MUST(fake->memset_d8_async(at, value, 64, stream));
    MUST(fake->graph_launch(exec, stream));
    MUST(fake->stream_synchronize(stream));
    CHECK(bytes_at(at + 128, 64) == all(value, 64));
  }
  MUST(fake->mem_unmap(at, kPiece));
  MUST(fake->graph_launch(exec, stream));
  CHECK(fake->stream_synchronize(stream) == Result::illegal_address);
}

TEST_CASE("what a capture forbids fails and spoils it") {
  const FakeDriver fake;
  const DevicePtr base = fake.reserve(kPiece);
  const MemHandle handle = fake.create(kPiece);
  const StreamHandle stream = fake.stream();
  const StreamHandle other = fake.stream();
  const EventHandle event = fake.event();
  MUST(fake->event_record(event, other));
  MUST(fake->event_synchronize(event));
  MUST(fake->stream_begin_capture(stream, CaptureMode::global));
  const MemAllocationProp prop = FakeDriver::device_memory();
  MemHandle more = 0;
  Result answer = Result::success;
  SUBCASE("query") { answer = fake->event_query(event); }
  SUBCASE("wait") { answer = fake->event_synchronize(event); }
  SUBCASE("create") { answer = fake->mem_create(&more, kPiece, &prop, 0); }
  SUBCASE("map") { answer = fake->mem_map(base, kPiece, 0, handle, 0); }
  SUBCASE("synchronize") { answer = fake->stream_synchronize(stream); }
  CHECK(answer == Result::stream_capture_unsupported);
  CaptureStatus status = CaptureStatus::none;
  MUST(fake->stream_is_capturing(stream, &status));
  CHECK(status == CaptureStatus::invalidated);
  GraphHandle graph = nullptr;
  CHECK(fake->stream_end_capture(stream, &graph) == Result::stream_capture_invalidated);
  CHECK(graph == nullptr);
  OK(fake->event_query(event));

  MUST(fake->stream_begin_capture(stream, CaptureMode::relaxed));
  OK(fake->event_query(event));
  CHECK(fake->stream_synchronize(stream) == Result::stream_capture_unsupported);
  CHECK(fake->stream_end_capture(stream, &graph) == Result::stream_capture_invalidated);

  MUST(fake->stream_begin_capture(stream, CaptureMode::relaxed));
  MUST(fake->event_record(event, stream));
  MUST(fake->stream_wait_event(other, event, 0));
  CHECK(fake->stream_end_capture(stream, &graph) == Result::stream_capture_unjoined);
}

}  // namespace
}  // namespace canopy::cuda
