#pragma once

#include <canopy/types.h>

#include <array>
#include <cstdint>

namespace canopy::radix {

/// The values of the option `accounting`, in the order of kAccountingNames.
enum class AccountingName : std::uint32_t { standard, sglang, sglang_unified };
inline constexpr std::array<const char*, 3> kAccountingNames = {"default", "sglang", "sglang_unified"};

/// What counts as a use of a node, and when the clock ticks: a few questions and the answer of each accounting to them.
/// The index asks these questions and never for the name, so another accounting is one more row.
struct Accounting {
  /// What of a group with a reach is made recent where a match or an insert ends.
  enum class Windows : std::uint32_t {
    with_path,          ///< nothing there: such a group is made recent wherever whole-path groups are
    locked,             ///< what the lock holds, and where an insert ends the deepest node with pages
    locked_and_a_page,  ///< the nodes that hold the window and a page more; of a state (reach 1) the one used
  };
  /// What a split makes recent in whole-path groups.
  enum class Split : std::uint32_t {
    nothing,       ///< both halves keep the node's history
    upper_is_new,  ///< the upper half is created now and used now
    both_used,     ///< both halves are used now, the lower one last
  };

  /// Tick: does each operation take exactly one tick? If not, the clock ticks where SGLang's RadixCache reads its own:
  /// twice more for each new node, and not at all in release, evict and flush.
  bool tick_per_operation;
  /// Walk: does the walk of a match make each node that it visits recent, before it is known how much of it matches?
  bool match_walk_touches;
  /// The same of an insert's walk?
  bool insert_walk_touches;
  /// Match end: does a match make the path that it found recent?
  bool match_touches;
  /// Match end: does a match count as a hit on that path?
  bool match_is_hit;
  Windows windows;
  Split split;
  /// Insert node: does an insert count, and count as a hit, in each node on its path? If not, it counts in the node in
  /// which it ends, and is no hit.
  bool insert_counts_on_path;
  /// If so: does a request count once in each node, when it inserts there first (InsertFacts::inserted)? If not, its
  /// chunks do not count and everything else does.
  bool counts_once_a_request;
  /// Hand over: does a node that is evicted hand its recency, priority and inserts to its parent? Only then may the
  /// halves of a split share out these facts, which else both halves keep.
  bool hands_over;

  static constexpr Accounting of(AccountingName name);
  Tick first_tick() const { return tick_per_operation ? 0 : 2; }  ///< SGLang's root reads the clock twice
};

constexpr Accounting Accounting::of(AccountingName name) {
  constexpr std::array<Accounting, kAccountingNames.size()> kRows = {{
      // A match that is used is a hit and is what recency remembers; a split changes no history.
      {true, false, false, true, true, Windows::locked, Split::nothing, false, false, true},
      // SGLang's RadixCache of August 2026, exactly: an insert is a hit, and a walk makes recent what it only looks at.
      {false, true, true, false, false, Windows::with_path, Split::upper_is_new, true, false, false},
      // UnifiedRadixCache of SGLang 0.5.23.
      {false, false, true, true, false, Windows::locked_and_a_page, Split::both_used, true, true, false},
  }};
  return kRows[static_cast<std::size_t>(name)];
}

}  // namespace canopy::radix
