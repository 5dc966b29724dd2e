#include "hazard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "counts_file.h"

namespace canopy::hazard {
namespace {

constexpr double kHalfLife = 5000;  ///< half-life of counts, in ages
constexpr double kLeastBetweenFits = 20;
constexpr double kNewBeforeFit = 0.055;  ///< time since the last fit, as a share of the time that the counts stand for
constexpr double kHistoryTurnovers = 8;
constexpr double kCostDepth = 8192;  ///< tokens
constexpr std::size_t kMostRunning = 65536;

/// Returns the prints of the whole strides of a request's prompt. After a resume the prints continue into the answer.
std::span<const std::uint64_t> prompt_prints(const RequestFacts& request) {
  return request.prefix_prints.first(
      std::min<std::size_t>(request.prefix_prints.size(), request.prompt / kPrintStride));
}

}  // namespace

Hazard::Hazard(const Config& config) : config_(config) {
  const auto demand = [](const Result<std::monostate>& done) {
    if (!done) throw std::runtime_error(done.error().text);
  };
  if (!config_.save.empty()) demand(can_save_counts(config_.save));
  if (config_.load.empty() || (config_.load == config_.save && !std::filesystem::exists(config_.load))) return;
  demand(load_counts(config_.load, counts_));
  counts_.fade(1);  // the loaded counts are not new
  loaded_ = counts_.weight() > 0;
  if (loaded_) fit(0);
}

Hazard::~Hazard() {
  if (config_.save.empty()) return;
  try {
    count();
    if (!counted_) return;
    if (const auto saved = save_counts(config_.save, counts_); !saved)
      std::fprintf(stderr, "canopy: hazard: %s; what was learned is not saved\n", saved.error().text.c_str());
  } catch (const std::exception&) {
    std::fputs("canopy: hazard: no memory to save what was learned\n", stderr);
  }
}

Rank Hazard::rank(const NodeFacts& node) {
  Rank rank;
  rank_many({&node, 1}, {&rank, 1});
  return rank;
}

void Hazard::rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeFacts& node = nodes[i];
    clock_.follow(node.clock);
    ranks[i].major = 0;
    if (node.last_access == 0) {  // part of a window that was never used
      ranks[i].minor = rank_minor_unused(node.created);
      continue;
    }
    const double now = clock_.now();
    if (*node.tag == 0) set_tag(node, class_of({1, ~std::uint32_t{0}, 0, 0}));
    const NodeTag tag(*node.tag);
    const Curves::Reading says = curves_.at(tag.of_class(), tag.age(now));
    ranks[i].minor = rank_minor(node.last_access, tag.of_class(), {says.bin, curves_.learned() ? says.stop : kBins});
    if (!curves_.learned()) continue;
    double worth = says.index;
    // A use of the node would also use its parent. If the last client of the parent reported that its session ended,
    // the node is worth at most as much as the parent: it is left over from an earlier turn of the same session.
    if (ends_told_ && node.parent_tag && *node.parent_tag != 0)
      if (const NodeTag parent(*node.parent_tag); session_ended_in(parent.of_class()))
        worth = std::min(worth, curves_.index(parent.of_class(), parent.age(now)));
    if (config_.cost_weight > 0) worth *= 1 + config_.cost_weight * (node.begin + 0.5 * node.length) / kCostDepth;
    // Rounded to a float, so that values that differ only in the last bits are equal.
    ranks[i].major = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<float>(worth)));
  }
}

void Hazard::set_tag(const NodeFacts& node, std::size_t of_class) {
  const double now = clock_.now();
  if (*node.tag == 0) lru_.came(now, node.length);
  else lru_.used(NodeTag(*node.tag).last_use(), now, node.length);
  *node.tag = NodeTag::of(now, of_class);
}

void Hazard::evicted(const NodeFacts& node, const Eviction& eviction) {
  if (*node.tag == 0) return;
  clock_.follow(node.clock);
  const Cause cause = eviction.cause;
  lru_.left(NodeTag(*node.tag).last_use(), clock_.now(), node.length,
            cause == Cause::room || cause == Cause::other_group || cause == Cause::limit);
}

void Hazard::arrived(const RequestFacts& request) {
  learn(request.clock);
  if (request.id == 0) return;
  const auto at = find(request.id);
  if (at != running_.end() && at->id == request.id) {
    at->arrived = request.clock.now, at->lru = lru_.oldest();
    return;
  }
  running_.insert(at, {request.id, request.clock.now, lru_.oldest()});
  if (running_.size() > kMostRunning) running_.erase(running_.begin());  // retracted and never resumed
}

void Hazard::ended(const RequestFacts& request, Path& path) {
  history_.prefetch(prompt_prints(request));
  learn(request.clock);
  ends_told_ |= (request.hints & hint::kSessionEnded) != 0;
  Running arrival;
  if (const auto at = find(request.id); at != running_.end() && at->id == request.id) {
    arrival = *at;
    if (request.ending != Ending::retracted) running_.erase(at);
  }
  Use use{1, request.prompt - std::min(request.prompt, request.matched), request.output, request.hints};
  strides_.clear();
  if (request.ending != Ending::retracted) {
    use.fresh = request.prompt - static_cast<std::uint32_t>(look_up(prompt_prints(request)) * kPrintStride);
    follow(use, request.matched, arrival.lru);
  }

  for (NodeFacts node; path.next(node);) {
    // A part of a window that the request did not use.
    if (std::max(node.created, node.last_access) < arrival.arrived) continue;
    const std::size_t first = node.begin / kPrintStride, last = (node.begin + node.length - 1) / kPrintStride;
    const std::size_t middle = first + (last - first + 1) / 2;
    use.count = middle < strides_.size() ? strides_[middle]->count() : 1;
    set_tag(node, class_of(use));
  }
}

/// Counts a use of each stride of a prompt. Returns how many of them were known before the first unknown one.
std::size_t Hazard::look_up(std::span<const std::uint64_t> prints) {
  history_.promise(prints.size());
  std::size_t known = 0;
  for (std::size_t i = 0; i < prints.size(); ++i) {
    history_.prefetch_behind(prints, i);
    PrefixHistory::Entry& entry = history_.use(prints[i]);
    if (known == i && entry.count() > 0) ++known;
    entry.set(std::min(entry.count() + 1, kMostCount), entry.life());
    strides_.push_back(&entry);
  }
  return known;
}

/// Ends a life and begins one for each stride that was looked up.
void Hazard::follow(Use use, std::size_t matched, const LruTwin::Oldest& lru) {
  std::size_t of_class = kClasses, strides = 0;
  const std::size_t any_count = class_of(use);
  const auto begin_life = [&] {
    if (strides > 0) lives_.begin(clock_.now(), of_class, std::exchange(strides, 0));
  };
  for (std::size_t i = 0; i < strides_.size(); ++i) {
    PrefixHistory::Entry& entry = *strides_[i];
    if (const double last = lives_.stride_returned(entry.life(), clock_.now(), counts_); last >= 0) {
      const bool hit = (i + 1) * kPrintStride <= matched;
      caution_.asked(hit, kPrintStride, last, lru);
      if (!hit) lru_.returned(last, kPrintStride);
    }
    const std::size_t now_of = class_with(any_count, entry.count());
    if (now_of != of_class) begin_life();
    of_class = now_of;
    entry.set(entry.count(), lives_.next());
    ++strides;
  }
  begin_life();
}

void Hazard::learn(const PolicyClock& clock) {
  clock_.follow(clock);
  const double capacity = clock.capacity == kUnlimited ? 0 : static_cast<double>(clock.capacity);
  history_.limit(
      std::max(config_.history, static_cast<std::uint64_t>(kHistoryTurnovers * capacity / double{kPrintStride})));
  const double since = clock_.now() - fitted_;
  if (since < kLeastBetweenFits || since < kNewBeforeFit * counted_for_) return;
  count();
  const double part = std::exp2(-since / kHalfLife);
  counted_for_ = (counted_for_ + since) * part;
  counts_.fade(part);
  caution_.fade(part);
  fit(capacity);
}

void Hazard::count() {
  lives_.count(clock_.now(), counts_);
  counted_ |= counts_.changed();
}

void Hazard::fit(double capacity) {
  fitted_ = clock_.now();
  curves_.fit(counts_, caution_.of(capacity, capacity > 0 && (loaded_ || clock_.now() >= kHalfLife)));
}

std::vector<Hazard::Running>::iterator Hazard::find(std::uint64_t id) {
  return std::lower_bound(running_.begin(), running_.end(), id,
                          [](const Running& one, std::uint64_t wanted) { return one.id < wanted; });
}

}  // namespace canopy::hazard
