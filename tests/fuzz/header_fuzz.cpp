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
class Object {
 public:
  Object() { EXPECT(descriptor_ >= 0 && presence::take(descriptor_, presence::Place::writer), name); }
  ~Object() { ::shm_unlink((kFeedPrefix + name).c_str()); }
  /// The header in front, and the rest of the bytes where events lie.
  void hold(std::string_view bytes) {
    const std::string_view header = bytes.substr(0, FeedHeader::kBytes), events = bytes.substr(header.size());
    const std::size_t size = events.empty() ? header.size() : feed_bytes(0) + events.size();
    cut();
    EXPECT(::ftruncate(descriptor_, static_cast<off_t>(size)) == 0, name);
    EXPECT(::pwrite(descriptor_, header.data(), header.size(), 0) == static_cast<ssize_t>(header.size()), name);
    EXPECT(::pwrite(descriptor_, events.data(), events.size(), static_cast<off_t>(feed_bytes(0))) ==
               static_cast<ssize_t>(events.size()),
           name);
  }
  /// More has been committed.
  void go_on() {
    void* at = ::mmap(nullptr, FeedHeader::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    EXPECT(at != MAP_FAILED, name);
    FeedHeader& header = *static_cast<FeedHeader*>(at);
    header.committed.fetch_add(100);
    header.claimed.fetch_add(100);
    ::munmap(at, FeedHeader::kBytes);
  }
  void cut() { EXPECT(::ftruncate(descriptor_, 0) == 0, name); }

  const std::string name = "fuzz-" + std::to_string(::getpid());

 private:
  int descriptor_ = ::shm_open((kFeedPrefix + name).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
};

void check(std::string_view bytes) {
  static Object object;
  object.hold(bytes);
  const auto attachment = inspector::Attachment::attach(object.name);
  if (!attachment) return fuzz::expect_sentence(attachment.error().text);
  inspector::Mirror mirror((*attachment)->header());
  object.go_on();  // a reader begins at the end of what was committed
  std::vector<Event> events(64);
  for (int i = 0; i < 4; ++i) {
    // Another process of this user may cut it short at any moment.
    if (i == 2 && bytes.size() % 4 == 0) object.cut();
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
