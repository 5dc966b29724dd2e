/// Memory that is refused to the storage's thread: calls fail, and the process goes on.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include <support/sanitizers.h>
#include "storage.h"

namespace {

std::atomic<bool> g_others_refused{false};  ///< all allocations of threads other than the test's
thread_local bool g_is_the_tests = false;

void* allocate(std::size_t bytes) {
  return g_others_refused && !g_is_the_tests ? nullptr : std::malloc(bytes ? bytes : 1);
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* const memory = allocate(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace canopy;
using namespace canopy::test;

TEST_CASE("redis: a storage whose thread gets no memory ends all calls as failed, from then on") {
  if (kThreadSanitizer) {
    MESSAGE("SKIPPED: with the thread sanitizer its own operators of memory are used");
    return;
  }
  g_is_the_tests = true;
  const CapturedStderr captured;
  const auto caller = caller_at("/nowhere");
  const std::vector<Fate> failed(2, Fate::failed);
  CHECK(caller->storage().use().lacked == 0);
  g_others_refused = true;
  const std::uint64_t put = caller->put(kSpace, blocks_of(1, 2)), get = caller->get(kSpace, blocks_of(2, 2));
  CHECK(caller->wait(put).fates == failed);
  CHECK(caller->wait(get).fates == failed);
  g_others_refused = false;
  CHECK(caller->get_now(kSpace, blocks_of(1, 2)) == failed);
  CHECK(caller->wait(caller->find(kSpace, blocks_of(1, 2))).fate == Fate::failed);
  caller->storage().remove(kSpace, blocks_of(1, 2));
  CHECK_FALSE(caller->storage().flush(kSpace));
  CHECK(caller->storage().use().lacked == 1);
  CHECK(captured.text() == "canopy: redis: there is no memory; the storage is not used any longer\n");
}
