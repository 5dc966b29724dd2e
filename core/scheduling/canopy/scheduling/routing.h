#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace canopy::scheduling {

/// How a router chooses a worker for a request, by the names and with the rules of routers that people run.
enum class Route : std::uint32_t {
  round_robin,   ///< one after the other
  random,        ///< any
  least_loaded,  ///< fewest requests
  power_of_two,  ///< of two that are drawn, the one with fewer requests
  /// SGLang's gateway (smg 1.13, cache_aware with KV events): fewest requests while the loads are imbalanced; else most
  /// overlapping blocks, of equal ones fewer requests, then the smaller tree; without overlap fewest requests.
  cache_aware,
  /// SGLang's experimental router (2026-08, cache_aware_zmq): fewest requests while imbalanced; else of the workers
  /// that have more than half of the prompt the one with fewest requests; without such a worker fewest requests of all.
  cache_aware_zmq,
  /// NVIDIA Dynamo 1.6, KV router: the lowest sum of blocks to prefill, those that wait included, less a credit for
  /// overlap, and blocks in use. Equal ones by lot.
  dynamo,
  /// llm-d's prefix scorer (llm-d-kv-cache, 2026-06): the highest sum of the overlap's blocks, weighted by tier. Equal
  /// ones by lot.
  llm_d,
};
inline constexpr std::array<const char*, 8> kRouteNames = {
    "round_robin", "random", "least_loaded", "power_of_two", "cache_aware", "cache_aware_zmq", "dynamo", "llm_d"};

/// The constants of the routers' own releases.
struct RouteRules {
  Route route = Route::round_robin;
  // cache_aware and cache_aware_zmq: imbalanced if most - fewest requests > absolute and most > relative * fewest.
  std::uint64_t imbalance_absolute = 32;
  double imbalance_relative = 1.1;
  double match_share = 0.5;  ///< cache_aware_zmq
  // dynamo:
  double prefill_scale = 1, device_credit = 1, host_credit = 0.75, storage_credit = 0.25;
  double credit_decay = 0;    ///< 0: overlap counts in full, however much waits for prefill
  double request_weight = 0;  ///< blocks that each active request counts as
  double temperature = 0;     ///< above 0: by lot, weighted by a softmax of the costs
  /// llm_d: of a block on the device, in host memory, and in storage.
  std::array<double, 3> tier_weights = {1.0, 0.8, 0.3};
};

/// A worker as its router knows it. What the rules in use do not read may be left out.
struct RouteWorker {
  std::array<std::uint32_t, 3> overlap{};  ///< blocks of the prompt's unbroken prefix: device, host, storage
  std::uint64_t requests = 0;              ///< that run or wait there
  std::uint64_t prefill_tokens = 0;        ///< of those, that are still to be computed
  std::uint64_t decode_blocks = 0;         ///< in use by its requests
  std::uint64_t tree_blocks = 0;           ///< of its cache

  std::uint64_t blocks() const { return std::uint64_t{overlap[0]} + overlap[1] + overlap[2]; }
};

/// A request as its router sees it.
struct RoutePrompt {
  std::uint64_t tokens = 0;
  std::uint32_t block_tokens = 1;  ///< at least 1
  double blocks() const { return static_cast<double>(tokens) / block_tokens; }
};

/// Chooses workers. The same rules, seed and questions give the same answers.
class Router {
 public:
  Router(const RouteRules& rules, std::uint64_t seed) : rules_(rules), state_(seed) {}

  /// The number of a worker. REQUIRES: there is one.
  std::size_t choose(std::span<const RouteWorker> workers, const RoutePrompt& prompt);
  /// What the formula gives a worker: dynamo's cost, the lower the better; llm_d's score; else its overlap in blocks.
  double value_of(std::span<const RouteWorker> workers, std::size_t at, const RoutePrompt& prompt) const;

 private:
  std::uint64_t lot(std::uint64_t below);
  std::size_t cache_aware(std::span<const RouteWorker> workers) const;
  std::size_t cache_aware_zmq(std::span<const RouteWorker> workers, const RoutePrompt& prompt) const;
  std::size_t dynamo(std::span<const RouteWorker> workers, const RoutePrompt& prompt);
  std::size_t llm_d(std::span<const RouteWorker> workers, const RoutePrompt& prompt);
  bool imbalanced(std::span<const RouteWorker> workers) const;

  RouteRules rules_;
  std::uint64_t state_, turn_ = 0;
};

}  // namespace canopy::scheduling
