#pragma once

#include <canopy/index_upkeep.h>
#include <canopy/slot_allocator.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy {

/// Checks that every page has exactly one owner: free + evictable + protected + owned + moving = the pages of the pool,
/// in each group. Each term comes from a different source (the allocator, the index, the page rows of the requests, the
/// transfers), so the sum can be wrong.
class Ledger {
 public:
  /// Checks one group after the operation `after`. `owned`: pages that requests own, updated by the caller as rows
  /// change, and verified against the rows by Engine::audit. `moving`: pages that a transfer between tiers uses.
  void check(const std::string& group, const Occupancy& pool, const Sizes& index, Units page_size, std::uint64_t owned,
             std::uint64_t moving, const char* after);
  /// Records a violation unless `holds`. `sentence` returns the error message, and is called only then.
  template <class Sentence>
  void expect(bool holds, Sentence&& sentence) {
    ++checks_;
    if (!holds) violated(sentence());
  }

  std::uint64_t checks() const { return checks_; }
  std::uint64_t violations() const { return violations_; }
  /// Returns the error messages of the first few violations.
  const std::vector<std::string>& reports() const { return reports_; }
  void violated(std::string sentence);
  /// Also reports violations to `upper`, prefixed with `as`. REQUIRES: `upper` outlives this ledger.
  void report_to(Ledger& upper, std::string as) { upper_ = &upper, as_ = std::move(as); }

 private:
  Ledger* upper_ = nullptr;
  std::string as_;
  std::uint64_t checks_ = 0, violations_ = 0;
  std::vector<std::string> reports_;
};

}  // namespace canopy
