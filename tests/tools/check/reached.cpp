#include "reached.h"

namespace canopy::check {

void Reached::add(const Reached& other) {
  operations += other.operations, requests += other.requests, hits += other.hits, repointed += other.repointed;
  evictions += other.evictions, refused += other.refused, retracted += other.retracted;
  resumed_on_pages += other.resumed_on_pages, passed_pages += other.passed_pages, rematched += other.rematched,
      finished += other.finished;
  aborted += other.aborted, promises += other.promises, gaps += other.gaps, flushed += other.flushed;
  resized += other.resized, drained += other.drained, blocked += other.blocked, pinned += other.pinned;
  fetched += other.fetched, kept += other.kept, faults += other.faults, lies += other.lies, unproved += other.unproved,
      reopened += other.reopened, forks += other.forks, scarce += other.scarce, audits += other.audits,
      digest += other.digest;
}

}  // namespace canopy::check
