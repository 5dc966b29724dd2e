/// Hostile feeds in shared memory: a reader attaches and goes on, or says why not.
#include <canopy/feed/presence.h>
#include <fcntl.h>
#include <mirror/mirror.h>
#include <sources/attachment.h>

#include <vector>

#include "fuzz.h"

namespace {

using namespace canopy;

/// A shared memory object whose writer lives: this process.
struct Object {
  std::string name = "fuzz-" + std::to_string(::getpid());
  int descriptor = ::shm_open((kFeedPrefix + name).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  Object() { EXPECT(descriptor >= 0 && presence::take(descriptor, presence::Place::writer), name); }
  ~Object() { ::shm_unlink((kFeedPrefix + name).c_str()); }
  void hold(std::string_view bytes) {
    EXPECT(::ftruncate(descriptor, 0) == 0 &&
               ::pwrite(descriptor, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
           name);
  }
};

void check(std::string_view bytes) {
  static Object object;
  object.hold(bytes);
  const auto attachment = inspector::Attachment::attach(object.name);
  if (!attachment) return fuzz::expect_sentence(attachment.error().text);
  inspector::Mirror mirror((*attachment)->header());
  // A reader begins at the end of what is committed: more has come since.
  (*attachment)->reader().header().committed.fetch_add(100);
  (*attachment)->reader().header().claimed.fetch_add(100);
  std::vector<Event> events(64);
  for (int i = 0; i < 4; ++i) {
    std::size_t count = 0;
    (*attachment)->reader().read(events.data(), events.size(), count);
    EXPECT(count <= events.size(), object.name);
    mirror.take({events.data(), count});
  }
  static_cast<void>((*attachment)->gone());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(fuzz::text_of(data, size));
  return 0;
}
