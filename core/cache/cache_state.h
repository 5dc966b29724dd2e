#pragma once

#include <canopy/engine/counters.h>
#include <canopy/engine/ledger.h>
#include <canopy/feed/counters.h>
#include <canopy/prefix_index.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "control/stop_condition.h"
#include "guard/ports.h"
#include "pages/pool.h"
#include "pages/spaces.h"
#include "tier_board.h"

namespace canopy {

class IndexPort;
class RequestFlow;
class Tenants;

/// A running request. The row of a group, in token order:
///
///   | gone: 0 ... | the index's pages, under the lock | owned by the request .......... |
///   0             first                               own_from                          size()
struct RequestState {
  enum class Stage : std::uint8_t { running, retracted, ended };

  RequestFlow* flow = nullptr;  ///< flow of its engine; null once that engine has ended
  std::uint64_t id = 0;
  std::size_t live_at = 0;  ///< its place in CacheState::live, or among the ended requests
  Stage stage = Stage::ended;
  NamespaceId space{};
  std::int32_t priority = 0;
  std::uint64_t hints = 0;
  std::uint32_t prompt = 0, min_uncached = 0, matched = 0, computed = 0;  ///< tokens
  std::uint32_t output_limit = 0, chunk = 0;                              ///< as in RequestSpec
  Units full_length = 0;                                                  ///< as in Request::full_length
  Units inserted = 0;  ///< units that it has inserted since its last match
  Lock lock;
  std::vector<Token> tokens;
  KeyWords words;  ///< words of the tokens; empty if the words are the tokens
  std::array<std::vector<Page>, kMaxGroups> rows;
  std::array<std::size_t, kMaxGroups> first{};  ///< pages before these are gone, per group
  std::size_t own_from = 0;                     ///< pages at the start of the rows that belong to the index or are gone
  bool fetches = false;   ///< true for a fetch: it computes nothing, its pages are filled from a lower tier
  bool moving = false;    ///< its pages count as CacheState::moving, not as owned
  bool admitted = false;  ///< as in Request::admitted; a fetch never is

  struct Promise {
    Units units = 0;
    std::uint64_t us = 0;
    Lock lock{};  ///< keeps the window or state at its end, once it is committed; empty without such groups
  };
  std::vector<Promise> promises;  ///< prefixes to keep after its end, and for how long
  Units retained = 0;             ///< units of the longest of them
  std::uint64_t promised = 0;     ///< units of it that are charged and not kept yet
  std::uint64_t refused = 0;      ///< units whose retention was refused before it was admitted
  Lock kept;                      ///< keeps the part that was resident when it began
  TenantId payer{};               ///< tenant that `promised` and `kept` are charged to
};

/// A prefix under retention.
struct KeptPath {
  Lock lock;
  NamespaceId space{};
  TenantId payer{};            ///< tenant that it is charged to
  std::uint64_t until_us = 0;  ///< on the clock of Engine::turn
};

/// Texts about a KV cache group.
struct GroupLabel {
  std::string name;
  Units reach = kWholePath;
  std::string policy;                          ///< name of the policy in use
  const EvictionStrategy* eviction = nullptr;  ///< policy in use
};

/// All data of a cache: of an engine, or of its host tier, which has no requests. The parts of the cache read and write
/// it; a Publisher only reads it.
struct CacheState {
  Units page_size = 1, overlap = 0;
  std::shared_ptr<CodecPort> codec;
  std::vector<GroupLabel> groups;
  std::vector<Pool> pools;           ///< one per group
  std::shared_ptr<Tenants> tenants;  ///< may be null (no tenant has a share)
  std::shared_ptr<IndexPort> index;
  Spaces spaces;
  std::vector<RequestState*> live;
  std::vector<std::unique_ptr<RequestState>> idle;  ///< memory of destroyed requests, for reuse
  std::array<std::uint64_t, kMaxGroups> owned{};    ///< pages that requests own, counted as their rows change
  std::array<std::uint64_t, kMaxGroups> moving{};   ///< pages that a transfer from another tier fills
  std::unordered_map<NodeId, Lock> pins;
  std::unordered_map<NodeId, KeptPath> kept;
  Counters counters;
  const CacheState* below = nullptr;  ///< tier below: its index, pools and counters; may be null (none)
  CounterValues tiers;                ///< counters of that tier and the storage below it; see tier_counters()
  TierBoard board;                    ///< display figures of both
  Ledger ledger;
  std::atomic<const char*> inside{nullptr};      ///< name of the running call; null while there is none (CallGuard)
  std::atomic<const char*> overlapped{nullptr};  ///< name of a call that was refused during that call
  bool policy_failed = false;                    ///< a policy threw since nodes were last ranked again
  std::uint64_t lacked = 0;                      ///< steps left out because the system had no memory (Engine::doubts)
  std::vector<std::string> notes;                ///< components that failed, one sentence each (Engine::doubts)
  StopCondition stop;
  bool paused = false;
  std::string paused_because;
  std::uint64_t operations = 0;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  std::uint64_t elapsed_us = 0;  ///< time of the last index call, since `began`

  /// Adds to the notes. Without memory for it the sentence is a violation, which needs none.
  void note(std::string_view sentence) noexcept {
    try {
      notes.emplace_back(sentence);
    } catch (const std::bad_alloc&) {
      ledger.violated(sentence);
    }
  }
  /// Returns the number of prompt tokens that can be reused at all: whole pages of units.
  Units whole_pages(std::size_t tokens) const {
    return static_cast<Units>(tokens > overlap ? tokens - overlap : 0) / page_size * page_size;
  }
};

/// Proves that every page has one owner and every row names the pages that its lock holds: O(pool). Records what is
/// wrong in the ledger. `moving`: pages, by group, that transfers fill and no request owns.
void audit(CacheState& state, const std::array<std::vector<Page>, kMaxGroups>& moving);

/// Returns `state.tiers` with the gauges that are computed on demand.
CounterValues tier_counters(const CacheState& state);

/// Removes `request` from a list that contains it at `live_at`.
inline void take_out(std::vector<RequestState*>& list, RequestState& request) {
  list.back()->live_at = request.live_at;
  list[request.live_at] = list.back();
  list.pop_back();
}

}  // namespace canopy
