#pragma once

#include <listing/listing.h>

#include <cstdint>
#include <string>
#include <vector>

#include "feed_lines.h"
#include "held_locks.h"

namespace canopy::inspector {

// The lists of a moment: the columns that the terminal, the window, pages and files show of them. References must
// outlive a listing.

/// Locks of a moment. `p99_us`: time within which 99 % of the requests ended, to mark older locks; 0: marks none.
listing::Listing<HeldLock> locks_listing(const Mirror& mirror, double p99_us = 0);
/// Returns true if a lock is older than 99 % of the requests took.
bool is_old(const Mirror& mirror, const HeldLock& lock, double p99_us);

/// Servers whose KV events are shown.
listing::Listing<WorkerLine> servers_listing();
std::vector<WorkerLine> servers_of(const Mirror& mirror);

/// Tokens that left one tenant because another one needed room. An empty name: requests without a tenant, or without a
/// namespace.
struct Payment {
  std::string from, taker;
  std::uint64_t tokens = 0;
};
/// `all`: tokens of all payments.
listing::Listing<Payment> payments_listing(std::uint64_t all);

}  // namespace canopy::inspector
