#include <bridge/follower.h>
#include <canopy/kv_events/codec.h>
#include <fmt/format.h>

#include <algorithm>

namespace canopy::bridge {
namespace {

constexpr std::int64_t kMostPageSize = 65536;  // limit for the pages of a feed
/// No publisher sends this many messages: a larger number is not a sequence number.
constexpr std::uint64_t kMostSequence = std::uint64_t{1} << 62;

}  // namespace

Follower::Follower(Options options)
    : options_(std::move(options)), names_(options_.sources), lost_(options_.sources.size()) {}
Follower::~Follower() = default;

void Follower::take(std::size_t source, const kv_events::Message& message, bool replayed, std::uint64_t now_us) {
  if (message.is_end) return;
  const auto read = kv_events::read_batch(message.payload, batch_);
  if (!read || message.sequence >= kMostSequence) {
    ++unreadable_;
    trouble_ = fmt::format("{}, message {}: {}", options_.sources[source], message.sequence,
                           read ? "its sequence number is impossible" : read.error().text);
    if (read) return;
    batch_.clear();  // counts as a message without events, so that later messages do not wait for it
  }
  unknown_fields_ += batch_.unknown_fields + batch_.unknown_events;
  const std::string topic(message.topic);
  const std::optional<std::uint16_t> worker =
      read ? names_.worker({source, topic, batch_.rank}) : names_.only_worker(source, topic);
  if (!worker) return void(left_out_ += static_cast<bool>(read));
  workers_.resize(names_.workers());
  Worker& of = workers_[*worker];
  if (!of.order.waits()) of.waits_since_us = now_us;
  const auto taken =
      of.order.take({message.sequence, batch_.time, batch_.clears(), replayed}, message.payload, options_.repairs);
  if (taken.order == kv_events::Order::restart) {
    clear(*worker);
    commit(Operation::flush, now_us);
  }
  if (taken.is_due) apply(*worker, batch_, now_us);
  apply_held(*worker, now_us);
}

void Follower::apply_held(std::uint16_t worker, std::uint64_t now_us) {
  while (const auto held = workers_[worker].order.next_held()) {
    workers_[worker].waits_since_us = now_us;
    if (!kv_events::read_batch(held->payload, held_batch_)) held_batch_.clear();
    apply(worker, held_batch_, now_us);
  }
}

void Follower::replay_ended(std::size_t source, std::uint64_t from, std::uint64_t now_us) {
  for (std::uint16_t w = 0; w < workers_.size(); ++w) {
    if (names_.sender(w).source != source || !workers_[w].order.waits()) continue;
    // If the replay has shown that the publisher restarted, another replay is needed, from 0 on.
    if (workers_[w].order.replay_from() < from) continue;
    workers_[w].order.replay_ended(from);
    apply_held(w, now_us);
  }
}

void Follower::reconnected(std::size_t source) {
  for (std::uint16_t w = 0; w < workers_.size(); ++w)
    if (names_.sender(w).source == source) workers_[w].order.reconnected();
}

void Follower::set_lost(std::size_t source, std::string why) { lost_[source] = std::move(why); }

std::optional<std::uint64_t> Follower::wants_replay(std::size_t source) const {
  std::optional<std::uint64_t> from;
  for (std::uint16_t w = 0; w < workers_.size(); ++w)
    if (names_.sender(w).source == source && workers_[w].order.waits())
      from = std::min(from.value_or(~std::uint64_t{0}), workers_[w].order.replay_from());
  return from;
}

void Follower::apply(std::uint16_t worker, const kv_events::EventBatch& batch, std::uint64_t now_us) {
  ++tick_;
  ++workers_[worker].batches;
  operation_ = Operation::none;
  for (const kv_events::Event& event : batch.events) {
    switch (event.kind) {
      case kv_events::EventKind::stored:
        store(worker, batch, event);
        break;
      case kv_events::EventKind::removed:
        remove(worker, batch, event);
        break;
      case kv_events::EventKind::cleared:
        clear(worker);
        workers_[worker].order.set_complete();
        break;
    }
  }
  commit(operation_, now_us);
}

/// Returns the event's group and sets hashes_; nothing if there is no room for the group.
std::optional<std::uint8_t> Follower::group_of(const kv_events::EventBatch& batch, const kv_events::Event& event) {
  const std::optional<std::uint8_t> group = names_.group(batch, event);
  hashes_.clear();
  for (const kv_events::BlockHash& hash : batch.hashes_of(event)) hashes_.push_back(hash.value);
  return group;
}

/// Counts blocks of a worker that the feed does not show. `sum`: the count of their kind.
void Follower::leave_out(std::uint16_t worker, std::uint64_t blocks, std::uint64_t& sum) {
  workers_[worker].left_out += blocks;
  sum += blocks;
}

void Follower::store(std::uint16_t worker, const kv_events::EventBatch& batch, const kv_events::Event& event) {
  if (event.hashes.count == 0) return;
  const bool has_tokens = kv_events::tokens_match_hashes(event);
  if (!tree_ && has_tokens && event.block_size <= kMostPageSize) begin(static_cast<Units>(event.block_size));
  if (!tree_ || event.block_size != page_size_) {
    leave_out(worker, event.hashes.count, other_sizes_);
    other_size_ = event.block_size;
    return;
  }
  const std::optional<std::uint8_t> group = group_of(batch, event);
  if (!group)
    return leave_out(worker, event.hashes.count, Names::may_be_full(batch, event) ? left_out_ : other_groups_);
  std::span<const Token> tokens = batch.tokens_of(event);
  if (event.token_pairs) {  // (t, t+1): the second token of a pair is the first of the next
    tokens_.clear();
    for (std::size_t i = 0; i < tokens.size(); i += 2) tokens_.push_back(tokens[i]);
    tokens = tokens_;
  }
  const Keys keys = keys_of(batch, event);
  Tree::Stored stored;
  stored.worker = worker, stored.group = *group;
  if (event.has(kv_events::Field::parent_block_hash)) {
    stored.parent = event.parent.value;
    if (tree_->blocks().find(worker, event.parent.value) == 0)
      stored.unknown_space = names_.space(worker, "unknown prefix");
  } else {
    stored.space = names_.space(worker, keys.label);
    stored.root = std::hash<std::string>{}(keys.label) | 1;
  }
  stored.hashes = hashes_;
  if (has_tokens) stored.tokens = tokens;
  stored.extra = keys.extra;
  send_names(false);
  const std::uint64_t had = tree_->counts().left_out;
  tree_->store(stored, tick_);
  workers_[worker].left_out += tree_->counts().left_out - had;
  operation_ = Operation::insert;
}

void Follower::remove(std::uint16_t worker, const kv_events::EventBatch& batch, const kv_events::Event& event) {
  if (!tree_) return;
  const std::optional<std::uint8_t> group = group_of(batch, event);
  if (!group) return;
  send_names(false);
  tree_->remove(worker, *group, hashes_);
  if (operation_ == Operation::none) operation_ = Operation::evict;
}

void Follower::clear(std::uint16_t worker) {
  operation_ = Operation::flush;
  workers_[worker].left_out = 0;
  if (tree_) tree_->clear(worker);
}

std::string Follower::state_of(std::uint16_t worker) const {
  const kv_events::InOrder& order = workers_[worker].order;
  const kv_events::InOrder::Counts& counts = order.counts();
  std::string words = order.waits()                    ? "waits for messages that are missing"
                      : order.is_incomplete()          ? "incomplete until it clears its cache or restarts"
                      : workers_[worker].left_out != 0 ? "incomplete"
                                                       : "whole";
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count != 0) words += fmt::format(", {} {}", count, what);
  };
  add(workers_[worker].left_out, workers_[worker].left_out == 1 ? "block was left out" : "blocks were left out");
  add(counts.before, "messages were sent before the first one received");
  add(counts.gaps, counts.gaps == 1 ? "gap" : "gaps");
  add(counts.repaired, counts.repaired == 1 ? "missing message came later" : "missing messages came later");
  add(counts.missing, "never came");
  add(counts.repeated, "repeated");
  add(counts.restarts, counts.restarts == 1 ? "restart" : "restarts");
  return words;
}

Doubts Follower::doubts() const {
  kv_events::InOrder::Counts all;
  for (const Worker& worker : workers_) {
    all.missing += worker.order.counts().missing;
    if (worker.order.is_incomplete()) all.before += worker.order.counts().before;
  }
  Doubts doubts = kv_events::doubts_of(all);
  const auto add = [&](Doubt::Kind kind, std::uint64_t count, const char* what) {
    if (count > 0) doubts.push_back({kind, count, fmt::format("{} {}", count, what)});
  };
  add(Doubt::Kind::damaged, unreadable_, "messages could not be read, and what they say is not counted");
  add(Doubt::Kind::lost, other_sizes_, "blocks were left out, because they have another size than the first one");
  add(Doubt::Kind::lost, left_out_ + (tree_ ? tree_->counts().left_out : 0),
      "blocks were left out, because there are too many groups, workers or blocks");
  return doubts;
}

std::string Follower::report() const {
  std::string text;
  const auto add = [&](const char* label, std::uint64_t value) { text += fmt::format("{}: {}\n", label, value); };
  const auto add_any = [&](const char* label, std::uint64_t value) {
    if (value != 0) add(label, value);
  };
  text += fmt::format("sources: [{}]\n", fmt::join(options_.sources, ", "));
  add("tokens per block", page_size_);
  std::uint64_t batches = 0;
  for (const Worker& worker : workers_) batches += worker.batches;
  add("messages", batches);
  add_any("messages that could not be read", unreadable_);
  add_any("events and fields that this version does not know", unknown_fields_);
  if (other_sizes_ != 0)
    text += fmt::format("blocks left out because they have another size: {}, such as {} tokens\n", other_sizes_,
                        other_size_);
  if (!tree_) return text;
  const Tree::Counts& counts = tree_->counts();
  add("blocks", tree_->blocks().count());
  add_any("blocks of windows and states left out because a feed has room for four groups", other_groups_);
  add_any("blocks left out because there are too many groups, workers or blocks", left_out_ + counts.left_out);
  add_any("further copies that servers keep of equal prompts", tree_->copies());
  add_any("blocks under an unknown prefix", tree_->orphans());
  add_any("times that a parent was unknown", counts.unknown_parents);
  add_any("removed blocks that were unknown", counts.unknown_removed);
  add_any("blocks whose place no event reported", tree_->unplaced());
  return text;
}

void Follower::finish() {
  if (tree_) tree_->send_to(nullptr);
  if (sink_) sink_->finish();
}

}  // namespace canopy::bridge
