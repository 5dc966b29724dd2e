/// A segment's memory in another process.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "importer.h"
#include "support.h"

namespace cuda_store_test {
namespace {

constexpr std::size_t kSample = 1024;

/// The data beside the descriptor on the socket.
struct Shared {
  std::uint64_t bytes, offset;  ///< size of the memory; place of the sample in it
  std::array<std::byte, kSample> sample;
};

bool send_with(int socket, const Shared& shared, int descriptor) {
  iovec data{const_cast<Shared*>(&shared), sizeof(shared)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  return sendmsg(socket, &message, 0) == static_cast<ssize_t>(sizeof(shared));
}
int receive_with(int socket, Shared& shared) {
  iovec data{&shared, sizeof(shared)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(socket, &message, MSG_WAITALL) != static_cast<ssize_t>(sizeof(shared))) return -1;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  int descriptor = -1;
  if (header && header->cmsg_type == SCM_RIGHTS) std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  return descriptor;
}

bool say(int socket) { return write(socket, "x", 1) == 1; }
bool receive(int socket) {
  char word = 0;
  return read(socket, &word, 1) == 1;
}

}  // namespace

int import_and_compare(int socket) {
  int step = 0;
  const auto fails = [&](bool fine) {
    ++step;
    return !fine;
  };
  const auto ok = [](Result result) { return result == Result::success; };
  std::string why;
  const auto driver = Driver::open(library(), why);
  cuda::ContextHandle context = nullptr;
  if (fails(driver && ok(driver->init(0)) && ok(driver->device_primary_ctx_retain(&context, 0)) &&
            ok(driver->ctx_push_current(context))))
    return step;
  Shared shared{};
  const int descriptor = receive_with(socket, shared);
  if (fails(descriptor >= 0)) return step;
  cuda::MemHandle handle = 0;
  DevicePtr at = 0;
  if (fails(ok(driver->mem_import_from_shareable_handle(&handle,
                                                        reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
                                                        cuda::MemHandleType::posix_file_descriptor))))
    return step;
  close(descriptor);
  const cuda::MemAccessDesc reads{{cuda::MemLocationType::device, 0}, cuda::MemAccess::read};
  if (fails(ok(driver->mem_address_reserve(&at, shared.bytes, 0, 0, 0)) &&
            ok(driver->mem_map(at, shared.bytes, 0, handle, 0)) &&
            ok(driver->mem_set_access(at, shared.bytes, &reads, 1))))
    return step;
  StreamHandle stream = nullptr;
  if (fails(ok(driver->stream_create_with_priority(&stream, cuda::kStreamNonBlocking, 0)))) return step;
  const auto same = [&] {
    std::array<std::byte, kSample> found{};
    return ok(driver->memcpy_dtoh_async(found.data(), at + shared.offset, kSample, stream)) &&
           ok(driver->stream_synchronize(stream)) && found == shared.sample;
  };
  if (fails(same() && say(socket))) return step;
  if (fails(receive(socket) && same() && say(socket))) return step;  // the owner has given it back
  if (fails(ok(driver->mem_unmap(at, shared.bytes)) && ok(driver->mem_release(handle)) &&
            ok(driver->mem_address_free(at, shared.bytes)) && ok(driver->stream_destroy(stream))))
    return step;
  return 0;
}

TEST_SUITE_BEGIN("share");

TEST_CASE("another process reads a segment and goes on reading it when its owner has given it back") {
  Random prng(7);
  int sockets[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  // A process of its own from its first instruction: a driver does not survive a fork.
  const std::string number = std::to_string(sockets[1]);
  const pid_t child = fork();
  if (child == 0) {
    close(sockets[0]);
    execl("/proc/self/exe", "test_cuda_store", kImporter, number.c_str(), nullptr);
    _exit(99);
  }
  close(sockets[1]);
  {
    const Device device;
    auto store = small_store();
    REQUIRE(store->back(0));
    REQUIRE(store->back(1));
    const Page page = 70;
    const Bytes k = random_bytes(prng, 16 * 64), v = random_bytes(prng, 16 * 32);
    store->write(1, {{&page, 1}, 0, 16},
                 {{const_cast<std::byte*>(k.data()), const_cast<std::byte*>(v.data())}, Rows::At::host});
    REQUIRE(store->sync() == nullptr);
    const SharedMemory memory = store->share(1, 0);
    if (memory.descriptor < 0) {
      MESSAGE("SKIPPED: this device shares no memory by file descriptors");
    } else {
      CHECK(memory.generation == 1);
      Shared shared{
          memory.bytes, memory.offset + store->view().offset(0, 1, page) - store->view().stream[0].segment_stride, {}};
      std::copy(k.begin(), k.end(), shared.sample.begin());
      REQUIRE(send_with(sockets[0], shared, memory.descriptor));
      close(memory.descriptor);
      REQUIRE(receive(sockets[0]));
      store->unback(1);
      REQUIRE(store->sync() == nullptr);
      if (fake()) CHECK(fake()->now().mappings == kSmallStreams);  // mappings of segment 0
      REQUIRE(say(sockets[0]));
      REQUIRE(receive(sockets[0]));
      REQUIRE(store->back(1));
      const SharedMemory again = store->share(1, 0);
      CHECK(again.generation == 2);
      close(again.descriptor);
    }
  }
  close(sockets[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_SUITE_END();

}  // namespace cuda_store_test
