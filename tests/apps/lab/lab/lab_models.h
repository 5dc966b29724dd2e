#pragma once

#include <canopy/base/random.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <lab/history.h>
#include <lab/prints.h>

/// Small traces and caches without any cleverness, for the tests of the lab: a cache is a set of prefixes.
namespace lab_models {

using Prompt = std::vector<std::uint32_t>;
using Prompts = std::vector<Prompt>;
using Cache = std::set<Prompt>;  ///< prefixes; with one, all that are shorter

/// Prompts that branch often: each begins as an earlier one does, for some length.
inline Prompts random_prompts(std::uint64_t seed, std::uint32_t count, std::uint32_t most_units,
                              std::uint32_t letters) {
  canopy::Random random(seed);
  Prompts all;
  while (all.size() < count) {
    Prompt prompt;
    if (!all.empty() && !random.one_in(4)) {
      prompt = all[random.below(static_cast<std::uint32_t>(all.size()))];
      prompt.resize(random.below(static_cast<std::uint32_t>(prompt.size()) + 1));
    }
    const std::uint32_t length = 1 + random.below(most_units);
    while (prompt.size() < length) prompt.push_back(random.below(letters));
    all.push_back(std::move(prompt));
  }
  return all;
}

inline canopy::lab::History history_of(const Prompts& prompts, canopy::lab::Cut cut = {}) {
  canopy::lab::History history;
  std::vector<std::uint64_t> prints;
  for (const Prompt& prompt : prompts) {
    canopy::lab::print_units(cut, canopy::NamespaceId::shared, prompt, prints);
    history.add(prints);
  }
  return history;
}

inline Cache path_of(const Prompt& prompt) {
  Cache path;
  for (std::size_t length = 1; length <= prompt.size(); ++length)
    path.insert(Prompt(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(length)));
  return path;
}

inline std::size_t matched(const Cache& cache, const Prompt& prompt) {
  std::size_t length = 0;
  while (length < prompt.size() &&
         cache.contains(Prompt(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(length + 1))))
    ++length;
  return length;
}

inline bool is_leaf(const Cache& cache, const Prompt& prefix) {
  const auto next = std::next(cache.find(prefix));
  return next == cache.end() || next->size() <= prefix.size() ||
         !std::equal(prefix.begin(), prefix.end(), next->begin());
}

/// The most hits of any order of evictions, by trying them all: a request matches, then leaves that are not on its path
/// are evicted until it fits, then it is inserted whole. REQUIRES: every request fits.
inline std::size_t best_of_all(const Prompts& prompts, std::size_t capacity) {
  std::map<Cache, std::size_t> reached{{{}, 0}};
  for (const Prompt& prompt : prompts) {
    const Cache path = path_of(prompt);
    std::map<Cache, std::size_t> after;
    for (const auto& [cache, hits] : reached) {
      const std::size_t now = hits + matched(cache, prompt);
      std::set<Cache> seen;
      std::vector<Cache> open{cache};
      while (!open.empty()) {
        const Cache at = std::move(open.back());
        open.pop_back();
        if (!seen.insert(at).second) continue;
        Cache whole = at;
        whole.insert(path.begin(), path.end());
        if (whole.size() <= capacity) {
          std::size_t& best = after[whole];
          best = std::max(best, now);
          continue;  // evicting more than is needed wins nothing: it can be done later
        }
        for (const Prompt& prefix : at)
          if (!path.contains(prefix) && is_leaf(at, prefix)) {
            Cache less = at;
            less.erase(prefix);
            open.push_back(std::move(less));
          }
      }
    }
    reached = std::move(after);
  }
  std::size_t best = 0;
  for (const auto& [cache, hits] : reached) best = std::max(best, hits);
  return best;
}

/// LRU that evicts one leaf unit after the other: the one used longest ago, of one request the deepest. A request that
/// is larger than the pool keeps its first units. Returns the hits of each request.
inline std::vector<std::size_t> trimmed_lru(const Prompts& prompts, std::size_t capacity) {
  std::map<Prompt, std::size_t> used;  // prefix to the number of the request that used it last
  std::vector<std::size_t> hits;
  for (std::size_t number = 0; number < prompts.size(); ++number) {
    const Prompt& prompt = prompts[number];
    Cache cache;
    for (const auto& [prefix, when] : used) cache.insert(prefix);
    hits.push_back(matched(cache, prompt));
    const Cache path = path_of(prompt);
    for (const Prompt& prefix : path) {
      cache.insert(prefix);
      used[prefix] = number;
    }
    while (cache.size() > capacity) {
      const Prompt* victim = nullptr;
      for (const Prompt& prefix : cache) {
        if (!is_leaf(cache, prefix)) continue;
        const auto order = [&](const Prompt& of) { return std::pair(used[of], ~of.size()); };
        if (!victim || order(prefix) < order(*victim)) victim = &prefix;
      }
      used.erase(*victim);
      cache.erase(Prompt(*victim));
    }
  }
  return hits;
}

}  // namespace lab_models
