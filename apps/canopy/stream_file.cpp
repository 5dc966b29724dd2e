#include "stream_file.h"

#include <canopy/support/figures.h>
#include <canopy/support/file.h>
#include <canopy/wire/codec.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "commands.h"

namespace canopy::app {
Result<std::string> stream_content(const std::string& path) {
  const OpenedFile file = open_regular(path);
  if (!file.descriptor)
    return Error{
        fmt::format("{}: {}", path, file.error != 0 ? std::strerror(file.error) : kind_of(file.facts.st_mode))};
  std::string content;
  std::array<char, 1 << 16> part;
  for (;;) {
    const ssize_t got = ::read(file.descriptor.get(), part.data(), part.size());
    if (got < 0) return Error{fmt::format("{}: {}", path, std::strerror(errno))};
    if (got == 0) return content;
    content.append(part.data(), static_cast<std::size_t>(got));
  }
}

int StreamFile::read(
    const std::string& path,
    const std::function<void(const wire::Message&, const Publisher&, wire::Order, const wire::EventBatch&)>& visit) {
  const Result<std::string> content = stream_content(path);
  if (!content) return unusable(content.error().text);
  wire::RecordedStream stream(*content);
  wire::Message message;
  wire::EventBatch batch;
  auto next = stream.next(message);
  for (; next && *next; next = stream.next(message)) {
    if (message.is_end) continue;
    ++messages, bytes += message.payload.size();
    if (const auto read = wire::read_batch(message.payload, batch); !read) {
      ++unreadable;
      unusable(fmt::format("{}: message {} with sequence {}: {}", path, messages, message.sequence, read.error().text));
      continue;
    }
    const bool clears = std::ranges::any_of(
        batch.events, [](const wire::Event& event) { return event.kind == wire::EventKind::cleared; });
    const auto [at, is_new] = watches_.try_emplace({std::string(message.topic), batch.rank});
    visit(message, at->first, at->second.see(message.sequence, batch.time, clears), batch);
  }
  if (!next) return unusable(fmt::format("{}: {}", path, next.error().text));
  return unreadable > 0 ? kUnusable : kFine;
}

std::string StreamFile::gaps_in_words() const {
  wire::SequenceWatch all;
  for (const auto& [publisher, watch] : watches_) {
    all.gaps += watch.gaps, all.missing += watch.missing, all.repaired += watch.repaired;
    all.repeated += watch.repeated, all.restarts += watch.restarts;
  }
  return fmt::format("{} ({} missing, {} repaired), {} repeated, {}", plural(all.gaps, "gap"), grouped(all.missing),
                     grouped(all.repaired), grouped(all.repeated), plural(all.restarts, "restart"));
}

}  // namespace canopy::app
