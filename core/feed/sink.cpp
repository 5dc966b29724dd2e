#include <canopy/base/atomic_file.h>
#include <canopy/base/file.h>
#include <canopy/base/printable.h>
#include <canopy/feed/presence.h>
#include <canopy/feed/shared_mapping.h>
#include <canopy/feed/sink.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
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
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <vector>

namespace canopy {
namespace {

constexpr std::uint64_t kFileEvents = std::uint64_t{1} << 14;  // events per write to a file: 512 KiB

Error cannot(const std::string& what, const char* why) { return Error{fmt::format("{}: {}", what, why)}; }

/// Zeroed memory of this process, which takes no space before it is written.
class Zeroed {
 public:
  Zeroed() = default;
  ~Zeroed() {
    if (base_) ::munmap(base_, bytes_);
  }
  Zeroed(const Zeroed&) = delete;

  bool map(std::size_t bytes) {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return false;
    base_ = static_cast<std::byte*>(at), bytes_ = bytes;
    return true;
  }
  std::byte* base() const { return base_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A part of a sink that only one process may write. A forked child has a copy of its parent's, which is closed there
/// at once: two processes that wrote one feed would damage it, and the parent's lock must end with the parent.
class OfOneProcess {
 public:
  OfOneProcess(const OfOneProcess&) = delete;

 protected:
  OfOneProcess() {
    static const int once = ::pthread_atfork([] { mutex().lock(); }, [] { mutex().unlock(); }, leave_all);
    static_cast<void>(once);  // without memory for the handlers, feeds work as before, except in a forked child
    const std::scoped_lock lock(mutex());
    all().push_back(this);
  }
  ~OfOneProcess() {
    const std::scoped_lock lock(mutex());
    std::erase(all(), this);
  }
  /// Closes the copy, in a forked child.
  virtual void leave() {}

 private:
  // Never destroyed: an engine may be destroyed after the statics of this file.
  static std::mutex& mutex() {
    static auto* const made = new std::mutex;
    return *made;
  }
  static std::vector<OfOneProcess*>& all() {
    static auto* const made = new std::vector<OfOneProcess*>;
    return *made;
  }
  static void leave_all() {
    for (OfOneProcess* one : all()) one->leave();
    mutex().unlock();
  }
};

/// Creates a header with the fields of `shape`; its atomics are 0.
FeedHeader* begin_header(std::byte* at, const FeedShape& shape, const FeedConfig& config, std::uint64_t ring_events) {
  auto* header = new (at) FeedHeader();
  header->event_bytes = sizeof(Event);
  header->page_size = shape.page_size, header->overlap = shape.overlap, header->groups = shape.groups;
  std::copy(std::begin(shape.reaches), std::end(shape.reaches), header->reaches);
  header->ring_events = ring_events;
  header->pid = static_cast<std::uint64_t>(::getpid());
  header->tokens = config.tokens, header->controls = config.controls;
  config.name.copy(header->name, sizeof(header->name) - 1);
  return header;
}

void choose_key(FeedWriter& writer, const FeedConfig& config) {
  if (config.tokens) return;
  std::random_device random;
  writer.use_digest_key(std::uint64_t{random()} << 32 | random());
}

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

class ShmSink final : public RingSink, OfOneProcess {
 public:
  Result<std::monostate> create(const FeedConfig& config, const FeedShape& shape, std::uint64_t events) {
    feed_ = fmt::format("the feed '{}'", config.name);
    object_ = kFeedPrefix + config.name;
    if (auto taken = take_name(feed_); !taken) return taken.error();
    // The memory is allocated now: a page that is not available later would kill the engine at an event.
    if (const int why = ::posix_fallocate(descriptor_.get(), 0, static_cast<off_t>(feed_bytes(events))); why != 0)
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
  void leave() override {
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
};

class FileSink final : public FeedSink, OfOneProcess {
 public:
  Result<std::monostate> create(const FeedConfig& config, const FeedShape& shape) {
    const auto target = output_target(config.name);
    if (!target) return target.error();
    name_ = *target, part_ = part_of(name_);
    if (auto may = may_replace(name_); !may) return may.error();
    if (auto opened = open_part(); !opened) return opened.error();
    if (!memory_.map(FeedHeader::kBytes + kFileEvents * sizeof(Event))) return cannot(name_, std::strerror(errno));
    header_ = begin_header(memory_.base(), shape, config, 0);
    header_->begin();
    auto* const events = reinterpret_cast<FeedWord*>(memory_.base() + FeedHeader::kBytes);
    writer_ = std::make_unique<FeedWriter>(*header_, events, kFileEvents);
    choose_key(*writer_, config);
    writer_->empty_with([](void* self) { static_cast<FileSink*>(self)->write_out(); }, this);
    write(memory_.base(), FeedHeader::kBytes);
    if (!failure_.empty()) return Error{failure_};
    writer_->turn(true);
    return std::monostate{};
  }
  ~FileSink() override { finish(); }

  FeedWriter& writer() override { return *writer_; }
  std::string failure() const override { return failure_; }

  void finish() override {
    if (!descriptor_) return;
    // Without an operation there is no engine: its creation failed.
    if (!writer_ || header_->committed.load() == 0) return discard();
    write_out();
    writer_->turn(false);
    if (failure_.empty()) {
      // Another file may have been put there during the run.
      const auto may = may_replace(name_);
      if (!may) failure_ = may.error().text + "; the recording is in " + part_;
      else if (std::rename(part_.c_str(), name_.c_str()) != 0)
        failure_ = fmt::format("{}: {}; the recording is in {}", name_, std::strerror(errno), part_);
    }
    descriptor_.reset();
  }
  void discard() override {
    if (!descriptor_) return;
    if (writer_) writer_->turn(false);
    if (leads_to_ours(part_)) ::unlink(part_.c_str());
    descriptor_.reset();
  }
  void keep_pace(std::uint64_t now_us) override {
    constexpr std::uint64_t kPaceUs = 200'000;
    if (now_us < write_at_us_) return;
    write_at_us_ = now_us + kPaceUs;
    write_out();
  }

 private:
  void leave() override {
    if (writer_) writer_->turn(false);
    descriptor_.reset();
  }
  /// Returns an error if a recording must not take this name: only an empty file or a recording is replaced.
  static Result<std::monostate> may_replace(const std::string& path) {
    const OpenedFile there = open_regular(path, O_NOFOLLOW);
    if (there.error == ENOENT) return std::monostate{};
    if (there.error != 0) return cannot(path, std::strerror(there.error));
    if (!there.descriptor)
      return cannot(path, fmt::format("this is {}; expected a regular file", kind_of(there.facts.st_mode)).c_str());
    constexpr std::size_t kSame = sizeof(FeedHeader::kMagic) - 1;  // without the version of the format
    char magic[kSame];
    if (there.facts.st_size == 0 || (::pread(there.descriptor.get(), magic, kSame, 0) == ssize_t{kSame} &&
                                     std::memcmp(magic, FeedHeader::kMagic, kSame) == 0))
      return std::monostate{};
    return cannot(path, "this is not a recording, so it is not replaced; remove it, or name another file");
  }
  /// Creates PATH.part and takes the writer's lock on it.
  Result<std::monostate> open_part() {
    for (int tries = 0; tries < 100; ++tries) {
      descriptor_.reset(::open(part_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      if (descriptor_) {
        // Another recorder may have found it before it was locked.
        if (take_part() && leads_to_ours(part_)) return std::monostate{};
        continue;
      }
      if (errno != EEXIST) return cannot(name_, std::strerror(errno));
      if (auto may = may_replace(part_); !may) return may.error();
      descriptor_.reset(::open(part_.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      if (!descriptor_ && errno == ENOENT) continue;
      if (!descriptor_) return cannot(part_, std::strerror(errno));
      const bool is_left_over = take_part();
      // Unlinked, not truncated: a reader with a mapping of it would get SIGBUS.
      if (is_left_over && leads_to_ours(part_)) ::unlink(part_.c_str());
      descriptor_.reset();
      if (!is_left_over) return cannot(name_, "another process records to it now; another name is needed");
    }
    return cannot(part_, "other processes create and remove it all the time");
  }
  /// Takes the writer's lock on PATH.part. Returns false if another process has it, but true in a file system without
  /// locks.
  bool take_part() const {
    return presence::take(descriptor_.get(), presence::Place::writer) || (errno != EAGAIN && errno != EACCES);
  }
  /// Returns true if a path leads to the file of descriptor_.
  bool leads_to_ours(const std::string& path) const {
    struct stat opened{}, named{};
    return ::fstat(descriptor_.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
  }
  /// Writes the events that were pushed since the last call. They do not wrap: the writer calls it at the end of the
  /// buffer.
  void write_out() {
    const std::uint64_t first = taken_ % kFileEvents, count = writer_->at() - taken_;
    taken_ = writer_->at();
    write(memory_.base() + FeedHeader::kBytes + first * sizeof(Event), count * sizeof(Event));
  }
  void write(const std::byte* from, std::size_t bytes) {
    while (bytes > 0 && failure_.empty() && descriptor_) {
      const ssize_t count = ::write(descriptor_.get(), from, bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        failure_ = fmt::format("{}: the recording ends here: {}", part_, std::strerror(errno));
        if (writer_) writer_->turn(false);
        return;
      }
      from += count;
      bytes -= static_cast<std::size_t>(count);
    }
  }

  std::string name_, part_, failure_;
  UniqueFd descriptor_;
  Zeroed memory_;
  FeedHeader* header_ = nullptr;
  std::unique_ptr<FeedWriter> writer_;
  std::uint64_t taken_ = 0, write_at_us_ = 0;
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
  auto sink = std::make_unique<FileSink>();
  auto opened = sink->create(config, shape);
  return made(std::move(sink), std::move(opened));
}

}  // namespace canopy
