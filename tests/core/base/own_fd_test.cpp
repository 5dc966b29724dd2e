#include <canopy/base/own_fd.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/eventfd.h>

#include <support/forked_child.h>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

using namespace canopy;

namespace {

UniqueFd event() { return UniqueFd(::eventfd(0, EFD_CLOEXEC)); }

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

}  // namespace

TEST_CASE("a descriptor of one process is closed in a forked child, and stays open in the parent") {
  const OwnFd own(event);
  CHECK(test::true_in_child([&, descriptor = own.get()] { return !own && !is_open(descriptor); }));
  CHECK(is_open(own.get()));
}

TEST_CASE("a descriptor that another thread is opening at the fork is in no child") {
  std::atomic<int> opened = -1;
  std::thread other([&] {
    const OwnFd own([&] {
      UniqueFd made = event();
      opened = made.get();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // time for the fork to come between
      return made;
    });
    opened.wait(own.get());
  });
  while (opened < 0) std::this_thread::yield();
  const int descriptor = opened;
  CHECK(test::true_in_child([&] { return !is_open(descriptor); }));
  opened = -1;
  opened.notify_all();
  other.join();
}

TEST_CASE("what could not be opened owns nothing, and says why") {
  const OwnFd none([] { return UniqueFd(::open("/no/such/file", O_RDONLY | O_CLOEXEC)); });
  CHECK(errno == ENOENT);
  CHECK_FALSE(none);
  CHECK(none.get() == -1);
}
