/// The parts of a store's contract that another process sees, and those that only host memory can show.
#include <conformance/model/plugins.h>

#include <canopy/helpers/dlpack_view.h>
#include <canopy/helpers/kv_layout.h>
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstring>

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr const char* kShared = "{ layers: 2, streams: { k: 16, v: 24 }, share: true }";

std::shared_ptr<KVStore> store_of(const std::string& options, std::uint32_t segment_pages = 4) {
  return make<KVStore>("host", {16, segment_pages, kUnlimited}, options);
}

/// Bytes of the process that are in memory.
std::size_t resident(const std::byte* memory, std::size_t bytes) {
  std::vector<unsigned char> pages((bytes + 4095) / 4096);
  REQUIRE(mincore(const_cast<std::byte*>(memory), bytes, pages.data()) == 0);
  std::size_t count = 0;
  for (const unsigned char page : pages) count += page & 1;
  return count * 4096;
}

/// Exit status of a child process that runs `body`; a signal counts as 128 and its number.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int number : {SIGSEGV, SIGBUS}) signal(number, SIG_DFL);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("host store: another process maps a segment and reads what is written later") {
  const auto store = store_of(kShared);
  REQUIRE(store->back(0));
  REQUIRE(store->back(1));
  const SharedMemory shared = store->share(1, 1);
  REQUIRE(shared.descriptor >= 0);
  CHECK(shared.generation == 1);
  CHECK(mmap(nullptr, shared.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared.descriptor,
             static_cast<off_t>(shared.offset)) == MAP_FAILED);  // it may only read
  void* seen = mmap(nullptr, shared.bytes, PROT_READ, MAP_SHARED, shared.descriptor, static_cast<off_t>(shared.offset));
  REQUIRE(seen != MAP_FAILED);
  close(shared.descriptor);

  std::vector<std::byte> k(16 * 16), v(16 * 24);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<std::byte>(i * 7 + 1);
  const Page page = 6;
  store->write(1, {{&page, 1}, 0, 16}, {{k.data(), v.data()}});
  const KVView& view = store->view();
  const auto* row = static_cast<const std::byte*>(seen) + view.offset(1, 1, page) - view.stream[1].segment_stride;
  CHECK(std::memcmp(row, v.data(), v.size()) == 0);
  CHECK(in_child([&] { return std::memcmp(row, v.data(), v.size()) == 0 ? 7 : 1; }) == 7);

  store->unback(1);
  REQUIRE(store->back(1));
  const SharedMemory again = store->share(1, 1);
  CHECK(again.generation == 2);
  close(again.descriptor);
  munmap(seen, shared.bytes);
  CHECK(store_of("{ streams: { kv: 8 } }")->back(0));
}

TEST_CASE("host store: without share there is no descriptor") {
  const auto store = store_of("{ streams: { kv: 8 } }");
  REQUIRE(store->back(0));
  CHECK(store->share(0, 0).descriptor == -1);
}

TEST_CASE("host store: memory is there from the start with populate and gone after unback") {
  for (const char* options :
       {"{ streams: { kv: 4096 }, populate: true }", "{ streams: { kv: 4096 }, populate: true, huge_pages: true }",
        "{ streams: { kv: 4096 }, populate: true, share: true }"}) {
    CAPTURE(options);
    const auto store = store_of(options, 64);  // 4 MiB
    REQUIRE(store->back(2));
    const std::byte* memory = store->view().page(0, 0, 128);
    CHECK(resident(memory, 4 << 20) == 4 << 20);
    store->unback(2);
    CHECK(resident(memory, 4 << 20) == 0);
  }
  const auto lazy = store_of("{ streams: { kv: 4096 } }", 64);
  REQUIRE(lazy->back(0));
  CHECK(resident(lazy->view().page(0, 0, 0), 4 << 20) == 0);
}

TEST_CASE("host store: addresses of a segment without memory fault") {
  const auto store = store_of("{ streams: { kv: 8 } }", 512);  // 64 KiB
  REQUIRE(store->back(1));
  const KVView& view = store->view();
  const auto touch = [&](Page page) {
    return in_child([&] { return static_cast<int>(*const_cast<volatile std::byte*>(view.page(0, 0, page))) + 3; });
  };
  CHECK(touch(512) == 3);
  CHECK(touch(0) != 3);
  CHECK(touch(1024) != 3);
  store->unback(1);
  CHECK(touch(512) != 3);
}

TEST_CASE("host store: what was promised in addresses is as far as it grows") {
  const auto store = store_of("{ streams: { kv: 4096 }, addresses: 16777216 }", 64);  // segments of 4 MiB
  CHECK(store->view().segments == 4);
  CHECK(store->back(3));
  CHECK_FALSE(store->back(4));
  std::string message;
  try {
    store_of("{ streams: { kv: 4096 }, addresses: 1048576 }", 64);
  } catch (const std::exception& error) {
    message = error.what();
  }
  CHECK_MESSAGE(message.find("no addresses for a segment of 64 pages of 16 tokens in 1 layers") != std::string::npos,
                message);
}

TEST_CASE("host store: a limit of the process for files makes a shared store smaller, and does not end the process") {
  CHECK(in_child([] {
          const rlimit limit{1 << 30, 1 << 30};
          signal(SIGXFSZ, SIG_DFL);
          if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 77;
          const auto store = store_of(kShared);
          return store->view().segments > 0 && store->back(0) ? 0 : 1;
        }) == 0);
}

TEST_CASE("host store: it chooses segments by their bytes and not larger than the pool") {
  const auto chosen = [](std::uint64_t pages, const std::string& options) {
    return make<KVStore>("host", {16, 0, pages}, options)->view().segment_pages;
  };
  CHECK(chosen(kUnlimited, "{ layers: 32, streams: { k: 2048, v: 2048 } }") == 64);  // 128 MiB, Llama-3-8B
  CHECK(chosen(kUnlimited, "{ layers: 61, streams: { latent: 1152 } }") == 128);     // 137 MiB, DeepSeek-V3
  CHECK(chosen(kUnlimited, "{ layers: 9, streams: { k: 384, v: 256 } }") == 2048);   // 180 MiB
  CHECK(chosen(kUnlimited, "{ streams: { kv: 1 } }") == 65536);
  CHECK(chosen(100, "{ streams: { kv: 1 } }") == 100);
  CHECK(chosen(1 << 20, "{ layers: 4096, streams: { kv: 1048576 } }") == 1);
}

TEST_CASE("host store: a DLPack view reads rows in place and keeps its segment until it is deleted") {
  auto store = store_of("{ layers: 3, streams: { k: 16, v: 24 } }");
  REQUIRE(store->back(2));
  dlpack::ManagedTensor* view = dlpack::view_of(store, 2, 1, 1);
  const dlpack::Tensor& tensor = view->tensor;
  CHECK(view->version.major == 1);
  CHECK(view->flags == dlpack::kReadOnly);
  CHECK(tensor.device.type == dlpack::kCpu);
  REQUIRE(tensor.dimensions == 3);
  CHECK(std::vector<std::int64_t>(tensor.shape, tensor.shape + 3) == std::vector<std::int64_t>{4, 16, 24});
  CHECK(std::vector<std::int64_t>(tensor.strides, tensor.strides + 3) == std::vector<std::int64_t>{384, 24, 1});

  std::vector<std::byte> k(16), v(24);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<std::byte>(i * 5 + 2);
  const Page page = 10;
  store->write(1, {{&page, 1}, 7, 1}, {{k.data(), v.data()}});
  const auto* bytes = static_cast<const std::byte*>(tensor.data);
  CHECK(std::memcmp(bytes + 2 * tensor.strides[0] + 7 * tensor.strides[1], v.data(), v.size()) == 0);

  store->unback(2);
  CHECK(std::memcmp(bytes + 2 * tensor.strides[0] + 7 * tensor.strides[1], v.data(), v.size()) == 0);
  std::weak_ptr<KVStore> watched = store;
  store.reset();
  CHECK_FALSE(watched.expired());
  view->deleter(view);
  CHECK(watched.expired());
}

TEST_CASE("host store: what a forked child writes, or gives back, changes nothing of its parent's rows") {
  const auto store = store_of(kShared);
  REQUIRE(store->back(0));
  const Page page = 2;
  std::vector<std::byte> k(16 * 16, std::byte{1}), v(16 * 24, std::byte{2}), other(16 * 24, std::byte{3}),
      read(16 * 24);
  store->write(0, {{&page, 1}, 0, 16}, {{k.data(), v.data()}});
  CHECK(in_child([&] {
          store->read(0, {{&page, 1}, 0, 16}, {{k.data(), read.data()}});
          if (read != v) return 1;
          store->write(0, {{&page, 1}, 0, 16}, {{k.data(), other.data()}});
          store->read(0, {{&page, 1}, 0, 16}, {{k.data(), read.data()}});
          if (read != other || store->share(0, 0).descriptor >= 0) return 2;
          store->unback(0);
          return 7;
        }) == 7);
  store->read(0, {{&page, 1}, 0, 16}, {{k.data(), read.data()}});
  CHECK(read == v);
}
