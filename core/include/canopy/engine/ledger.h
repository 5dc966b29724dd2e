#pragma once

#include <canopy/index_upkeep.h>
#include <canopy/slot_allocator.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

/// Checks that every page has exactly one owner: free + evictable + protected + owned + moving = the pages of the pool,
/// in each group. Each term comes from a different source (the allocator, the index, the page rows of the requests, the
/// transfers), so the sum can be wrong.
///
/// It takes the memory for its reports when it is made, and needs none to record a violation.
class Ledger {
 public:
  static constexpr std::size_t kReports = 8, kMostBytes = 1000;  ///< reports that are kept, and bytes of each

  Ledger();
  Ledger(const Ledger&) = delete;
  /// Checks one group after the operation `after`. `owned`: pages that requests own, updated by the caller as rows
  /// change, and verified against the rows by Engine::audit. `moving`: pages that a transfer between tiers uses.
  void check(const std::string& group, const Occupancy& pool, const Sizes& index, Units page_size, std::uint64_t owned,
             std::uint64_t moving, const char* after);
  /// Records a violation unless `holds`. `message` returns the error message, and is called only then.
  template <class Message>
  void expect(bool holds, Message&& message) {
    ++checks_;
    if (!holds) violated(message());
  }

  std::uint64_t checks() const { return checks_; }
  std::uint64_t violations() const { return violations_; }
  /// Returns the error messages of the first few violations.
  const std::vector<std::string>& reports() const { return reports_; }
  /// Records a violation. `sentence`: its error message, which is cut after kMostBytes.
  void violated(std::string_view sentence) noexcept;
  /// Also reports violations to `upper`, prefixed with `as`. REQUIRES: `upper` outlives this ledger.
  void report_to(Ledger& upper, std::string as) { upper_ = &upper, as_ = std::move(as); }

 private:
  Ledger* upper_ = nullptr;
  std::string as_;
  std::uint64_t checks_ = 0, violations_ = 0;
  std::vector<std::string> reports_;
  std::vector<std::string> room_;  ///< texts with memory for the reports to come
};

}  // namespace canopy
