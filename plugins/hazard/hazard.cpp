#include "hazard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

namespace canopy::hazard {
namespace {

constexpr double kHalfLife = 10'000;     ///< half-life of counts, in ages; that of the duel's evidence is twice as long
constexpr double kNewBeforeFit = 0.055;  ///< time since the last fit, as a share of the time that the counts stand for
constexpr double kLeastBetweenFits = 20, kHistoryTurnovers = 8, kCostDepth = 8192;  ///< ages; turnovers; tokens
constexpr std::size_t kMostRunning = 65536, kAhead = 32;

/// Returns a rank's minor word: the time of the node's last use. Its lower bits describe the node for people: its
/// class, the bin of its age, and whether the order is lru's. Nodes that differ only in them may leave in any order.
std::uint64_t minor_of(Tick used, std::size_t of_class, std::size_t age, bool by_lru) {
  return used << 18 | std::uint64_t{by_lru} << 17 | age << kClassBits | of_class;
}
static_assert(kClassBits == 12 && kBins < 32);

std::string form() {
  std::string ages;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    std::array<char, 16> edge{};
    std::snprintf(edge.data(), edge.size(), "%.2g|", kBinEdges[bin] / kAgesPerTurnover);
    ages += edge.data();
  }
  return "{major:real} hits expected per token and turnover, used {minor.18-63:ago}; {minor.0-2:used once|used "
         "twice|used 3 to 5 times|used 6 to 15 times|used 16 to 63 times|used 64 times or more|never used}, "
         "{minor.3-5:below 640|640 to 1,279|1,280 to 3,071|3,072 to 8,191|8,192 or more|any number of} new "
         "tokens{minor.6-6:|, long answer}{minor.7-8:|, tool call pending|, session ended}"
         "{minor.9-11:|, class 1|, class 2|, class 3|, class 4|, class 5|, class 6|, class 7}; "
         "age from {minor.12-16:" +
         ages + "more than 8} turnovers{minor.17-17:|; in lru's order}";
}

/// Returns the prints of the whole strides of a request's prompt. After a resume the prints continue into the answer.
std::span<const std::uint64_t> prompt_prints(const RequestFacts& request) {
  return request.prefix_prints.first(
      std::min<std::size_t>(request.prefix_prints.size(), request.prompt / kPrintStride));
}

}  // namespace

PolicyText Hazard::describe() const {
  static const std::string words = form();
  return {kRule, words.c_str()};
}

Rank Hazard::rank(const NodeFacts& node) {
  clock_.follow(node.clock);
  if (node.last_access == 0)
    return {0, minor_of(node.created, kUses, 0, true)};  // part of a window that was never used
  const double now = clock_.now();
  if (*node.tag == 0) *node.tag = NodeTag::of(now, class_of({1, ~std::uint32_t{0}, 0, 0}), false).word;
  const NodeTag tag{*node.tag};
  const double age = tag.age(now);
  const bool by_index = tree_.learned() && !lru_ranks_;
  const std::size_t bin = bin_of(age);
  Rank rank{0, minor_of(node.last_access, tag.of_class(), bin, !by_index)};
  if (!by_index) return rank;
  double worth = tree_.index(tree_.group(node.space, tag.of_class()), age, bin);
  // A use of the node would also use its parent. If the last client of the parent reported that its session ended, the
  // node is worth at most as much as the parent: it is left over from an earlier turn of the same session.
  if (reports_ends_ && node.parent_tag && *node.parent_tag != 0)
    if (const NodeTag parent{*node.parent_tag}; session_ended_in(parent.of_class()))
      worth = std::min(worth, tree_.index(tree_.group(node.space, parent.of_class()), parent.age(now)));
  if (config_.cost_weight > 0 || config_.first_turns != 1)
    worth *= worth_at(static_cast<double>(node.begin) + 0.5 * static_cast<double>(node.length), tag.first_turn());
  // Rounded to a float, so that values that differ only in the last bits are equal.
  rank.major = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<float>(worth)));
  return rank;
}

/// All nodes are ranked at once, so the order changes here and nowhere else: ranks of two orders are not comparable.
void Hazard::rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) {
  lru_ranks_ = duel_.lru_rules();
  for (std::size_t i = 0; i < nodes.size(); ++i) ranks[i] = rank(nodes[i]);
}

/// Returns the worth of a hit at this depth, in tokens, compared with others.
double Hazard::worth_at(double depth, bool first_turn) const {
  return (first_turn ? config_.first_turns : 1) * (1 + config_.cost_weight * depth / kCostDepth);
}

void Hazard::arrived(const RequestFacts& request) {
  learn(request.clock);
  if (request.id == 0) return;
  if (arrived_.size() == kMostRunning) arrived_.clear();  // retracted and never resumed
  arrived_[request.id] = request.clock.now;
}

void Hazard::ended(const RequestFacts& request, Path& path) {
  const auto prints = prompt_prints(request);
  for (std::size_t i = 0; i < kAhead; ++i) history_.prefetch(prints, i);
  learn(request.clock);
  reports_ends_ |= (request.hints & hint::kSessionEnded) != 0;
  const bool retracted = request.ending == Ending::retracted;  // it arrives again
  const auto running = arrived_.find(request.id);
  const Tick arrived = running == arrived_.end() ? 0 : running->second;
  if (running != arrived_.end() && !retracted) arrived_.erase(running);

  Use use{1, request.prompt - std::min(request.prompt, request.matched), request.output, request.hints};
  bool first_turn = false;
  strides_.clear();
  if (!retracted) {
    const std::size_t known = look_up(prints);
    use.fresh = request.prompt - static_cast<std::uint32_t>(known * kPrintStride);
    // A later turn continues what one request brought; a preamble was used by several.
    first_turn = known == 0 || strides_[known - 1]->count > 2;
  }
  std::array<ReuseTree::Group, kUses> groups{};
  const auto group_of = [&](std::uint32_t count) {
    ReuseTree::Group& group = groups[uses_of(use.count = count)];
    return group != 0 ? group : group = tree_.group(request.space, class_of(use));
  };
  std::uint64_t end = 0;
  for (NodeFacts node; path.next(node);) {
    end = std::max<std::uint64_t>(end, node.begin + node.length);
    if (std::max(node.created, node.last_access) < arrived) continue;  // a part of a window that it did not use
    const std::size_t first = node.begin / kPrintStride, last = (node.begin + node.length - 1) / kPrintStride;
    const std::size_t middle = first + (last - first + 1) / 2;
    const auto count = middle < strides_.size() ? static_cast<std::uint32_t>(strides_[middle]->count) : 1;
    use.count = count;
    *node.tag = NodeTag::of(clock_.now(), class_of(use), first_turn).word;
  }
  if (retracted) return;

  // Begins a life for consecutive strides of one group. The last one has the rest of the path as well.
  for (std::size_t i = 0, begin = 0; i <= strides_.size(); ++i) {
    if (i < strides_.size() && group_of(strides_[i]->count) == group_of(strides_[begin]->count)) continue;
    const bool is_last = i == strides_.size();
    const double from = static_cast<double>(begin * kPrintStride);
    const double to = is_last ? std::max(from, static_cast<double>(end)) : static_cast<double>(i * kPrintStride);
    for (std::size_t stride = begin; stride < i; ++stride)
      strides_[stride]->life = lives_.next() & PrefixHistory::kMostLife;
    const ReuseTree::Group group = group_of(begin < i ? static_cast<std::uint32_t>(strides_[begin]->count) : 1);
    Life& life = lives_.begin(clock_.now(), group, i - begin, to - from);
    life.worth = static_cast<float>(worth_at(0.5 * (from + to), first_turn));
    life.goes_on = !is_last;
    duel_.put(lives_.next() - 1);
    begin = i;
  }
  duel_.end_request(clock_.capacity(), clock_.now());
}

/// Ends the life of each stride of a prompt and counts the use. Returns how many strides were known before the first
/// unknown one.
std::size_t Hazard::look_up(std::span<const std::uint64_t> prints) {
  std::size_t known = 0;
  for (std::size_t i = 0; i < prints.size(); ++i) {
    history_.prefetch(prints, i + kAhead);
    PrefixHistory::Entry& entry = history_.use(prints[i]);
    if (known == i && entry.count > 0) ++known;
    duel_.look_up(entry.life, clock_.now());
    entry.count = std::min<std::uint8_t>(entry.count + 1, kMostCount);
    entry.life = 0;
    strides_.push_back(&entry);
  }
  return known;
}

void Hazard::learn(const PolicyClock& clock) {
  clock_.follow(clock);
  history_.limit(
      std::max(config_.history, static_cast<std::uint64_t>(kHistoryTurnovers / kPrintStride * clock_.capacity())));
  const double since = clock_.now() - fitted_;
  if (since < kLeastBetweenFits || since < kNewBeforeFit * counted_for_) return;
  fitted_ = clock_.now();
  lives_.count(fitted_);
  const double part = std::exp2(-since / kHalfLife);
  counted_for_ = (counted_for_ + since) * part;
  tree_.fit(part);
  duel_.fade(std::sqrt(part));
}

}  // namespace canopy::hazard
