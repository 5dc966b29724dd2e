#pragma once

#include <canopy/engine/pool.h>
#include <canopy/prefix_index.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy {

/// Every page has one owner, always: free + evictable + protected + owned = the pool's pages, per group. Each term
/// comes from its own source (the allocator, the index, the requests' page rows), so that the sum can fail.
class Ledger {
 public:
  /// One group after one operation. `owned`: pages that requests own, kept by the caller as rows change and proved
  /// against the rows by Engine::audit.
  void check(const Pool& pool, const PrefixIndex& index, std::size_t group, Units page_size, std::uint64_t owned,
             const char* after);
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

 private:
  std::uint64_t checks_ = 0, violations_ = 0;
  std::vector<std::string> reports_;
};

}  // namespace canopy
