#pragma once

#include <canopy/base/registry.h>
#include <canopy/base/result.h>

#include <cstdint>
#include <string>

namespace canopy::verify {

/// The result of a comparison.
struct Verdict {
  std::uint64_t operations = 0, trees = 0;
  /// Empty if they agree; otherwise the first difference, with both sides.
  std::string difference;
};

/// Replays one file of recorded operations of SGLang's RadixCache through the index `radix` in `accounting: sglang`,
/// and compares everything in the recording: return values, freed slots in order, sizes, evictable leaves, the clock,
/// and after every 50th operation the tree with locks, hits, priorities and times. Children are compared as a set keyed
/// by their first slot, because SGLang has one root and this index one for each namespace.
///
/// A file is JSON lines, plain or compressed (<workload/packed_file.h>), named POLICY_pageP_MODE_seedS.jsonl[.gz], MODE
/// plain or eagle: at least one operation, with increasing numbers, then one line that ends it, and nothing after that.
/// Every number is whole and in its range, and the slots of a page are consecutive. Returns an error for any other
/// file.
Result<Verdict> verify_recording(const std::string& path, const Registry& registry);

}  // namespace canopy::verify
