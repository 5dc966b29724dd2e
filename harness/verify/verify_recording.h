#pragma once

#include <canopy/loading/registry.h>
#include <canopy/support/result.h>

#include <cstdint>
#include <string>

namespace canopy::verify {

/// How a recording and our index compare.
struct Verdict {
  std::uint64_t operations = 0, trees = 0;
  /// Empty if they agree; otherwise the first difference, with both sides.
  std::string difference;
};

/// Replays one file of recorded operations of SGLang's RadixCache through our index in `accounting: sglang` and
/// compares everything the recording has: return values, freed slots in order, sizes, evictable leaves, the clock,
/// and every 50th operation the tree with locks, hits, priorities and times. Children are compared as a set keyed
/// by their first slot, since theirs share one root and ours have one for each namespace.
///
/// A file is JSON lines, gzipped or not, named POLICY_pageP_MODE_seedS.jsonl[.gz], MODE plain or eagle. The error:
/// it is not such a file.
Result<Verdict> verify_recording(const std::string& path, const Registry& registry);

}  // namespace canopy::verify
