#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy::test {

/// What an engine can do to an index and its allocator.
enum class Verb : std::uint8_t {
  match,    ///< `as` keeps the lock
  insert,   ///< `below` continues from a lock, which it replaces; `as` keeps the new one
  release,  ///< `name`; `finished` tells the policies
  evict,    ///< `count` pages
  flush,    ///< `space`
  clear,
  peek,
  hold,    ///< a request takes `count` pages and has not inserted them; `as` names them
  drop,    ///< `name` gives held pages back
  remap,   ///< gives `count` unlocked pages other numbers
  policy,  ///< another instance of the same policy
  state,   ///< looks at everything: sizes, nodes, those who wait
};

struct Operation {
  Verb verb{};
  std::string as, name;  ///< `name` is also what an insert continues below
  NamespaceId space{};
  std::uint32_t count = 0;
  std::int32_t priority = 0;
  bool chunked = false, finished = false;
  std::vector<std::uint32_t> words;
};

/// What one operation answered: "had" 4, "spare" 1.
using Outcome = std::vector<std::pair<std::string_view, std::uint64_t>>;

/// The world a program of operations runs in.
struct WorldConfig {
  std::string index = "radix", options = "{}", policy = "lru", allocator = "free_list";
  Units page_size = 4, overlap = 0;
  std::uint32_t capacity = 64;  ///< pages
  std::uint32_t namespaces = 1;
  std::uint32_t walk_every = 1'000;  ///< operations between two walks over everything
};

/// One line of a scenario file, without expectations.
std::string text_of(const Operation& operation);
std::string text_of(const WorldConfig& config);

/// A Mismatch says what cannot be understood.
Operation operation_from(std::string_view line);
WorldConfig config_from(std::string_view line);

}  // namespace canopy::test
