#pragma once

#include "outcome.h"

#include <canopy/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::test {

/// What an engine can do to an index and its allocator.
enum class Verb : std::uint8_t {
  match,    ///< `as` keeps the lock
  insert,   ///< `below` continues from a lock, which it replaces; `as` keeps the new one
  release,  ///< `name`; `finished` tells the policies
  evict,    ///< `count` pages of `group`
  flush,    ///< `space`
  clear,
  peek,
  own,     ///< a request owns `count` pages of `group` that it has not inserted; `as` names them
  drop,    ///< `name` gives its pages back
  remap,   ///< relocates `count` unlocked pages of `group`
  policy,  ///< `group` gets another instance of the same policy
  state,   ///< looks at everything: sizes, nodes, the queue of nodes that may be evicted
  tree,    ///< the shape
  relax,   ///< the lock `name` holds `group` from depth `count` on only; without effect on a whole path
  find,    ///< `as` keeps what was found
  hold,    ///< locks what `name` found; `as` keeps the lock
};

struct Operation {
  Verb verb{};
  std::string as, name;  ///< `name` is also what an insert continues below
  NamespaceId space{};
  std::uint32_t count = 0;
  std::int32_t priority = 0;
  bool chunked = false, finished = false;
  std::string group;                            ///< empty: the first
  std::map<std::string, std::uint32_t> from{};  ///< depths from which on pages of a group are brought; else all are
  std::vector<std::uint32_t> words{};
};

/// One KV cache group of a world; empty or 0: as the world's.
struct GroupSettings {
  std::string name;
  Units reach = kWholePath;    ///< as depths are told
  std::uint32_t capacity = 0;  ///< pages
  std::string policy;
};

/// The world a program of operations runs in.
struct WorldConfig {
  std::string index = "radix", options = "{}", policy = "lru", policy_options = "{}", allocator = "free_list";
  Units page_size = 4, overlap = 0;
  std::uint32_t capacity = 64;  ///< pages
  std::uint32_t namespaces = 1;
  std::vector<GroupSettings> groups;      ///< none: one, that needs the whole path
  bool requests = false;                  ///< an Engine, and requests; else an index, and locks
  bool words_are_pages = false;           ///< each word of a key stands for a page of them; depths are told in pages
  bool insert_at_finish = true;           ///< of an Engine
  bool scenario = false;                  ///< lines written by hand: every name must exist, and answers are complete
  std::vector<std::string> other_groups;  ///< of the same scenario in another world: passed over in this one
  std::uint32_t walk_every = 1'000;       ///< operations between two walks over everything
};

/// Whether the operation is one of a single group.
bool takes_group(Verb verb);

/// One line of a scenario file, without expectations.
std::string text_of(const Operation& operation);
std::string text_of(const WorldConfig& config);

/// The words of a key as the world is to see them.
std::vector<std::uint32_t> words_in(const WorldConfig& config, const std::vector<std::uint32_t>& words);

/// A Mismatch says what cannot be understood.
Operation operation_from(std::string_view line);
WorldConfig config_from(std::string_view line);

}  // namespace canopy::test
