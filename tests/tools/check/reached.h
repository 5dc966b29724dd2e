#pragma once

#include <cstdint>

#include <program/counts.h>

namespace canopy::check {

/// Counts of the situations that a program reached. A program that never ran out of pages proves nothing about running
/// out. `unproved`: engines that ended early, after as many refusals of memory as a ledger writes down.
struct Reached {
  std::uint64_t operations = 0, requests = 0, hits = 0, repointed = 0, evictions = 0, refused = 0, retracted = 0,
                resumed_on_pages = 0, passed_pages = 0, rematched = 0, finished = 0, aborted = 0, promises = 0,
                gaps = 0, flushed = 0, resized = 0, drained = 0, blocked = 0, pinned = 0, fetched = 0, kept = 0,
                faults = 0, lies = 0, unproved = 0, reopened = 0, forks = 0, scarce = 0, audits = 0, digest = 0;
  void add(const Reached& other) { program::add_counts(*this, other); }
};

}  // namespace canopy::check
