#include "stream_file.h"

#include <canopy/base/figures.h>
#include <canopy/base/file.h>
#include <canopy/kv_events/codec.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "commands.h"

namespace canopy::app {

Result<std::string> stream_content(const std::string& path) {
  const OpenedFile file = open_regular(path);
  if (!file.descriptor)
    return Error{
        fmt::format("{}: {}", path, file.error != 0 ? std::strerror(file.error) : kind_of(file.facts.st_mode))};
  std::string content;
  std::vector<char> part(std::size_t{1} << 16);
  for (;;) {
    const ssize_t got = ::read(file.descriptor.get(), part.data(), part.size());
    if (got < 0) return Error{fmt::format("{}: {}", path, std::strerror(errno))};
    if (got == 0) return content;
    content.append(part.data(), static_cast<std::size_t>(got));
  }
}

int StreamFile::read(const std::string& path,
                     const std::function<void(const kv_events::Message&, const Publisher&, kv_events::Order,
                                              const kv_events::EventBatch&)>& visit) {
  const Result<std::string> content = stream_content(path);
  if (!content) return unusable(content.error().text);
  kv_events::RecordedStream stream(*content);
  kv_events::Message message;
  kv_events::EventBatch batch;
  auto next = stream.next(message);
  for (; next && *next; next = stream.next(message)) {
    if (message.is_end) continue;
    ++messages, bytes += message.payload.size();
    if (const auto read = kv_events::read_batch(message.payload, batch); !read) {
      ++unreadable;
      unusable(fmt::format("{}: message {} with sequence {}: {}", path, messages, message.sequence, read.error().text));
      continue;
    }
    const auto [at, is_new] = orders_.try_emplace({std::string(message.topic), batch.rank});
    const auto taken = at->second.take({message.sequence, batch.time, batch.clears(), false}, {}, false);
    while (at->second.next_held()) {
    }
    visit(message, at->first, taken.order, batch);
  }
  if (!next) return unusable(fmt::format("{}: {}", path, next.error().text));
  if (messages == 0) return unusable(path + ": there is no message in it; expected a recorded stream of KV events");
  return unreadable > 0 ? kUnusable : kFine;
}

kv_events::InOrder::Counts StreamFile::counts() const {
  kv_events::InOrder::Counts all;
  for (const auto& [publisher, order] : orders_) {
    const kv_events::InOrder::Counts& counts = order.counts();
    all.gaps += counts.gaps, all.missing += counts.missing, all.repaired += counts.repaired;
    all.repeated += counts.repeated, all.restarts += counts.restarts;
    if (order.is_incomplete()) all.before += counts.before;
  }
  return all;
}

Doubts StreamFile::doubts() const {
  Doubts doubts = kv_events::doubts_of(counts());
  if (unreadable > 0)
    doubts.push_back(
        {Doubt::Kind::damaged, unreadable,
         fmt::format("{} could not be read, and what they say is not counted", plural(unreadable, "message"))});
  return doubts;
}

std::string StreamFile::gaps_in_words() const {
  const kv_events::InOrder::Counts all = counts();
  return fmt::format("{} ({} missing, {} repaired), {} repeated, {}", plural(all.gaps, "gap"), grouped(all.missing),
                     grouped(all.repaired), grouped(all.repeated), plural(all.restarts, "restart"));
}

}  // namespace canopy::app
