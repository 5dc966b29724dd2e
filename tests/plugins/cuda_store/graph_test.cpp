/// CUDA graphs: what a store queues can be captured once and replayed, whatever the pool does in between.
#include <algorithm>
#include <numeric>
#include <thread>

#include "support.h"

namespace cuda_store_test {
namespace {

constexpr cuda::CaptureMode kModes[] = {cuda::CaptureMode::global, cuda::CaptureMode::thread_local_mode,
                                        cuda::CaptureMode::relaxed};

/// A graph of what `body` queues on the stream.
class CapturedGraph {
 public:
  template <class Body>
  CapturedGraph(const Device& device, const DeviceStream& stream, cuda::CaptureMode mode, Body&& body)
      : device_(device) {
    MUST(device_->stream_begin_capture(stream.get(), mode));
    body();
    MUST(device_->stream_end_capture(stream.get(), &graph_));
    MUST(device_->graph_instantiate_with_flags(&executable_, graph_, 0));
  }
  ~CapturedGraph() {
    static_cast<void>(device_->graph_exec_destroy(executable_));
    static_cast<void>(device_->graph_destroy(graph_));
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  void replay(const DeviceStream& stream) const { MUST(device_->graph_launch(executable_, stream.get())); }

 private:
  const Device& device_;
  cuda::GraphHandle graph_ = nullptr;
  cuda::GraphExecHandle executable_ = nullptr;
};

}  // namespace

TEST_SUITE_BEGIN("graphs");

TEST_CASE("captured calls are right at every replay while the pool grows and shrinks in between") {
  for (const cuda::CaptureMode mode : kModes) {
    CAPTURE(static_cast<int>(mode));
    const Device device;
    const DeviceStream stream(device);
    const DeviceBytes in(device, 600 * 96), out(device, 600 * 96);
    const auto store = small_store();
    store->use_stream(stream.get());
    REQUIRE(store->back(0));
    Random prng(9);
    // A list that no single launch takes, pages 0 to 19 copied from 20 to 39.
    std::vector<Page> pages(38), from(20), to(20);
    std::iota(pages.begin(), pages.end(), 0U);
    std::reverse(pages.begin(), pages.end());
    std::iota(from.begin(), from.end(), 20U);
    std::iota(to.begin(), to.end(), 0U);
    const Rows rows_in{{in.data(), in.data() + 600 * 64}, Rows::At::device};
    const Rows rows_out{{out.data(), out.data() + 600 * 64}, Rows::At::device};
    const CapturedGraph graph(device, stream, mode, [&] {
      store->write(1, {pages, 5, 600}, rows_in);
      store->copy(from, to);
      store->read(1, {pages, 5, 600}, rows_out);
    });
    for (std::uint32_t round = 1; round < 6; ++round) {
      const Bytes data = random_bytes(prng, 600 * 96);
      upload(device, in.data(), data, stream.get());
      REQUIRE(store->back(round));
      graph.replay(stream);
      if (round > 1) store->unback(round - 1);
      const Bytes found = download(device, out.data(), 600 * 96, stream.get());
      REQUIRE(store->sync() == nullptr);
      for (std::uint32_t row = 0; row < 600; ++row) {
        // Pages below 20 were copied over; rows that were never written may be anything.
        const std::uint32_t place = row + 5, page = pages[place / 16];
        std::uint32_t source = row;
        if (page < 20) {
          const auto at = static_cast<std::uint32_t>(std::find(pages.begin(), pages.end(), page + 20) - pages.begin());
          if (at == pages.size() || at * 16 + place % 16 < 5) continue;
          source = at * 16 + place % 16 - 5;
        }
        REQUIRE(std::memcmp(found.data() + row * 64, data.data() + source * 64, 64) == 0);
        REQUIRE(std::memcmp(found.data() + 600 * 64 + row * 32, data.data() + 600 * 64 + source * 32, 32) == 0);
      }
    }
    store->use_stream(nullptr);
  }
}

TEST_CASE("lists longer than a launch are captured by value") {
  const Device device;
  const DeviceStream stream(device);
  const auto store = make<KVStore>("cuda", {1, 4096, kUnlimited},
                                   "{ streams: { a: 16 }, addresses: 1073741824, headroom: 0, staging: 4194304 }");
  store->use_stream(stream.get());
  REQUIRE(store->back(0));
  constexpr std::uint32_t kRows = 4000;
  const DeviceBytes in(device, kRows * 16), out(device, kRows * 16);
  Random prng(4);
  const Bytes data = random_bytes(prng, kRows * 16);
  upload(device, in.data(), data, stream.get());
  std::vector<Page> list(kRows);
  std::iota(list.begin(), list.end(), 1U);
  std::reverse(list.begin(), list.end());
  const CapturedGraph graph(device, stream, cuda::CaptureMode::global, [&] {
    store->write(0, {list, 0, kRows}, {{in.data()}, Rows::At::device});
    store->copy(std::span(list).first(2000), std::span(list).subspan(2000));
    store->read(0, {list, 0, kRows}, {{out.data()}, Rows::At::device});
  });
  std::fill(list.begin(), list.end(), 0U);  // the graph has its own
  graph.replay(stream);
  const Bytes found = download(device, out.data(), kRows * 16, stream.get());
  REQUIRE(store->sync() == nullptr);
  CHECK(std::memcmp(found.data(), data.data(), 2000 * 16) == 0);
  CHECK(std::memcmp(found.data() + 2000 * 16, data.data(), 2000 * 16) == 0);
  store->use_stream(nullptr);
}

TEST_CASE("host memory in a graph is refused in a sentence and the graph still works") {
  const Device device;
  const DeviceStream stream(device);
  const auto store = small_store();
  store->use_stream(stream.get());
  REQUIRE(store->back(0));
  Bytes rows(16 * 64), image(store->image_bytes(), std::byte{0x5A});
  const Page page = 1;
  const DeviceBytes out(device, 16 * 64);
  {
    const CapturedGraph graph(device, stream, cuda::CaptureMode::global, [&] {
      store->write(0, {{&page, 1}, 0, 16}, {{rows.data(), rows.data()}});
      store->read(0, {{&page, 1}, 0, 16}, {{rows.data(), rows.data()}});
      store->save({&page, 1}, image.data());
      store->load(image.data(), {&page, 1});
      store->read(0, {{&page, 1}, 0, 4}, {{out.data(), out.data() + 256}, Rows::At::device});
    });
    graph.replay(stream);
  }
  const char* const failure = store->sync();
  REQUIRE(failure != nullptr);
  CHECK(std::string(failure) == "rows in host memory cannot be part of a CUDA graph; pass device memory");
  CHECK(store->sync() == nullptr);
  CHECK(image[0] == std::byte{0x5A});
  store->use_stream(nullptr);
}

TEST_CASE("the thread that prepares memory does not spoil what another captures") {
  for (std::uint32_t round = 0; round < 4; ++round) {
    const Device device;
    const DeviceStream stream(device);
    const DeviceBytes out(device, 96);
    const auto store = small_store(", ahead: 64");
    store->use_stream(stream.get());
    REQUIRE(store->back(round));  // the call wakes it
    const Page page = round * 64;
    const CapturedGraph graph(device, stream, cuda::CaptureMode::global, [&] {
      // It has much to do, and surely something of it meanwhile.
      const std::uint64_t before = fake() ? fake()->calls("cuMemCreate") : 0;
      for (int i = 0; fake() && i < 1'000'000 && fake()->calls("cuMemCreate") == before; ++i) std::this_thread::yield();
      for (int i = 0; i < 50; ++i)
        store->read(0, {{&page, 1}, 0, 1}, {{out.data(), out.data() + 64}, Rows::At::device});
    });
    graph.replay(stream);
    REQUIRE(store->sync() == nullptr);
    store->use_stream(nullptr);
  }
}

TEST_SUITE_END();

}  // namespace cuda_store_test
