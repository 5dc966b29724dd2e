#pragma once

#include <canopy/prefix_index.h>

#include <array>
#include <cstdint>
#include <string>

#include "cases.h"

namespace canopy::bench {

/// The calls of a replay that are timed, each kind separately.
enum Step : std::size_t { match, insert, evict, release, pages, kSteps };
constexpr std::array<const char*, kSteps> kStepNames{"match", "insert", "evict", "release", "pages"};

/// The times and results of a replay of the source through an index.
struct Replayed {
  std::array<double, kSteps> seconds{};
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;
  std::uint64_t resident_tokens = 0;
  IndexUse use;
  double four() const { return seconds[match] + seconds[insert] + seconds[evict] + seconds[release]; }
};

/// Replays the source of the options, one request after the other, with only the calls that an engine makes to its
/// index. An empty `index_name` means the original's algorithm. The words of a prompt are written just before its
/// calls, as by a tokenizer, and so are the prints that a policy reads; the tree's memory is as cold as the earlier
/// requests have left it.
Result<Replayed> replay_index(const Setting& setting, const std::string& index_name, Units page_size,
                              const std::string& index_options = {}, const std::string& policy = "lru");

}  // namespace canopy::bench
