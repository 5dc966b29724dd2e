#include "feed_exit.h"

#include <Python.h>
#include <canopy/base/file.h>
#include <canopy/feed/header.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <set>
#include <string>

namespace canopy::python {
namespace {

// Never destroyed: threads may still run when the statics are.
std::set<std::string>& objects() {
  static auto* const all = new std::set<std::string>;
  return *all;
}

/// Removes the objects of which this process is the writer.
void remove_all() {
  for (const std::string& object : objects()) {
    const UniqueFd opened(::shm_open(object.c_str(), O_RDONLY | O_CLOEXEC, 0));
    std::uint64_t writer = 0;
    if (opened && ::pread(opened.get(), &writer, sizeof writer, offsetof(FeedShape, pid)) == sizeof writer &&
        writer == static_cast<std::uint64_t>(::getpid()))
      ::shm_unlink(object.c_str());
  }
}

}  // namespace

void remove_at_exit(const FeedConfig& feed) {
  if (feed.kind != FeedConfig::Kind::shm) return;
  static const bool once = Py_AtExit(remove_all) == 0;
  if (once) objects().insert(kFeedPrefix + feed.name);
}

}  // namespace canopy::python
