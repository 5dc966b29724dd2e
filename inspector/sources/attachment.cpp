#include "attachment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

namespace canopy::inspector {
namespace {

bool lives(std::uint64_t pid) { return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM; }

/// The header and the events of a shared memory object, or why they cannot be used.
struct Mapped {
  FeedHeader* header = nullptr;
  std::size_t bytes = 0;
  std::string why;
};

Mapped map(const std::string& name) {
  Mapped mapped;
  const int descriptor = ::shm_open((kFeedPrefix + name).c_str(), O_RDWR | O_CLOEXEC, 0);
  if (descriptor < 0) {
    mapped.why = errno == ENOENT ? "there is no feed of this name" : std::strerror(errno);
    return mapped;
  }
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0 || facts.st_size < static_cast<off_t>(FeedHeader::kBytes)) {
    mapped.why = "its process is about to write it, or never did";
  } else if (facts.st_uid != ::geteuid()) {
    mapped.why = "it belongs to another user";
  } else {
    mapped.bytes = static_cast<std::size_t>(facts.st_size);
    void* at = ::mmap(nullptr, mapped.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (at == MAP_FAILED) mapped.why = std::strerror(errno);
    else mapped.header = static_cast<FeedHeader*>(at);
  }
  ::close(descriptor);
  if (!mapped.header) return mapped;
  const FeedHeader& header = *mapped.header;
  const std::uint64_t most = (mapped.bytes - FeedHeader::kBytes) / sizeof(Event);
  if (std::memcmp(header.magic, FeedHeader::kMagic, sizeof(header.magic)) != 0 || header.event_bytes != sizeof(Event))
    mapped.why = "it is no feed, or one of another version of Canopy";
  else if (header.capacity == 0 || (header.capacity & (header.capacity - 1)) != 0 || header.capacity > most ||
           header.groups == 0 || header.groups > kMaxGroups || header.page_size == 0)
    mapped.why = "its header makes no sense";
  else return mapped;
  ::munmap(mapped.header, mapped.bytes);
  mapped.header = nullptr;
  return mapped;
}

}  // namespace

std::vector<std::string> Attachment::names() {
  const std::string prefix = std::string(kFeedPrefix).substr(1);
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(prefix)) continue;
    const Mapped mapped = map(file.substr(prefix.size()));
    if (!mapped.header) continue;
    if (mapped.header->closed.load() == 0 && lives(mapped.header->pid)) names.push_back(file.substr(prefix.size()));
    ::munmap(mapped.header, mapped.bytes);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::unique_ptr<Attachment>> Attachment::attach(const std::string& name) {
  Mapped mapped = map(name);
  if (!mapped.header) {
    std::string known;
    for (const std::string& one : names()) known += (known.empty() ? "; there is " : ", ") + ("'" + one + "'");
    return Error{"the feed '" + name + "': " + mapped.why +
                 (known.empty() ? "; no process publishes one now (feed: { shm: { name: ... } })" : known)};
  }
  std::unique_ptr<Attachment> attachment(new Attachment);
  attachment->header_ = mapped.header;
  attachment->bytes_ = mapped.bytes;
  const auto* words =
      reinterpret_cast<const FeedWriter::Word*>(reinterpret_cast<const std::byte*>(mapped.header) + FeedHeader::kBytes);
  attachment->reader_ = std::make_unique<FeedReader>(*mapped.header, words, mapped.header->capacity);
  return attachment;
}

Attachment::~Attachment() {
  reader_.reset();
  if (header_) ::munmap(header_, bytes_);
}

std::string Attachment::gone() const {
  if (header_->closed.load(std::memory_order_acquire)) return "the engine has ended";
  if (!lives(header_->pid)) return "process " + std::to_string(header_->pid) + ", which wrote the feed, has gone";
  return {};
}

bool Attachment::post(FeedHeader& header, const Command& command) {
  if (!header.controls) return false;
  // A ticket is a place in the ring; the engine takes them in order, so one that is not free yet means it is behind.
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
