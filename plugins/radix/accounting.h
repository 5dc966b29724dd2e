#pragma once

#include <canopy/types.h>

#include <array>
#include <cstdint>

namespace canopy::radix {

/// The values of the option `accounting`, in the order of kAccountingNames.
enum class AccountingName : std::uint32_t { standard, sglang };
inline constexpr std::array<const char*, 2> kAccountingNames = {"default", "sglang"};

/// What counts as a use of a node, and when the clock ticks: six questions and the answer of each accounting to them.
/// The index asks these questions and never for the name, so another accounting is one more row.
struct Accounting {
  /// Tick: does each operation take exactly one tick? If not, the clock ticks where SGLang's RadixCache reads its own:
  /// twice more for each new node, and not at all in release, evict and flush.
  bool tick_per_operation;
  /// Walk: does a walk make each node that it visits recent, before it is known how much of the node matches?
  bool walk_touches;
  /// Match end: is a match a use, which counts as a hit and makes recent what it locks?
  bool match_counts;
  /// Split: is the upper half created now and used now? If not, both halves keep the node's history.
  bool split_is_new;
  /// Insert node: does an insert count, and count as a hit, in each node on its path? If not, it counts in the node in
  /// which it ends, and is no hit.
  bool insert_counts_on_path;
  /// Hand over: does a node that is evicted hand its recency, priority and inserts to its parent? Only then may the
  /// halves of a split share out these facts, which else both halves keep.
  bool hands_over;

  static constexpr Accounting of(AccountingName name);
  Tick first_tick() const { return tick_per_operation ? 0 : 2; }  ///< SGLang's root reads the clock twice
};

constexpr Accounting Accounting::of(AccountingName name) {
  constexpr std::array<Accounting, kAccountingNames.size()> kRows = {{
      // A match that is used is a hit and is what recency remembers; a split changes no history.
      {true, false, true, false, false, true},
      // SGLang's RadixCache, exactly: an insert is a hit, and a walk makes recent what it only looks at.
      {false, true, false, true, true, false},
  }};
  return kRows[static_cast<std::size_t>(name)];
}

}  // namespace canopy::radix
