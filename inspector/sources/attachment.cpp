#include "attachment.h"

#include <canopy/feed/presence.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace canopy::inspector {
namespace {

struct Unmap {
  std::size_t bytes = 0;
  void operator()(FeedHeader* header) const { ::munmap(header, bytes); }
};

/// The header and the events of a shared memory object, or why they cannot be used.
struct Mapped {
  std::unique_ptr<FeedHeader, Unmap> header;
  UniqueFd descriptor;
  std::string why;
  bool sound = false;  ///< the header is one of a feed, whether its process lives or not
};

constexpr const char* kAboutToWrite = "its process is about to write it, or never did";

Mapped map(const std::string& name) {
  Mapped mapped;
  mapped.descriptor.reset(::shm_open((kFeedPrefix + name).c_str(), O_RDWR | O_CLOEXEC, 0));
  if (!mapped.descriptor) {
    mapped.why = errno == ENOENT ? "there is no feed of this name" : std::strerror(errno);
    return mapped;
  }
  struct stat facts{};
  if (::fstat(mapped.descriptor.get(), &facts) != 0 || facts.st_size < static_cast<off_t>(FeedHeader::kBytes)) {
    mapped.why = kAboutToWrite;
  } else if (facts.st_uid != ::geteuid()) {
    mapped.why = "it belongs to another user";
  } else {
    const auto bytes = static_cast<std::size_t>(facts.st_size);
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mapped.descriptor.get(), 0);
    if (at == MAP_FAILED) mapped.why = std::strerror(errno);
    else mapped.header = {static_cast<FeedHeader*>(at), Unmap{bytes}};
  }
  if (!mapped.header) return mapped;
  const FeedHeader& header = *mapped.header;
  const std::uint64_t most = (mapped.header.get_deleter().bytes - FeedHeader::kBytes) / sizeof(Event);
  if (!mapped.header->begun()) mapped.why = kAboutToWrite;
  else if (std::memcmp(header.magic, FeedHeader::kMagic, sizeof(header.magic)) != 0 ||
           header.event_bytes != sizeof(Event))
    mapped.why = "it is no feed, or one of another version of Canopy";
  else if (header.ring_events == 0 || (header.ring_events & (header.ring_events - 1)) != 0 ||
           header.ring_events > most || header.groups == 0 || header.groups > kMaxGroups || header.page_size == 0)
    mapped.why = "its header makes no sense";
  else mapped.sound = true;
  if (mapped.sound && !presence::taken(mapped.descriptor.get(), presence::Place::writer))
    mapped.why =
        "process " + std::to_string(header.pid) + ", which wrote it, has gone; an engine may take the name anew";
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
      const FeedHeader& header = *mapped.header;
      FoundFeed& feed = feeds.emplace_back();
      feed = {file.substr(prefix.size()), header.pid, {}, header.page_size, header.groups, header.controls != 0, {}};
      if (header.closed.load() != 0) feed.ended = "the engine has ended";
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
  if (!mapped.why.empty() || !presence::take(mapped.descriptor.get(), presence::Place::reader)) {
    std::string known;
    for (const std::string& one : names()) known += (known.empty() ? "; there is " : ", ") + ("'" + one + "'");
    return Error{"the feed '" + name + "': " + (mapped.why.empty() ? "it cannot be locked" : mapped.why) +
                 (known.empty() ? "; no process publishes one now (feed: { shm: { name: ... } })" : known)};
  }
  std::unique_ptr<Attachment> attachment(new Attachment);
  attachment->bytes_ = mapped.header.get_deleter().bytes;
  attachment->header_ = mapped.header.release();
  attachment->descriptor_ = std::move(mapped.descriptor);
  attachment->reader_ = std::make_unique<FeedReader>(*attachment->header_);
  return attachment;
}

Attachment::~Attachment() {
  reader_.reset();
  if (header_) ::munmap(header_, bytes_);
}

std::string Attachment::gone() const {
  if (header_->closed.load(std::memory_order_acquire)) return "the engine has ended";
  if (!presence::taken(descriptor_.get(), presence::Place::writer))
    return "process " + std::to_string(header_->pid) + ", which wrote the feed, has gone";
  return {};
}

bool Attachment::post(FeedHeader& header, const Command& command) {
  if (!header.controls) return false;
  // A ticket is a place in the ring. The engine takes commands in order, so a place that is not free yet means that the
  // engine is behind.
  std::uint64_t ticket = header.posted.load();
  for (;;) {
    const std::uint64_t last = header.commands[ticket % FeedHeader::kCommands].ready.load(std::memory_order_acquire);
    const std::uint64_t expected = ticket < FeedHeader::kCommands ? 0 : ticket + 1 - FeedHeader::kCommands;
    if (last != expected || ticket - header.taken.load(std::memory_order_acquire) >= FeedHeader::kCommands)
      return false;
    if (header.posted.compare_exchange_weak(ticket, ticket + 1)) break;
  }
  FeedHeader::Slot& slot = header.commands[ticket % FeedHeader::kCommands];
  slot.command = command;
  slot.ready.store(ticket + 1, std::memory_order_release);
  return true;
}

}  // namespace canopy::inspector
