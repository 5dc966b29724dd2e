#pragma once

#include <canopy/types.h>

#include <array>
#include <cstdint>

namespace canopy::radix {

/// Values of the option `accounting`, in the order of kAccountingNames.
enum class AccountingName : std::uint32_t { standard, sglang, sglang_unified };
inline constexpr std::array<const char*, 3> kAccountingNames = {"default", "sglang", "sglang_unified"};

/// The rules for counting uses of a node and for ticks of the clock: one value per rule, one row per accounting. The
/// index reads only the rules, never the name, so another accounting is one more row.
struct Accounting {
  /// The nodes that a match or an insert makes recent at its end in a group with a reach.
  enum class Windows : std::uint32_t {
    with_path,          ///< none of its own: a node becomes recent there whenever it does in whole-path groups
    locked,             ///< those that the lock holds; after an insert, the deepest node with pages
    locked_and_a_page,  ///< those that hold the window and one more page; for a state (reach 1), the one used
  };
  /// The nodes that a split makes recent in whole-path groups.
  enum class Split : std::uint32_t {
    nothing,       ///< both halves keep the node's history
    upper_is_new,  ///< the upper half counts as created and used now
    both_used,     ///< both halves count as used now, the lower one last
  };

  /// Tick: each operation takes exactly one tick. If false, the clock ticks whenever SGLang's RadixCache reads its
  /// clock: twice more for each new node, and not at all in release, evict and flush.
  bool tick_per_operation;
  /// Walk: the walk of a match makes each node that it visits recent, before it is known how much of the node matches.
  bool match_walk_touches;
  /// Walk: the walk of an insert does the same.
  bool insert_walk_touches;
  /// Match end: a match makes the path that it found recent.
  bool match_touches;
  /// Match end: a match counts as a hit on that path.
  bool match_is_hit;
  Windows windows;
  Split split;
  /// Insert node: an insert counts, and counts as a hit, in each node on its path. If false, it counts only in the node
  /// in which it ends, and is not a hit.
  bool insert_counts_on_path;
  /// Insert node: a request counts once in each node, when it first inserts there (InsertFacts::inserted). If false,
  /// its chunks do not count, and every other insert does.
  bool counts_once_a_request;
  /// Eviction: an evicted node hands its recency, priority and inserts to its parent. Only then may the halves of a
  /// split divide these facts between them; otherwise both keep them.
  bool hands_over;

  static constexpr Accounting of(AccountingName name);
  Tick first_tick() const { return tick_per_operation ? 0 : 2; }  ///< SGLang's root reads its clock twice
};

constexpr Accounting Accounting::of(AccountingName name) {
  constexpr std::array<Accounting, kAccountingNames.size()> kRows = {{
      // A match is a hit and a use; a split changes no history.
      {true, false, false, true, true, Windows::locked, Split::nothing, false, false, true},
      // SGLang's RadixCache of August 2026, exactly: an insert is a hit, and a walk makes each node that it visits
      // recent.
      {false, true, true, false, false, Windows::with_path, Split::upper_is_new, true, false, false},
      // UnifiedRadixCache of SGLang 0.5.23.
      {false, false, true, true, false, Windows::locked_and_a_page, Split::both_used, true, true, false},
  }};
  return kRows[static_cast<std::size_t>(name)];
}

}  // namespace canopy::radix
