#include <canopy/base/atomic_file.h>
#include <canopy/base/file.h>
#include <canopy/base/printable.h>
#include <canopy/feed/presence.h>
#include <canopy/feed/shared_mapping.h>
#include <canopy/feed/sink.h>
#include <canopy/helpers/at_fork.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <thread>

#include "sink_parts.h"

namespace canopy {
namespace {

/// A header and a ring after it, in memory of any kind.
class RingSink : public FeedSink {
 public:
  FeedWriter& writer() override { return *writer_; }

 protected:
  void begin(std::byte* at, const FeedConfig& config, const FeedShape& shape, std::uint64_t events) {
    header_ = begin_header(at, shape, config, events);
    writer_ = std::make_unique<FeedWriter>(*header_, words_behind(*header_), events);
    choose_key(*writer_, config);
    // Last, because a reader that attaches at this moment must not read half a header.
    header_->begin();
  }
  void end() {
    if (header_) header_->closed.store(1, std::memory_order_release);
  }

  FeedHeader* header_ = nullptr;
  std::unique_ptr<FeedWriter> writer_;
};

class HeapSink final : public RingSink {
 public:
  Result<std::monostate> create(const FeedConfig& config, const FeedShape& shape, std::uint64_t events) {
    if (!memory_.map(feed_bytes(events))) return cannot("the feed", std::strerror(errno));
    begin(memory_.base(), config, shape, events);
    return std::monostate{};
  }
  ~HeapSink() override { end(); }
  bool watched() override { return desk_behind(*header_).readers.load() > 0; }

 private:
  Zeroed memory_;
};

class ShmSink final : public RingSink {
 public:
  Result<std::monostate> create(const FeedConfig& config, const FeedShape& shape, std::uint64_t events) {
    feed_ = fmt::format("the feed '{}'", config.name);
    object_ = kFeedPrefix + config.name;
    if (auto taken = take_name(feed_); !taken) return taken.error();
    // The memory is allocated now: a page that is not available later would kill the engine at an event.
    if (const int why = allocate(descriptor_.get(), feed_bytes(events)); why != 0)
      return cannot(feed_, fmt::format("{} MiB of shared memory: {}; `events: {}` needs half of that",
                                       feed_bytes(events) >> 20, std::strerror(why), events / 2)
                               .c_str());
    if (!memory_.map(descriptor_.get(), feed_bytes(events), SharedMapping::Access::write))
      return cannot(feed_, std::strerror(errno));
    begin(memory_.base(), config, shape, events);
    return std::monostate{};
  }
  ~ShmSink() override {
    if (!descriptor_) return;
    // A reader keeps the memory and reads `closed`. No new reader can attach.
    end();
    if (is_ours()) ::shm_unlink(object_.c_str());
  }

  std::string failure() const override {
    if (!memory_.cut()) return {};
    return feed_ + ": another process cut its shared memory short; no reader has received events since";
  }
  /// Returns true if a reader holds its lock, which the kernel releases when the reader ends. A reader's own writes are
  /// no proof that it is alive.
  bool watched() override {
    return descriptor_ && !memory_.cut() && presence::taken(descriptor_.get(), presence::Place::reader);
  }

 private:
  /// Closes the copy of a forked child: two processes that wrote one feed would damage it.
  void leave() {
    if (writer_) writer_->turn(false);
    memory_.detach();  // the commands in it are the parent's
    descriptor_.reset();
  }
  /// Opens an empty object of the name as descriptor_ and takes the writer's lock on it.
  Result<std::monostate> take_name(const std::string& feed) {
    using namespace std::chrono_literals;
    std::uint64_t writer = 0;
    for (int tries = 0; tries < 100; ++tries) {
      descriptor_.reset(::shm_open(object_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      if (!descriptor_) return cannot(feed, std::strerror(errno));
      struct stat facts{};
      if (::fstat(descriptor_.get(), &facts) != 0) return cannot(feed, std::strerror(errno));
      if (facts.st_uid != ::geteuid()) return fail(feed + ": its shared memory belongs to another user");
      if (!presence::take(descriptor_.get(), presence::Place::writer)) {
        writer = writer_of(descriptor_.get());
        // The lock holder has not written its pid yet, or the pid is still that of the dead writer it replaces: retry.
        if (writer != 0 && writer <= kMostPid && ::kill(static_cast<pid_t>(writer), 0) == 0) break;
        std::this_thread::sleep_for(2ms);
      } else if (is_ours()) {
        if (facts.st_size == 0 && (facts.st_mode & 0777) == 0600) return std::monostate{};
        // The object of a dead writer: its readers keep it, and unlinking frees the name for a new object.
        ::shm_unlink(object_.c_str());
      }
      descriptor_.reset();
    }
    return fail(writer ? fmt::format("{} is already written by process {}; another name is needed", feed, writer)
                       : feed + " is already written by another process; another name is needed");
  }
  Error fail(std::string why) {
    descriptor_.reset();
    return Error{std::move(why)};
  }
  /// Returns true if the name still leads to the object of descriptor_.
  bool is_ours() const {
    const UniqueFd now(::shm_open(object_.c_str(), O_RDONLY | O_CLOEXEC, 0));
    if (!now) return false;
    struct stat opened{}, named{};
    return ::fstat(descriptor_.get(), &opened) == 0 && ::fstat(now.get(), &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
  }
  /// Returns the pid in the header of an object; 0: none yet.
  static std::uint64_t writer_of(int descriptor) {
    std::uint64_t pid = 0;
    return ::pread(descriptor, &pid, sizeof(pid), offsetof(FeedShape, pid)) == sizeof(pid) ? pid : 0;
  }

  static constexpr std::uint64_t kMostPid = 1U << 22;  // limit of Linux; ::kill takes other values as process groups

  std::string feed_, object_;
  UniqueFd descriptor_;
  SharedMapping memory_;
  AtFork own_{[](void* sink) noexcept { static_cast<ShmSink*>(sink)->leave(); }, this};
};

}  // namespace

std::string flaw_of_name(const FeedConfig& feed) {
  const auto can_stand = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
  const bool named = !feed.name.empty();
  if (feed.kind == FeedConfig::Kind::file) return named ? "" : " is missing; expected the file to record to";
  if (named && feed.name.size() <= 48 && std::ranges::all_of(feed.name, can_stand)) return {};
  return fmt::format(" is {}; expected a name for inspectors: at most 48 letters, digits, '-', '_' and '.'",
                     named ? in_quotes(feed.name) : "missing");
}

std::string FeedSink::part_of(const std::string& path) {
  const auto target = output_target(path);
  return (target ? *target : path) + ".part";
}

Result<std::unique_ptr<FeedSink>> FeedSink::open(const FeedConfig& config, const FeedShape& shape) {
  const std::uint64_t events = std::bit_ceil(std::max<std::uint64_t>(config.events, 1024));
  const auto made = [](auto sink, Result<std::monostate> opened) -> Result<std::unique_ptr<FeedSink>> {
    if (!opened) return opened.error();
    return std::unique_ptr<FeedSink>(std::move(sink));
  };
  if (config.kind == FeedConfig::Kind::heap) {
    auto sink = std::make_unique<HeapSink>();
    auto opened = sink->create(config, shape, events);
    return made(std::move(sink), std::move(opened));
  }
  if (config.kind == FeedConfig::Kind::shm) {
    auto sink = std::make_unique<ShmSink>();
    auto opened = sink->create(config, shape, events);
    return made(std::move(sink), std::move(opened));
  }
  return open_recording(config, shape);
}

}  // namespace canopy
