#include "recorded.h"

#include <canopy/wire/codec.h>
#include <canopy/wire/sequence.h>
#include <canopy/wire/stream.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace canopy::fleet {
namespace {

/// Visits the batches of a stream in order. visit(message, batch) returns false to end.
template <class Visit>
Result<std::monostate> each_batch(const std::string& name, std::string_view bytes, Visit&& visit) {
  wire::RecordedStream stream(bytes);
  wire::Message message;
  wire::EventBatch batch;
  for (std::uint64_t number = 1;; ++number) {
    auto next = stream.next(message);
    if (!next) return Error{fmt::format("{}: {}", name, next.error().text)};
    if (!*next) return std::monostate{};
    if (message.is_end) continue;
    if (auto read = wire::read_batch(message.payload, batch); !read)
      return Error{fmt::format("{}: message {}: {}", name, number, read.error().text)};
    if (!visit(message, batch)) return std::monostate{};
  }
}

}  // namespace

Result<std::unique_ptr<RecordedCaches>> RecordedCaches::read(
    const std::vector<std::pair<std::string, std::string>>& streams, std::uint64_t secret) {
  std::int64_t size = 0;
  for (const auto& [name, bytes] : streams) {
    auto read = each_batch(name, bytes, [&](const wire::Message&, const wire::EventBatch& batch) {
      for (const wire::Event& event : batch.events)
        if (event.kind == wire::EventKind::stored && size == 0) size = event.block_size;
      return size == 0;
    });
    if (!read) return read.error();
  }
  if (size == 0) return Error{"no stream stores a block: nothing is known of any worker"};
  std::unique_ptr<RecordedCaches> caches(new RecordedCaches);
  caches->index_ = std::make_unique<routing::BlockIndex>(static_cast<std::uint32_t>(size), streams.size(), 0, secret);
  caches->found_.resize(streams.size());
  for (std::size_t worker = 0; worker < streams.size(); ++worker) {
    caches->workers_.push_back({streams[worker].first, 0, 0, 0, {}, 0});
    if (auto read = caches->read(worker, streams[worker].second); !read) return read.error();
  }
  return caches;
}

Result<std::monostate> RecordedCaches::read(std::size_t worker, std::string_view bytes) {
  RecordedWorker& recorded = workers_[worker];
  routing::EventIntake intake(*index_, worker);
  std::map<std::string, wire::SequenceWatch, std::less<>> watches;
  auto read = each_batch(recorded.name, bytes, [&](const wire::Message& message, const wire::EventBatch& batch) {
    ++recorded.messages;
    const bool clears = std::any_of(batch.events.begin(), batch.events.end(),
                                    [](const wire::Event& event) { return event.kind == wire::EventKind::cleared; });
    switch (watches[std::string(message.topic)].see(message.sequence, batch.time, clears)) {
      case wire::Order::repeated:
        return true;
      case wire::Order::restart:
        intake.restart();
        break;
      default:
        break;
    }
    intake.take(batch);
    return true;
  });
  if (!read) return read.error();
  for (const auto& [topic, watch] : watches) recorded.missing += watch.missing, recorded.restarts += watch.restarts;
  recorded.counts = intake.counts();
  recorded.blocks = index_->blocks(worker);
  return std::monostate{};
}

void RecordedCaches::look(const workload::ClientRequest& client, std::vector<scheduling::RouteWorker>& workers) {
  index_->find(client.prompt, routing::root_of({}, client.space), found_, scratch_);
  for (std::size_t at = 0; at < workers.size(); ++at) {
    workers[at].overlap = found_[at].blocks;
    workers[at].tree_blocks = index_->blocks(at);
  }
}

std::optional<std::uint32_t> RecordedCaches::serve(std::size_t worker, const workload::ClientRequest&) {
  return found_[worker].total() * index_->block_tokens();  // look() has just asked
}

}  // namespace canopy::fleet
