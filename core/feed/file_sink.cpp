/// A feed in a file: a recording.
#include <canopy/base/atomic_file.h>
#include <canopy/base/file.h>
#include <canopy/feed/presence.h>
#include <canopy/helpers/at_fork.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "sink_parts.h"

namespace canopy {
namespace {

constexpr std::uint64_t kFileEvents = std::uint64_t{1} << 14;  // events per write to a file: 512 KiB

class FileSink final : public FeedSink {
 public:
  Result<std::monostate> create(const FeedConfig& config, const FeedShape& shape) {
    const auto target = output_target(config.name);
    if (!target) return target.error();
    name_ = *target, part_ = part_of(name_);
    if (auto may = may_replace(name_); !may) return may.error();
    if (auto opened = open_part(); !opened) return opened.error();
    if (!memory_.map(FeedHeader::kBytes + kFileEvents * sizeof(Event))) return cannot(name_, std::strerror(errno));
    header_ = begin_header(memory_.base(), shape, config, 0);
    header_->closed.store(RecordingEnd::kOpen);
    header_->begin();
    auto* const events = reinterpret_cast<FeedWord*>(memory_.base() + FeedHeader::kBytes);
    writer_ = std::make_unique<FeedWriter>(*header_, events, kFileEvents);
    choose_key(*writer_, config);
    sum_.emplace(writer_->shape());
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
    mark_end();
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
  /// Closes the copy of a forked child.
  void leave() {
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
    const std::byte* const from = memory_.base() + FeedHeader::kBytes + first * sizeof(Event);
    sum_->add(reinterpret_cast<const Event*>(from), count);
    write(from, count * sizeof(Event));
  }
  /// Writes into the header that the recording is whole. A reader of one that a killed process left behind finds no
  /// such mark, and one of a file that was cut finds fewer events.
  void mark_end() {
    if (!failure_.empty()) return;
    header_->committed.store(taken_);  // with what came after the last operation: a reader counts all events
    header_->sum.store(sum_->value());
    header_->closed.store(RecordingEnd::kClosed);
    if (::pwrite(descriptor_.get(), memory_.base(), FeedHeader::kBytes, 0) != ssize_t{FeedHeader::kBytes})
      failure_ = fmt::format("{}: its end cannot be marked: {}", part_, std::strerror(errno));
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
  std::optional<RecordingSum> sum_;  ///< sum of the header and the written events
  std::uint64_t taken_ = 0, write_at_us_ = 0;
  AtFork own_{[](void* sink) noexcept { static_cast<FileSink*>(sink)->leave(); }, this};
};

}  // namespace

Result<std::unique_ptr<FeedSink>> open_recording(const FeedConfig& config, const FeedShape& shape) {
  auto sink = std::make_unique<FileSink>();
  auto opened = sink->create(config, shape);
  if (!opened) return opened.error();
  return std::unique_ptr<FeedSink>(std::move(sink));
}

}  // namespace canopy
