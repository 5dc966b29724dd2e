#include <canopy/base/random.h>
#include <canopy/engine/waiting_order.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::scheduling;

using Order = std::vector<std::uint32_t>;

/// Requests with their tokens.
struct Queue {
  std::vector<std::vector<Token>> tokens;
  std::vector<Waiter> waiters;

  void add(Waiter waiter, std::vector<Token> text) {
    tokens.push_back(std::move(text));
    waiters.push_back(waiter);
    for (std::size_t i = 0; i < waiters.size(); ++i) waiters[i].tokens = tokens[i];
  }
  Order order(const Rules& rules, std::uint64_t processed = 0, const ByWeight& by_weight = {}) const {
    return waiting_order(waiters, rules, processed, by_weight);
  }
};

Queue random_queue(std::uint64_t seed) {
  Random random(seed);
  Queue queue;
  const std::uint32_t count = random.below(40);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::vector<Token> text(random.below(60));
    // Few beginnings, which differ late or early.
    for (std::size_t t = 0; t < text.size(); ++t) text[t] = t < 30 ? 1 : random.one_in(30) ? random.below(3) : 2;
    if (!text.empty()) text[0] = random.below(2);
    const auto known = static_cast<std::uint32_t>(text.size());
    Waiter waiter;
    waiter.id = random.below(20);
    waiter.arrival = random.below(15);
    waiter.priority = static_cast<std::int32_t>(random.below(5)) - 2;
    waiter.output_limit = random.below(6);
    waiter.processed = random.below(200);
    waiter.prompt = known - random.below(known / 4 + 1);
    waiter.found = random.one_in(2) ? random.below(known + 1) : 0;
    waiter.usable = std::min(waiter.found, known == 0 ? 0 : known - 1);
    waiter.space = NamespaceId{random.below(2)};
    queue.add(waiter, std::move(text));
  }
  return queue;
}

/// In-batch prefix caching as SGLang does it: each request is matched with all that were inserted before.
std::vector<bool> deferred_by_tree(const Queue& queue, const Rules& rules) {
  std::vector<bool> last(queue.waiters.size());
  std::vector<std::size_t> inserted;
  for (std::size_t i = 0; i < last.size(); ++i) {
    if (queue.waiters[i].found > rules.unknown) continue;
    std::size_t longest = 0;
    for (const std::size_t other : inserted) {
      if (queue.waiters[other].space != queue.waiters[i].space) continue;
      const auto differ = std::ranges::mismatch(queue.tokens[i], queue.tokens[other]);
      longest = std::max(longest, static_cast<std::size_t>(differ.in1 - queue.tokens[i].begin()));
    }
    if (longest >= rules.shared) last[i] = true;
    else inserted.push_back(i);
  }
  return last;
}

/// The order by an insertion sort over the rules, written once more.
Order plain(const Queue& queue, const Rules& rules, std::uint64_t processed) {
  const auto last = deferred_by_tree(queue, rules);
  const auto key = [&](std::size_t i) -> std::tuple<double, double, double> {
    constexpr double kMost = std::numeric_limits<double>::infinity();
    const Waiter& w = queue.waiters[i];
    const double sign = rules.priorities == Priorities::ignored     ? 0
                        : rules.priorities == Priorities::low_first ? 1
                                                                    : -1;
    const double known = static_cast<double>(w.tokens.size()), uncached = double{1} * w.prompt - w.usable;
    switch (rules.schedule) {
      case Schedule::fcfs:
        return {sign * w.priority, sign == 0 ? 0 : static_cast<double>(w.arrival), 0};
      case Schedule::lof:
        return {sign * w.priority, -static_cast<double>(w.output_limit), 0};
      case Schedule::lpm:
        return {last[i] ? kMost : -static_cast<double>(w.usable), 0, 0};
      case Schedule::shortest_prefill_first:
        return {last[i] ? 1 : 0, std::max(1.0, known - w.usable), static_cast<double>(w.arrival)};
      default:
        break;
    }
    const double id = static_cast<double>(w.id);
    if (last[i]) return {kMost, id, 0};
    if (uncached <= 0) return {-kMost, id, 0};
    return {-std::max(0.0, static_cast<double>(processed) - static_cast<double>(w.processed)) / uncached, id, 0};
  };
  Order order;
  for (std::uint32_t i = 0; i < queue.waiters.size(); ++i)
    order.insert(std::find_if(order.begin(), order.end(), [&](std::uint32_t other) { return key(i) < key(other); }), i);
  return order;
}

}  // namespace

TEST_CASE("each schedule orders random queues as its rules, written plainly, do") {
  std::size_t moved = 0, deferred = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const Queue queue = random_queue(seed);
    for (const Schedule schedule :
         {Schedule::fcfs, Schedule::lpm, Schedule::shortest_prefill_first, Schedule::hrrn, Schedule::lof}) {
      Rules rules{.schedule = schedule};
      rules.priorities = static_cast<Priorities>(seed % 3);
      if (seed % 5 == 0) rules.unknown = -1;
      if (seed % 5 == 1) rules.unknown = 4, rules.shared = 31;
      const Order order = queue.order(rules, 150);
      CAPTURE(name_of(schedule));
      CAPTURE(seed);
      CHECK(order == plain(queue, rules, 150));
      moved += !std::ranges::is_sorted(order);
      if (schedule == Schedule::lpm) deferred += std::ranges::count(deferred_by_tree(queue, rules), true) > 0;
    }
  }
  CHECK(moved > 5000);
  CHECK(deferred > 500);
}

TEST_CASE("lpm and hrrn stop looking where too many wait, and the limit can be lifted") {
  Queue queue;
  for (std::uint32_t i = 0; i < 129; ++i) {
    Waiter waiter;
    waiter.prompt = 200;
    waiter.found = waiter.usable = i;
    waiter.id = 500 - i;
    queue.add(waiter, std::vector<Token>(200, i));
  }
  Order arrival(129), reversed(129);
  std::iota(arrival.begin(), arrival.end(), 0U);
  std::reverse_copy(arrival.begin(), arrival.end(), reversed.begin());
  for (const Schedule schedule : {Schedule::lpm, Schedule::hrrn}) {
    Rules rules{.schedule = schedule};
    CHECK(queue.order(rules) == arrival);
    CHECK_FALSE(reads_cache(rules, 129));
    CHECK(reads_cache(rules, 128));
    rules.most_matched = 0;
    CHECK(queue.order(rules) == reversed);
    CHECK(reads_cache(rules, 129));
  }
  CHECK(queue.order({.schedule = Schedule::shortest_prefill_first}) == reversed);
  CHECK_FALSE(reads_cache({.schedule = Schedule::fcfs}, 1));
  CHECK_FALSE(reads_cache({.schedule = Schedule::lof}, 1));
}

TEST_CASE("of requests with one unknown beginning the first starts and the others come last") {
  const std::vector<Token> beginning(32, 7);
  auto longer = beginning, other = beginning;
  longer.push_back(8);
  other[31] = 9;
  Queue queue;
  queue.add({}, beginning);
  queue.add({}, longer);
  queue.add({.found = 33, .usable = 33}, longer);  // its prefix is known to the cache: no need to wait for it
  queue.add({}, other);
  queue.add({.space = NamespaceId{1}}, longer);
  queue.add({}, beginning);
  CHECK(queue.order({.schedule = Schedule::lpm}) == Order{2, 0, 3, 4, 1, 5});
  CHECK(queue.order({.schedule = Schedule::lpm, .unknown = -1}) == Order{2, 0, 1, 3, 4, 5});
  CHECK(queue.order({.schedule = Schedule::lpm, .shared = 33}) == Order{2, 0, 1, 3, 4, 5});
}

TEST_CASE("dfs-weight asks the cache for the order of the nodes that the requests were found in") {
  Queue queue;
  queue.add({.node = NodeId{5}}, {});
  queue.add({.node = NodeId{6}}, {});
  std::vector<NodeId> weighed;
  const auto order = queue.order({.schedule = Schedule::dfs_weight, .most_matched = 1}, 0,
                                 [&](std::span<const NodeId> ends, std::span<std::uint32_t> into) {
                                   weighed.assign(ends.begin(), ends.end());
                                   into[0] = 1, into[1] = 0;
                                 });
  CHECK(order == Order{1, 0});
  CHECK(weighed == std::vector<NodeId>{NodeId{5}, NodeId{6}});
}
