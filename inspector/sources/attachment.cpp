#include "attachment.h"

#include <canopy/feed/presence.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "feed_flaw.h"

namespace canopy::inspector {
namespace {

/// A shared memory object with a copy of its header, or the reason why it cannot be used.
struct Mapped {
  SharedMapping memory;
  UniqueFd descriptor;
  FeedShape shape;  ///< copied once: another process may write the header at any time
  std::string why;
  bool refused = false;  ///< the system refused memory or files: nothing is known of this feed or of others
  bool sound = false;    ///< true if the header is that of a feed, whether its process is alive or not
};

constexpr const char* kAboutToWrite = "its process has not written its header yet";

/// Returns the reason why a header cannot be used, for memory with room for `most` events; empty if it can be used.
std::string flaw_of_ring(const FeedShape& shape, std::uint64_t most) {
  std::string flaw = flaw_of(shape);
  if (flaw.empty() && (!std::has_single_bit(shape.ring_events) || shape.ring_events > most))
    flaw = "its header makes no sense";
  return flaw;
}

Mapped map(const std::string& name) {
  Mapped mapped;
  mapped.descriptor.reset(::shm_open((kFeedPrefix + name).c_str(), O_RDWR | O_CLOEXEC, 0));
  if (!mapped.descriptor) {
    mapped.refused = errno == ENOMEM || errno == EMFILE || errno == ENFILE;
    mapped.why = errno == ENOENT ? "there is no feed with this name" : std::strerror(errno);
    return mapped;
  }
  struct stat facts{};
  if (::fstat(mapped.descriptor.get(), &facts) != 0 || facts.st_size < static_cast<off_t>(sizeof(FeedShape)))
    mapped.why = kAboutToWrite;
  else if (facts.st_uid != ::geteuid()) mapped.why = "it belongs to another user";
  else if (!mapped.memory.map(mapped.descriptor.get(), static_cast<std::size_t>(facts.st_size),
                              SharedMapping::Access::read))
    mapped.refused = true, mapped.why = std::string("its memory cannot be mapped: ") + std::strerror(errno);
  if (!mapped.memory) return mapped;
  // The mark is the last value that a writer sets.
  FeedShape& shape = mapped.shape;
  std::uint64_t mark = 0;
  std::memcpy(&mark, mapped.memory.base(), sizeof(mark));
  std::atomic_thread_fence(std::memory_order_acquire);
  std::memcpy(&shape, mapped.memory.base(), sizeof(shape));
  shape.name[sizeof(shape.name) - 1] = '\0';
  const std::uint64_t bytes = mapped.memory.bytes();
  mapped.why = mark == 0 ? kAboutToWrite
                         : flaw_of_ring(shape, bytes < feed_bytes(0) ? 0 : (bytes - feed_bytes(0)) / sizeof(Event));
  mapped.sound = mapped.why.empty();
  if (mapped.sound && !presence::taken(mapped.descriptor.get(), presence::Place::writer))
    mapped.why =
        "process " + std::to_string(shape.pid) + ", which wrote it, has gone; an engine may use the name again";
  return mapped;
}

std::string program_of(std::uint64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

std::vector<FoundFeed> Attachment::found() {
  const std::string prefix = std::string(kFeedPrefix).substr(1);
  std::vector<FoundFeed> feeds;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(prefix)) continue;
    const Mapped mapped = map(file.substr(prefix.size()));
    if (mapped.sound) {
      const FeedShape& header = mapped.shape;
      FoundFeed& feed = feeds.emplace_back();
      feed = {file.substr(prefix.size()), header.pid, {}, header.page_size, header.groups, header.controls != 0, {},
              header.tokens != 0};
      if (reinterpret_cast<const FeedHeader*>(mapped.memory.base())->closed.load() != 0)
        feed.ended = "the engine has ended";
      else if (!mapped.why.empty()) feed.ended = "its process has gone";
      else feed.program = program_of(header.pid);
    }
  }
  std::sort(feeds.begin(), feeds.end(), [](const FoundFeed& one, const FoundFeed& other) {
    return std::pair(!one.ended.empty(), one.name) < std::pair(!other.ended.empty(), other.name);
  });
  return feeds;
}

std::vector<std::string> Attachment::names() {
  std::vector<std::string> names;
  for (FoundFeed& feed : found())
    if (feed.ended.empty()) names.push_back(std::move(feed.name));
  return names;
}

Result<std::unique_ptr<Attachment>> Attachment::attach(const std::string& name) {
  Mapped mapped = map(name);
  if (mapped.refused) return Error{"the feed '" + name + "': " + mapped.why};
  if (!mapped.why.empty() || !presence::take(mapped.descriptor.get(), presence::Place::reader)) {
    std::string known;
    for (const std::string& one : names()) known += (known.empty() ? "; there is " : ", ") + ("'" + one + "'");
    return Error{"the feed '" + name + "': " + (mapped.why.empty() ? "it cannot be locked" : mapped.why) +
                 (known.empty() ? "; no process publishes one now (feed: { shm: { name: ... } })" : known)};
  }
  // Only the desk is writable: a reader cannot change the engine's events.
  if (!mapped.memory.let_write(kFeedPart, kFeedPart, true))
    return Error{"the feed '" + name + "': " + std::strerror(errno)};
  std::unique_ptr<Attachment> attachment(new Attachment);
  attachment->memory_ = std::move(mapped.memory);
  attachment->shape_ = mapped.shape;
  attachment->descriptor_ = std::move(mapped.descriptor);
  attachment->reader_ = std::make_unique<FeedReader>(attachment->shared(), mapped.shape.ring_events);
  return attachment;
}

Attachment::~Attachment() {
  descriptor_.reset();  // first, because the engine checks the lock when the reader is removed from the desk
}

std::string Attachment::gone() const {
  if (memory_.cut()) return "another process cut its shared memory short";
  if (shared().closed.load(std::memory_order_acquire)) return "the engine has ended";
  if (!presence::taken(descriptor_.get(), presence::Place::writer))
    return "process " + std::to_string(shape_.pid) + ", which wrote the feed, has gone";
  return {};
}

bool Attachment::send(const Command& command) {
  if (!shape_.controls) return false;
  if (!may_send_) may_send_ = memory_.let_write(2 * kFeedPart, kFeedPart, true);
  return may_send_ && post(shared(), command);
}

bool Attachment::post(FeedHeader& header, const Command& command) {
  if (!header.controls) return false;
  FeedCommands& commands = commands_behind(header);
  constexpr std::size_t kSlots = FeedCommands::kSlots;
  // A ticket is a place in the ring. The engine takes commands in order, so a place that is not yet free means that the
  // engine is behind.
  std::uint64_t ticket = commands.posted.load();
  for (;;) {
    const std::uint64_t last = commands.slots[ticket % kSlots].ready.load(std::memory_order_acquire);
    const std::uint64_t expected = ticket < kSlots ? 0 : ticket + 1 - kSlots;
    if (last != expected || ticket - header.taken.load(std::memory_order_acquire) >= kSlots) return false;
    if (commands.posted.compare_exchange_weak(ticket, ticket + 1)) break;
  }
  FeedCommands::Slot& slot = commands.slots[ticket % kSlots];
  slot.command = command;
  slot.ready.store(ticket + 1, std::memory_order_release);
  return true;
}

}  // namespace canopy::inspector
