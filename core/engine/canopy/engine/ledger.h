#pragma once

#include <canopy/engine/pool.h>
#include <canopy/prefix_index.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy {

/// Every page has one owner, always: free + evictable + protected + owned + moving = the pool's pages, per group. Each
/// term comes from its own source (the allocator, the index, the requests' page rows, the transfers), so that the sum
/// can fail.
class Ledger {
 public:
  /// One group after one operation. `owned`: pages that requests own, kept by the caller as rows change and proved
  /// against the rows by Engine::audit. `moving`: pages that a transfer from another tier fills.
  void check(const Pool& pool, const PrefixIndex& index, std::size_t group, Units page_size, std::uint64_t owned,
             std::uint64_t moving, const char* after);
  /// Anything else that must not happen; `sentence` is made only if it did.
  template <class Sentence>
  void expect(bool holds, Sentence&& sentence) {
    ++checks_;
    if (!holds) violated(sentence());
  }

  std::uint64_t checks() const { return checks_; }
  std::uint64_t violations() const { return violations_; }
  /// The first few, a sentence each.
  const std::vector<std::string>& reports() const { return reports_; }
  void violated(std::string sentence);
  /// What is wrong is told to this ledger as well, with words in front. REQUIRES: it lives as long as this one.
  void report_to(Ledger& upper, std::string as) { upper_ = &upper, as_ = std::move(as); }

 private:
  Ledger* upper_ = nullptr;
  std::string as_;
  std::uint64_t checks_ = 0, violations_ = 0;
  std::vector<std::string> reports_;
};

}  // namespace canopy
