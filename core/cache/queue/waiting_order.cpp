#include <canopy/engine/waiting_order.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "in_batch.h"

namespace canopy::scheduling {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Sorts by the key of each request, the lowest first; ties keep the given order.
template <class Key>
void sort_by(std::vector<std::uint32_t>& order, const Key& key) {
  // Not std::stable_sort, whose buffer is deprecated in libstdc++ 12.
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::tuple(key(i), i); });
}

std::int64_t by_priority(const Waiter& waiter, Priorities priorities) {
  if (priorities == Priorities::ignored) return 0;
  return priorities == Priorities::low_first ? waiter.priority : -std::int64_t{waiter.priority};
}

/// Returns the tokens to compute, at least 1.
std::size_t work(const Waiter& waiter) {
  return std::max<std::size_t>(1, waiter.tokens.size() - std::min<std::size_t>(waiter.tokens.size(), waiter.usable));
}

/// Returns the sort key of hrrn. SGLang counts only the prompt here, not the output of a retracted request.
double response_ratio(const Waiter& waiter, std::uint64_t processed) {
  if (waiter.prompt <= waiter.usable) return kNever;
  const std::uint64_t waited = processed - std::min(processed, waiter.processed);
  return static_cast<double>(waited) / (waiter.prompt - waiter.usable);
}

bool is_cut_off(const Rules& rules, std::size_t waiting) {
  return (rules.schedule == Schedule::lpm || rules.schedule == Schedule::hrrn) && rules.most_matched != 0 &&
         waiting > rules.most_matched;
}

}  // namespace

bool reads_cache(const Rules& rules, std::size_t waiting) {
  return rules.schedule != Schedule::fcfs && rules.schedule != Schedule::lof && !is_cut_off(rules, waiting);
}

std::vector<std::uint32_t> waiting_order(std::span<const Waiter> waiting, const Rules& rules, std::uint64_t processed,
                                         const ByWeight& by_weight) {
  std::vector<std::uint32_t> order(waiting.size());
  std::iota(order.begin(), order.end(), 0U);
  if (is_cut_off(rules, waiting.size())) return order;
  std::vector<bool> last;
  if (reads_cache(rules, waiting.size()) && rules.schedule != Schedule::dfs_weight) last = deferred(waiting, rules);
  switch (rules.schedule) {
    case Schedule::fcfs:
      if (rules.priorities == Priorities::ignored) break;
      sort_by(order, [&](std::uint32_t i) {
        return std::tuple(by_priority(waiting[i], rules.priorities), waiting[i].arrival);
      });
      break;
    case Schedule::lpm:
      // Requests that come last keep their order, whatever they match.
      sort_by(order, [&](std::uint32_t i) {
        return std::tuple(bool{last[i]}, last[i] ? 0 : -std::int64_t{waiting[i].usable});
      });
      break;
    case Schedule::dfs_weight: {
      std::vector<NodeId> ends;
      ends.reserve(waiting.size());
      for (const Waiter& waiter : waiting) ends.push_back(waiter.node);
      by_weight(ends, order);
      break;
    }
    case Schedule::shortest_prefill_first:
      sort_by(order, [&](std::uint32_t i) { return std::tuple(bool{last[i]}, work(waiting[i]), waiting[i].arrival); });
      break;
    case Schedule::hrrn: {
      std::vector<double> ratio(waiting.size());
      for (std::size_t i = 0; i < waiting.size(); ++i)
        ratio[i] = last[i] ? -kNever : response_ratio(waiting[i], processed);
      sort_by(order, [&](std::uint32_t i) { return std::tuple(-ratio[i], waiting[i].id); });
      break;
    }
    case Schedule::lof:
      sort_by(order, [&](std::uint32_t i) {
        return std::tuple(by_priority(waiting[i], rules.priorities), -std::int64_t{waiting[i].output_limit});
      });
      break;
  }
  return order;
}

}  // namespace canopy::scheduling
