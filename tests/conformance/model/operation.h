#pragma once

#include "outcome.h"

#include <canopy/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::test {

/// The operations of an engine on an index and its allocator.
enum class Verb : std::uint8_t {
  match,    ///< `as` stores the lock
  insert,   ///< `below` continues from a lock, which it replaces; `as` stores the new lock
  release,  ///< `name`; `finished` is passed to the policies
  evict,    ///< `count` pages of `group`; `of`: only of this tenant, and at most `most`
  flush,    ///< `space`
  clear,
  peek,
  own,     ///< a request owns `count` pages of `group` that it has not inserted; `as` stores them
  drop,    ///< `name` returns its pages
  remap,   ///< relocates `count` unlocked pages of `group`
  policy,  ///< replaces the policy of `group` by a new instance of the same policy; `of`: of this tenant, by `policy`
  state,   ///< checks everything: sizes, nodes, the queue of evictable nodes
  tree,    ///< the shape
  relax,   ///< limits the lock `name` to `group` from depth `count` on; no effect on a whole path
  find,    ///< `as` stores the result
  hold,    ///< locks the result `name`; `as` stores the lock
  assign,  ///< `space` to the tenant `of`
  keep,    ///< keeps the path of the lock `name` once more
  unkeep,  ///< undoes a keep of the lock `name`
};

struct Operation {
  Verb verb{};
  std::string as, name;  ///< `name`: for an insert, the lock to continue from
  NamespaceId space{};
  std::uint32_t count = 0;
  std::int32_t priority = 0;
  bool chunked = false, finished = false;
  std::string group;                            ///< empty: the first group
  std::map<std::string, std::uint32_t> from{};  ///< depth from which pages of a group are brought; others: all
  std::optional<TenantId> of{};
  std::optional<std::uint32_t> most{};  ///< none: any number
  std::string policy{};                 ///< empty: the group's
  std::vector<std::uint32_t> words{};
};

/// One KV cache group of a world. Empty or 0: the world's setting.
struct GroupSettings {
  std::string name;
  Units reach = kWholePath;    ///< in printed depths
  std::uint32_t capacity = 0;  ///< pages
  std::string policy;
};

/// The configuration of the world in which a program runs.
struct WorldConfig {
  std::string index = "radix", options = "{}", policy = "lru", policy_options = "{}", allocator = "free_list";
  Units page_size = 4, overlap = 0;
  std::uint32_t capacity = 64;  ///< pages
  std::uint32_t namespaces = 1;
  std::vector<GroupSettings> groups;  ///< empty: one group with the whole path
  /// Tenants among which a random program assigns its namespaces; 0: it assigns none.
  std::uint32_t tenants = 0;
  std::vector<std::string> tenant_policies{"fifo", "lfu", "lru"};  ///< policies that it gives to tenants
  bool requests = false;                  ///< true: an Engine and requests; false: an index and locks
  bool words_are_pages = false;           ///< true: each word of a key is one page, and depths are printed in pages
  bool insert_at_finish = true;           ///< setting of an Engine
  bool scenario = false;                  ///< hand-written lines: every name must exist, and results are complete
  std::vector<std::string> other_groups;  ///< groups of the same scenario in another world; skipped in this one
  std::uint32_t walk_every = 1'000;       ///< operations between two complete walks
};

/// Returns true if the operation is for a single group.
bool takes_group(Verb verb);

/// Returns one line of a scenario file, without expectations.
std::string text_of(const Operation& operation);
std::string text_of(const WorldConfig& config);

/// Returns the words of a key as the world uses them.
std::vector<std::uint32_t> words_in(const WorldConfig& config, const std::vector<std::uint32_t>& words);

/// Parses a line. Throws a Mismatch if it cannot.
Operation operation_from(std::string_view line);
WorldConfig config_from(std::string_view line);

}  // namespace canopy::test
