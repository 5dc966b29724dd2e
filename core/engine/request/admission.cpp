/// Whether a request can run: arithmetic over what the pools have and what the index could give up.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "request/request_flow.h"

namespace canopy {
namespace {

/// Of a request. Depths are 32-bit numbers, and sums of two of them must not wrap.
constexpr std::size_t kMostTokens = std::size_t{1} << 31;

}  // namespace

/// Why no request can be like this; empty if one can.
std::string RequestFlow::flaw_of(const RequestSpec& spec) const {
  if (!state_.spaces.knows(spec.space))
    return fmt::format("namespace {} was never interned: Engine::intern gave numbers below {}",
                       static_cast<std::uint64_t>(spec.space), state_.spaces.size());
  if (spec.prompt.size() > kMostTokens)
    return fmt::format("a prompt of {} tokens: a request has at most {}", spec.prompt.size(), kMostTokens);
  return {};
}

Admission RequestFlow::admits(const RequestSpec& spec) {
  if (std::string flaw = flaw_of(spec); !flaw.empty()) return {Admission::Verdict::never, std::move(flaw)};
  const std::uint64_t prompt = spec.prompt.size(), total = prompt + spec.output_limit;
  const std::size_t reusable = spec.prompt.size() - std::min<std::size_t>(spec.prompt.size(), spec.min_uncached);
  const Probe probe = state_.index->peek({spec.space, encode(spec.prompt.first(reusable))});
  const bool whole_path =
      std::any_of(state_.pools.begin(), state_.pools.end(), [](const Pool& pool) { return pool.needs().whole_path(); });
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    const Pool& pool = state_.pools[g];
    if (pool.limit() == kUnlimited) continue;
    const PageNeeds& needs = pool.needs();
    // Where no group holds the whole path, a fully relaxed lock keeps one page by which it is identified.
    const std::size_t kept = whole_path ? 0 : 1;
    if (const std::size_t most = needs.peak(0, 0, prompt, total, spec.chunk) + kept; most > pool.limit())
      return {Admission::Verdict::never, fmt::format("the request needs {} pages of group '{}' for {} prompt and up to "
                                                     "{} output tokens, and the pool has {}{}{}",
                                                     most, pool.group(), prompt, spec.output_limit, pool.limit(),
                                                     pool.memory().empty() ? "" : "; ", pool.memory())};
    // Locking the prefix protects its evictable part: those pages cannot be evicted for the rest.
    const std::size_t taken = probe.evictable[g] / state_.page_size;
    const std::size_t most = needs.peak(probe.length, taken, prompt, total, spec.chunk) + kept;
    if (const std::uint64_t room = pages_.room(g); most > room)
      return {Admission::Verdict::wait,
              fmt::format("the request needs {} more pages of group '{}', and {} are free, evictable or to be had",
                          most - std::min(most, taken), pool.group(), room - std::min<std::uint64_t>(room, taken))};
  }
  return {};
}

}  // namespace canopy
