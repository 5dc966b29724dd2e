#include "mirror.h"

#include <algorithm>
#include <cstring>

namespace canopy::inspector {
namespace {

constexpr std::size_t kLogKept = 4096;
/// A pool of more is nobody's: a recording that says so is damaged, and that part of it is passed over.
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 28;

constexpr bool sizes_a_pool(const Event& event) {
  return event.kind == EventKind::pool_sized || event.kind == EventKind::pool_segment;
}

}  // namespace

Mirror::Mirror(const FeedHeader& header)
    : page_size_(header.page_size), has_words_(header.tokens != 0), pools_(header.groups) {
  for (std::size_t g = 0; g < pools_.size(); ++g) pools_[g].reach = static_cast<Units>(header.reaches[g]);
}

void Mirror::take(std::span<const Event> events) {
  while (!events.empty()) {
    const auto end =
        std::find_if(events.begin(), events.end(), [](const Event& one) { return one.kind == EventKind::commit; });
    if (end == events.end()) {
      pending_.insert(pending_.end(), events.begin(), events.end());
      return;
    }
    const auto count = static_cast<std::size_t>(end - events.begin()) + 1;
    if (pending_.empty()) {
      take_commit(events.first(count));
    } else {
      pending_.insert(pending_.end(), events.begin(), end + 1);
      take_commit(pending_);
      pending_.clear();
    }
    events = events.subspan(count);
  }
}

void Mirror::lost() {
  pending_.clear();
  in_step_ = false;
}

void Mirror::reset() {
  forget();
  pending_.clear();
  requests_.clear();
  request_places_.clear();
  samples_.clear();
  sample_every_ = 1;
  log_.clear();
  moments_.clear();
  ghosts_.clear();
  ghost_count_ = 0;
  in_step_ = false;
  commits_ = us_ = drift_ = 0;
  tick_ = 0;
  prompt_tokens_ = hit_tokens_ = evicted_tokens_ = request_count_ = 0;
}

void Mirror::take_commit(std::span<const Event> events) {
  const bool keyframe = events.front().kind == EventKind::keyframe;
  // Somebody else asked for it: what it says is known here already.
  if (keyframe ? in_step_ : !in_step_) return;
  if (keyframe) forget();
  line_ = {};
  revived_ = {};
  filled_ = totalled_ = false;
  fresh_digest_ = locked_node_ = 0;
  // A pool that grew did so before its new pages were handed out.
  for (const Event& event : events)
    if (sizes_a_pool(event)) apply(event);
  for (const Event& event : events)
    if (!sizes_a_pool(event)) apply(event);
  if (keyframe) {
    settle_holds();
    in_step_ = true;
  }
  commit(events.back());
}

/// The tree and the pools; what was learned over time stays.
void Mirror::forget() {
  nodes_.clear();
  node_count_ = 0;
  for (MirrorPool& pool : pools_) {
    pool.pages = 0;
    pool.counted = pool.told = {};
    pool.owner.clear();
    pool.segments.clear();
  }
  for (Space& space : spaces_) space.first_child = space.last_child = 0, space.tokens = space.nodes = 0;
  first_pages_.clear();
  plugins_.clear();
  refusals_.clear();
  paused_.clear();
  pins_.clear();
  for (MirrorRequest& request : requests_)
    if (!request.ended()) request.ended_at = commits_ + 1, request.pages.clear();
  running_ = 0;
}

void Mirror::apply(const Event& event) {
  if (event.group >= pools_.size()) return;
  const auto node = [&] { return writable(event.node); };
  switch (event.kind) {
    case EventKind::node_added:
      return add(event);
    case EventKind::node_named:
      return name(event);
    case EventKind::node_words:
      return say(event);
    case EventKind::node_pages:
      return adopt_pages(event);
    case EventKind::node_split:
      return split(event);
    case EventKind::node_removed:
      return remove(event);
    case EventKind::node_emptied:
      if (MirrorNode* emptied = node(); emptied && emptied->has(event.group)) {
        count(*emptied, event.group, false);
        free_pages(*emptied, event.group);
        emptied->resident = static_cast<std::uint16_t>(emptied->resident & ~(1U << event.group));
        if (event.group == 0) evicted_tokens_ += emptied->length;
        ++line_.gaps;
        line_.tokens += emptied->length;
        remember(event.node, event.kind);
      }
      return;
    case EventKind::node_used:
      for (std::uint32_t at = slot_of_id(event.node); node() && at; at = nodes_[at].parent) {
        ++nodes_[at].hits;
        nodes_[at].last_access = event.a;
      }
      tick_ = std::max(tick_, event.a);
      remember(event.node, event.kind);
      return lock(event.node, 0, event.b);
    case EventKind::node_created:
      if (MirrorNode* told = node()) told->created = event.a;
      return;
    case EventKind::node_facts:
      if (MirrorNode* told = node()) {
        told->priority = static_cast<std::int32_t>(event.extra);
        told->last_access = event.a;
        told->hits = static_cast<std::uint32_t>(event.b);
        told->inserts = static_cast<std::uint32_t>(event.b >> 32);
      }
      return;
    case EventKind::node_held:
      if (MirrorNode* held = node()) held->hold[event.group] = static_cast<std::uint32_t>(event.a);
      return;
    case EventKind::node_ranked:
      if (MirrorNode* ranked = node()) ranked->rank[event.group] = {event.a, event.b};
      return;
    case EventKind::locked:
      return lock(event.node, event.group, event.a);
    case EventKind::unlocked:
      return unlock(event.node, event.group, event.a);
    case EventKind::relocked:
      lock(event.node, event.group, event.extra);
      return unlock(event.a, event.group, event.b);
    case EventKind::relaxed:
      return relax(event);
    case EventKind::cleared:
      nodes_.each([&](std::uint32_t slot) {
        for (std::size_t g = 0; g < pools_.size(); ++g) free_pages(nodes_[slot], g);
      });
      nodes_.clear();
      node_count_ = 0;
      for (MirrorPool& pool : pools_) pool.counted.evictable = pool.counted.protected_ = 0;
      for (Space& space : spaces_) space.first_child = space.last_child = 0, space.tokens = space.nodes = 0;
      first_pages_.clear();
      return;
    case EventKind::request_begun:
      return begin_request(event);
    case EventKind::request_pages:
      return own_row(event);
    case EventKind::request_moved:
      return move_request(event);
    case EventKind::freed:
      for (const std::uint64_t run : {event.a, event.b})
        own(event.group, static_cast<Page>(run), static_cast<std::uint32_t>(run >> 32), 0);
      return;
    case EventKind::pool_sized: {
      MirrorPool& pool = pools_[event.group];
      if (event.a > kMostPages) return;
      pool.counted.free += event.a - pool.pages;
      pool.pages = event.a;
      pool.limit = event.b;
      pool.segment_pages = event.extra;
      return;
    }
    case EventKind::pool_segment: {
      std::vector<MirrorPool::Segment>& segments = pools_[event.group].segments;
      if (event.node > segments.size()) return;  // they are told in order
      if (event.node == segments.size()) segments.emplace_back();
      segments[event.node] = {event.flags, static_cast<std::uint32_t>(event.a), event.extra};
      return;
    }
    case EventKind::text:
      return take_text(event);
    case EventKind::totals:
      pools_[event.group].told = {event.node, event.a / page_size_, event.b / page_size_, event.extra};
      totalled_ = true;
      return;
    case EventKind::pinned:
      if (event.a) pins_.insert(event.node);
      else pins_.erase(event.node);
      return;
    case EventKind::keyframe:
    case EventKind::commit:
      return;
  }
}

void Mirror::commit(const Event& event) {
  ++commits_;
  tick_ = std::max<Tick>(tick_, event.node);
  us_ = event.b;
  const auto apart = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; };
  if (totalled_) {
    drift_ = 0;
    for (const MirrorPool& pool : pools_)
      drift_ += apart(pool.counted.free, pool.told.free) + apart(pool.counted.evictable, pool.told.evictable) +
                apart(pool.counted.protected_, pool.told.protected_) + apart(pool.counted.held, pool.told.held);
  }
  line_.commit = commits_;
  line_.operation = static_cast<Operation>(event.extra);
  log_.push_back(line_);
  if (log_.size() > kLogKept) log_.pop_front();
  if (commits_ % sample_every_ == 0) sample();
}

void Mirror::take_text(const Event& event) {
  constexpr std::uint32_t kLast = std::uint32_t{1} << 31;
  char bytes[16];
  std::memcpy(bytes, &event.a, sizeof(event.a));
  std::memcpy(bytes + sizeof(event.a), &event.b, sizeof(event.b));
  if ((event.extra & ~kLast) == 0) text_.clear();
  text_.append(bytes, std::min<std::size_t>(event.flags, sizeof(bytes)));
  if (!(event.extra & kLast)) return;
  const std::size_t index = event.node >> 8;
  if (index >= kMostTexts * 64) return;
  switch (static_cast<TextKind>(event.node & 0xFF)) {
    case TextKind::space:
      if (spaces_.size() <= index) spaces_.resize(index + 1);
      spaces_[index].name = text_;
      return;
    case TextKind::group:
      if (index < pools_.size()) pools_[index].name = text_;
      return;
    case TextKind::policy:
      if (index < pools_.size()) pools_[index].policy = text_;
      return;
    case TextKind::config:
      config_ = text_;
      return;
    case TextKind::plugin:
      if (plugins_.size() < kMostTexts) plugins_.push_back(text_);
      return;
    case TextKind::refusal:
      if (refusals_.size() < kMostTexts) refusals_.push_back(text_);
      return;
    case TextKind::paused:
      paused_ = text_;
      return;
  }
}

}  // namespace canopy::inspector
