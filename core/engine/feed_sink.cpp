#include <canopy/feed_sink.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <random>

namespace canopy {
namespace {

constexpr std::uint64_t kFileEvents = std::uint64_t{1} << 14;  // what is written to a file at a time: 512 KiB

std::size_t bytes_of(std::uint64_t events) { return FeedHeader::kBytes + events * sizeof(Event); }

Error cannot(const std::string& what, const char* why) { return Error{fmt::format("{}: {}", what, why)}; }

/// Header and events in one zeroed mapping, shared or private.
class Mapped {
 public:
  Mapped() = default;
  ~Mapped() {
    if (base_) ::munmap(base_, bytes_);
  }
  Mapped(const Mapped&) = delete;

  bool map(std::size_t bytes, int descriptor) {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED, descriptor, 0);
    if (at == MAP_FAILED) return false;
    base_ = static_cast<std::byte*>(at), bytes_ = bytes;
    return true;
  }
  std::byte* base() const { return base_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The shape, field by field: its atomics are what a feed starts with.
FeedHeader* begin_header(std::byte* at, const FeedHeader& shape, const FeedConfig& config, std::uint64_t capacity) {
  auto* header = new (at) FeedHeader();
  std::memcpy(header->magic, FeedHeader::kMagic, sizeof(header->magic));
  header->event_bytes = sizeof(Event);
  header->page_size = shape.page_size, header->overlap = shape.overlap, header->groups = shape.groups;
  std::copy(std::begin(shape.reaches), std::end(shape.reaches), header->reaches);
  header->capacity = capacity;
  header->pid = static_cast<std::uint64_t>(::getpid());
  header->tokens = config.tokens, header->controls = config.controls;
  config.name.copy(header->name, sizeof(header->name) - 1);
  return header;
}

FeedWriter::Word* words_behind(std::byte* base) {
  return reinterpret_cast<FeedWriter::Word*>(base + FeedHeader::kBytes);
}

void choose_key(FeedWriter& writer, const FeedConfig& config) {
  if (config.tokens) return;
  std::random_device random;
  writer.use_digest_key(std::uint64_t{random()} << 32 | random());
}

class HeapSink : public FeedSink {
 public:
  FeedWriter& writer() override { return *writer_; }
  Result<std::monostate> open(const FeedConfig& config, const FeedHeader& shape, std::uint64_t events, int descriptor) {
    if (!memory_.map(bytes_of(events), descriptor)) return cannot("the feed", std::strerror(errno));
    header_ = begin_header(memory_.base(), shape, config, events);
    writer_ = std::make_unique<FeedWriter>(*header_, words_behind(memory_.base()), events);
    choose_key(*writer_, config);
    return std::monostate{};
  }
  ~HeapSink() override {
    if (header_) header_->closed.store(1, std::memory_order_release);
  }

 protected:
  Mapped memory_;
  FeedHeader* header_ = nullptr;
  std::unique_ptr<FeedWriter> writer_;
};

class ShmSink final : public HeapSink {
 public:
  Result<std::monostate> create(const FeedConfig& config, const FeedHeader& shape, std::uint64_t events) {
    const std::string object = kFeedPrefix + config.name;
    if (const std::uint64_t pid = living_writer(object))
      return Error{
          fmt::format("the feed '{}' is already written by process {}; another name is needed", config.name, pid)};
    ::shm_unlink(object.c_str());
    // Made under another name and renamed by nobody: O_EXCL, so that two who start at once cannot share one.
    const int descriptor = ::shm_open(object.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0) return cannot(fmt::format("the feed '{}'", config.name), std::strerror(errno));
    object_ = object;
    const bool sized = ::ftruncate(descriptor, static_cast<off_t>(bytes_of(events))) == 0;
    auto opened = sized
                      ? open(config, shape, events, descriptor)
                      : Result<std::monostate>(cannot(fmt::format("the feed '{}'", config.name), std::strerror(errno)));
    ::close(descriptor);
    return opened;
  }
  ~ShmSink() override {
    // Who reads keeps the memory and sees `closed`; nobody new can come.
    if (!object_.empty()) ::shm_unlink(object_.c_str());
  }

 private:
  /// The process that writes a feed of this name, if there is one.
  static std::uint64_t living_writer(const std::string& object) {
    const int descriptor = ::shm_open(object.c_str(), O_RDONLY | O_CLOEXEC, 0);
    if (descriptor < 0) return 0;
    std::uint64_t pid = 0;
    struct stat facts{};
    if (::fstat(descriptor, &facts) == 0 && facts.st_size >= static_cast<off_t>(FeedHeader::kBytes)) {
      void* at = ::mmap(nullptr, FeedHeader::kBytes, PROT_READ, MAP_SHARED, descriptor, 0);
      if (at != MAP_FAILED) {
        const auto* header = static_cast<const FeedHeader*>(at);
        if (header->closed.load() == 0 && header->pid != 0 &&
            (::kill(static_cast<pid_t>(header->pid), 0) == 0 || errno == EPERM))
          pid = header->pid;
        ::munmap(at, FeedHeader::kBytes);
      }
    }
    ::close(descriptor);
    return pid;
  }

  std::string object_;
};

class FileSink final : public FeedSink {
 public:
  Result<std::monostate> create(const FeedConfig& config, const FeedHeader& shape) {
    name_ = config.name;
    descriptor_ = ::open(config.name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor_ < 0) return cannot(name_, std::strerror(errno));
    if (!memory_.map(bytes_of(kFileEvents), -1)) return cannot(name_, std::strerror(errno));
    header_ = begin_header(memory_.base(), shape, config, 0);
    writer_ = std::make_unique<FeedWriter>(*header_, words_behind(memory_.base()), kFileEvents);
    choose_key(*writer_, config);
    writer_->empty_with([](void* self) { static_cast<FileSink*>(self)->empty(kFileEvents); }, this);
    write(memory_.base(), FeedHeader::kBytes);
    if (!failure_.empty()) return Error{failure_};
    writer_->turn(true);
    return std::monostate{};
  }
  ~FileSink() override {
    if (descriptor_ < 0) return;
    if (writer_ && writer_->at() > taken_) empty(writer_->at() - taken_);
    ::close(descriptor_);
  }
  FeedWriter& writer() override { return *writer_; }
  std::string failure() const override { return failure_; }

 private:
  /// Takes the oldest `events` out of the buffer, which begins with them.
  void empty(std::uint64_t events) {
    write(memory_.base() + FeedHeader::kBytes, events * sizeof(Event));
    taken_ += events;
  }
  void write(const std::byte* from, std::size_t bytes) {
    while (bytes > 0 && failure_.empty()) {
      const ssize_t count = ::write(descriptor_, from, bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        failure_ = fmt::format("{}: the recording ends here: {}", name_, std::strerror(errno));
        if (writer_) writer_->turn(false);
        return;
      }
      from += count;
      bytes -= static_cast<std::size_t>(count);
    }
  }

  std::string name_, failure_;
  int descriptor_ = -1;
  Mapped memory_;
  FeedHeader* header_ = nullptr;
  std::unique_ptr<FeedWriter> writer_;
  std::uint64_t taken_ = 0;
};

}  // namespace

Result<std::unique_ptr<FeedSink>> FeedSink::open(const FeedConfig& config, const FeedHeader& shape) {
  const std::uint64_t events = std::bit_ceil(std::max<std::uint64_t>(config.events, 1024));
  const auto made = [](auto sink, Result<std::monostate> opened) -> Result<std::unique_ptr<FeedSink>> {
    if (!opened) return opened.error();
    return std::unique_ptr<FeedSink>(std::move(sink));
  };
  if (config.kind == FeedConfig::Kind::heap) {
    auto sink = std::make_unique<HeapSink>();
    auto opened = sink->open(config, shape, events, -1);
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
