#include <canopy/scheduling/routing.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace canopy::scheduling {
namespace {

/// The first of the workers that `before` puts in front. REQUIRES: one at least.
template <class Before>
std::size_t first_by(std::span<const RouteWorker> workers, Before&& before) {
  return static_cast<std::size_t>(std::min_element(workers.begin(), workers.end(), before) - workers.begin());
}

std::size_t least_loaded(std::span<const RouteWorker> workers) {
  return first_by(workers, [](const RouteWorker& a, const RouteWorker& b) { return a.requests < b.requests; });
}

}  // namespace

/// SplitMix64, in whole numbers, so that a seed means the same on every machine.
std::uint64_t Router::lot(std::uint64_t below) {
  std::uint64_t x = state_ += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return (x ^ (x >> 31)) % below;
}

bool Router::imbalanced(std::span<const RouteWorker> workers) const {
  std::uint64_t most = 0, fewest = ~std::uint64_t{0};
  for (const RouteWorker& worker : workers)
    most = std::max(most, worker.requests), fewest = std::min(fewest, worker.requests);
  return most - fewest > rules_.imbalance_absolute &&
         static_cast<double>(most) > rules_.imbalance_relative * static_cast<double>(fewest);
}

std::size_t Router::cache_aware(std::span<const RouteWorker> workers) const {
  if (imbalanced(workers)) return least_loaded(workers);
  const std::size_t best = first_by(workers, [](const RouteWorker& a, const RouteWorker& b) {
    return std::tuple(b.blocks(), a.requests, a.tree_blocks) < std::tuple(a.blocks(), b.requests, b.tree_blocks);
  });
  return workers[best].blocks() > 0 ? best : least_loaded(workers);
}

std::size_t Router::cache_aware_zmq(std::span<const RouteWorker> workers, const RoutePrompt& prompt) const {
  if (imbalanced(workers)) return least_loaded(workers);
  const auto matches = [&](const RouteWorker& worker) {
    return static_cast<double>(worker.blocks()) > rules_.match_share * prompt.blocks();
  };
  const std::size_t best = first_by(workers, [&](const RouteWorker& a, const RouteWorker& b) {
    return std::pair(!matches(a), a.requests) < std::pair(!matches(b), b.requests);
  });
  return matches(workers[best]) ? best : least_loaded(workers);
}

double Router::value_of(std::span<const RouteWorker> workers, std::size_t at, const RoutePrompt& prompt) const {
  const RouteWorker& worker = workers[at];
  const auto& [device, host, storage] = worker.overlap;
  if (rules_.route == Route::llm_d)
    return rules_.tier_weights[0] * device + rules_.tier_weights[1] * host + rules_.tier_weights[2] * storage;
  if (rules_.route != Route::dynamo) return static_cast<double>(worker.blocks());
  double decay = 1;
  if (rules_.credit_decay > 0) {
    std::uint64_t least = worker.prefill_tokens;
    for (const RouteWorker& other : workers) least = std::min(least, other.prefill_tokens);
    const double excess = static_cast<double>(worker.prefill_tokens - least) / prompt.block_tokens;
    decay = 1 / (1 + rules_.credit_decay * excess / std::max(prompt.blocks(), 1.0));
  }
  const double credit =
      rules_.device_credit * decay * device + rules_.host_credit * host + rules_.storage_credit * storage;
  const double prefill = static_cast<double>(worker.prefill_tokens + prompt.tokens) / prompt.block_tokens;
  // The blocks that the request will use count as well; those that it shares with running ones are among its overlap.
  const double decode = static_cast<double>(worker.decode_blocks) + prompt.blocks();
  return rules_.prefill_scale * std::max(0.0, prefill - credit) + decode +
         rules_.request_weight * static_cast<double>(worker.requests);
}

std::size_t Router::dynamo(std::span<const RouteWorker> workers, const RoutePrompt& prompt) {
  std::vector<double> costs;
  for (std::size_t at = 0; at < workers.size(); ++at) costs.push_back(value_of(workers, at, prompt));
  const auto [least, most] = std::minmax_element(costs.begin(), costs.end());
  if (rules_.temperature <= 0 || *least == *most) {
    std::uint64_t equal = lot(static_cast<std::uint64_t>(std::count(costs.begin(), costs.end(), *least)));
    for (std::size_t at = 0;; ++at)
      if (costs[at] == *least && equal-- == 0) return at;
  }
  // A softmax of the costs, which their range scales.
  std::vector<double> weights;
  double sum = 0;
  for (const double cost : costs)
    sum += weights.emplace_back(std::exp(-(cost - *least) / (*most - *least) / rules_.temperature));
  double left = static_cast<double>(lot(std::uint64_t{1} << 53)) / static_cast<double>(std::uint64_t{1} << 53) * sum;
  for (std::size_t at = 0; at + 1 < weights.size(); ++at)
    if ((left -= weights[at]) < 0) return at;
  return weights.size() - 1;
}

std::size_t Router::llm_d(std::span<const RouteWorker> workers, const RoutePrompt& prompt) {
  std::vector<std::size_t> best;
  double highest = -1;
  for (std::size_t at = 0; at < workers.size(); ++at) {
    const double score = value_of(workers, at, prompt);
    if (score > highest) best.clear(), highest = score;
    if (score == highest) best.push_back(at);
  }
  return best[lot(best.size())];
}

std::size_t Router::choose(std::span<const RouteWorker> workers, const RoutePrompt& prompt) {
  switch (rules_.route) {
    case Route::round_robin:
      return turn_++ % workers.size();
    case Route::random:
      return lot(workers.size());
    case Route::least_loaded:
      return least_loaded(workers);
    case Route::power_of_two: {
      if (workers.size() == 1) return 0;
      const std::size_t one = lot(workers.size());
      std::size_t other = lot(workers.size() - 1);
      other += other >= one;
      return workers[other].requests < workers[one].requests ? other : one;
    }
    case Route::cache_aware:
      return cache_aware(workers);
    case Route::cache_aware_zmq:
      return cache_aware_zmq(workers, prompt);
    case Route::dynamo:
      return dynamo(workers, prompt);
    case Route::llm_d:
      return llm_d(workers, prompt);
  }
  return 0;
}

}  // namespace canopy::scheduling
