// Admission and the first match of a request look up the same key: all of its usable tokens, or none. It is none if,
// with the prefix, a group with a reach would need more pages than its pool may have. So a prefix is never the reason
// that a request is too large for its pools.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <cache/guard/index_port.h>

#include "request_flow.h"

namespace canopy {

/// Returns an error message about an invalid `spec`. REQUIRES: it is invalid.
std::string RequestFlow::flaw_of(const RequestSpec& spec) const {
  if (!state_.spaces.knows(spec.space))
    return fmt::format("namespace {} was never interned: Engine::intern gave numbers below {}",
                       static_cast<std::uint64_t>(spec.space), state_.spaces.size());
  return fmt::format("a prompt of {} tokens: a request has at most {}", spec.prompt.size(), kMostTokens);
}

/// Returns the pages that a fully relaxed lock keeps to identify itself: one if no group holds whole paths.
std::size_t RequestFlow::kept_by_a_lock() const {
  return std::any_of(state_.pools.begin(), state_.pools.end(),
                     [](const Pool& pool) { return pool.needs().whole_path(); })
             ? 0
             : 1;
}

void RequestFlow::refuse(const RequestSpec& spec, const char* call) {
  state_.ledger.violated(fmt::format("{}: {}", call, flaw_of(spec)));
}

/// Returns the part of `usable` that a request of `prompt` tokens looks up in the index: nothing if, with the prefix it
/// would find, it could not run even in otherwise empty pools. After a prefix that a window keeps, the steps of a
/// prefill begin at other places, so a request can need more pages than without the prefix.
Key RequestFlow::reusable(const Key& usable, std::uint64_t prompt, std::uint64_t total, std::uint64_t chunk) {
  const std::uint64_t kept = kept_by_a_lock(), step = chunk ? std::min(chunk, prompt) : prompt;
  const auto roomy = [&](const Pool& pool) {
    return pool.needs().whole_path() || pool.needs().peak_at_most(step) + kept <= pool.limit();
  };
  if (std::all_of(state_.pools.begin(), state_.pools.end(), roomy)) return usable;
  const Units matched = state_.index->peek(usable).length;
  const auto fits = [&](const Pool& pool) {
    return roomy(pool) ||
           pool.needs().peak(matched, matched / state_.page_size, prompt, total, chunk) + kept <= pool.limit();
  };
  if (std::all_of(state_.pools.begin(), state_.pools.end(), fits)) return usable;
  return {usable.space, {}};
}

/// Returns the part of a future request's prompt that it may look up in the index.
Key RequestFlow::reusable_key(const RequestSpec& spec) {
  const std::size_t prompt = spec.prompt.size();
  const Key usable{spec.space, words_of(spec).first(prompt - std::min<std::size_t>(prompt, spec.min_uncached))};
  return reusable(usable, prompt, std::uint64_t{prompt} + spec.output_limit, spec.chunk);
}

Found RequestFlow::find(const RequestSpec& spec) {
  if (refuses(spec, "Engine::find")) return {};
  const Key key = reusable_key(spec);
  return timed(state_, [&] { return state_.index->find(key); });
}

void RequestFlow::prefetch(std::span<const RequestSpec> specs) {
  std::array<Key, kPrefetched> keys;
  std::size_t count = 0;
  for (const RequestSpec& spec : specs.first(std::min(specs.size(), kPrefetched))) {
    if (!possible(spec)) continue;
    KeyWords& words = prefetched_words_[count];
    words.clear();
    keys[count++] = {spec.space, state_.codec->encode(spec.prompt, words)};
  }
  timed(state_, [&] { state_.index->prefetch(std::span(keys).first(count)); });
}

Admission RequestFlow::admits(const RequestSpec& spec) {
  if (!possible(spec)) return {Admission::Verdict::never, flaw_of(spec)};
  const std::uint64_t prompt = spec.prompt.size(), total = prompt + spec.output_limit;
  const Probe probe = state_.index->peek(reusable_key(spec));
  const std::size_t kept = kept_by_a_lock();
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    const Pool& pool = state_.pools[g];
    if (pool.limit() == kUnlimited) continue;
    const PageNeeds& needs = pool.needs();
    const std::size_t most = needs.peak(0, 0, prompt, total, spec.chunk) + kept;
    if (most > pool.limit() && pool.was_refused()) pages_.may_be_free(g, most);  // the system may have memory now
    if (most > pool.limit())
      return {Admission::Verdict::never, fmt::format("the request needs {} pages of group '{}' for {} prompt and up to "
                                                     "{} output tokens, and the pool has {}{}{}",
                                                     most, pool.group(), prompt, spec.output_limit, pool.limit(),
                                                     pool.memory().empty() ? "" : "; ", pool.memory())};
    // Locking the prefix protects its evictable part: those pages cannot be evicted for the rest.
    const std::size_t taken = probe.evictable[g] / state_.page_size;
    const std::size_t wanted = needs.peak(probe.length, taken, prompt, total, spec.chunk) + kept;
    if (const std::uint64_t room = pages_.room(g); wanted > room)
      return {
          Admission::Verdict::wait,
          fmt::format(
              "the request needs {} more pages of group '{}', and {} are free, evictable or available from the system",
              wanted - std::min(wanted, taken), pool.group(), room - std::min<std::uint64_t>(room, taken))};
  }
  return {};
}

}  // namespace canopy
