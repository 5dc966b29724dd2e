#pragma once

#include <canopy/engine/ledger.h>
#include <canopy/engine/pool.h>
#include <canopy/engine/spaces.h>
#include <canopy/engine/stop_condition.h>
#include <canopy/engine/storage_board.h>
#include <canopy/engine/tier_figures.h>
#include <canopy/eviction_strategy.h>
#include <canopy/key_codec.h>
#include <canopy/prefix_index.h>
#include <canopy/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace canopy {

class RequestFlow;

/// Counted since the engine was made. Tokens unless they say otherwise.
struct Counters {
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;
  std::uint64_t hit_tokens_host = 0;     ///< of hit_tokens, those that a fetch brought from the host for the request
  std::uint64_t hit_tokens_storage = 0;  ///< and those that it brought from the storage below the host
  std::uint64_t evict_calls = 0, evicted_tokens = 0;  ///< of the first group, also for room in another
  std::uint64_t finished = 0, aborted = 0, retracted = 0;
  std::uint64_t repointed_pages = 0;               ///< pages of a request that another request had inserted first
  std::uint64_t resizes = 0, relocated_pages = 0;  ///< new limits of pools; pages that were relocated for them
  double index_seconds = 0;                        ///< inside match, pages, insert, relax, release and evict
};

/// A running request. The row of a group, in token order:
///
///   | gone: 0 ... | the index's pages, under the lock | owned by the request .......... |
///   0             first                               own_from                          size()
struct RequestState {
  enum class Stage : std::uint8_t { running, retracted, ended };

  RequestFlow* flow = nullptr;  ///< of the engine that began it; null: that engine has ended
  std::uint64_t id = 0;
  std::size_t live_at = 0;  ///< its place in EngineState::live, or among the ended ones
  Stage stage = Stage::ended;
  NamespaceId space{};
  std::int32_t priority = 0;
  std::uint64_t hints = 0;
  std::uint32_t prompt = 0, min_uncached = 0, matched = 0, computed = 0;  ///< tokens
  std::uint32_t output_limit = 0, chunk = 0;                              ///< RequestSpec
  Units full_length = 0;                                                  ///< Request::full_length
  Units inserted = 0;  ///< units that it has inserted since it was matched last
  Lock lock;
  std::vector<Token> tokens;
  std::array<std::vector<Page>, kMaxGroups> rows;
  std::array<std::size_t, kMaxGroups> first{};  ///< per group, pages before it are gone
  std::size_t own_from = 0;                     ///< pages of the rows that are the index's, or gone
  bool fetches = false;                         ///< it computes nothing: its pages are filled from a lower tier
  bool moving = false;                          ///< the pages that it would own are EngineState::moving, not owned
};

/// What keeps pages that a draining pool waits for: a request, or (0) a pinned node.
struct Blocker {
  std::uint64_t request = 0;
  NodeId pinned{};
  std::uint64_t pages = 0;
};

/// A KV cache group by name, for people.
struct GroupLabel {
  std::string name;
  Units reach = kWholePath;
  std::string policy;                          ///< name of the policy in use
  const EvictionStrategy* eviction = nullptr;  ///< that policy
};

/// Everything an engine keeps, as plain data. The parts of the engine read and write it; a Publisher reads it. Where an
/// index is used without an engine, `pools` and `live` stay empty, and the Publisher tells of the index alone.
struct EngineState {
  Units page_size = 1, overlap = 0;
  std::shared_ptr<KeyCodec> codec;
  std::vector<GroupLabel> groups;
  std::vector<Pool> pools;  ///< by group
  /// Of an index that is used without an engine: the pool that its pages are from, as its caller says; 0: it says
  /// nothing.
  struct CallersPool {
    std::uint64_t pages = 0, free = 0;
    friend bool operator==(const CallersPool&, const CallersPool&) = default;
  } callers_pool;
  std::shared_ptr<PrefixIndex> index;
  Spaces spaces;
  std::vector<RequestState*> live;
  std::vector<std::unique_ptr<RequestState>> idle;  ///< of requests that are destroyed, for their storage
  std::array<std::uint64_t, kMaxGroups> owned{};    ///< pages that requests own, from their rows
  std::array<std::uint64_t, kMaxGroups> moving{};   ///< pages that a transfer from another tier fills
  std::unordered_map<NodeId, Lock> pins;
  Counters counters;
  const EngineState* below = nullptr;  ///< the tier below: its index, pools and counters; null: there is none
  TierFigures moved;                   ///< to and from that tier
  StorageFigures stored;               ///< to and from the storage below it
  StorageBoard board;                  ///< of that storage, for people
  Ledger ledger;
  std::atomic<const char*> inside{nullptr};      ///< the call that is running; null: none (Entry)
  std::atomic<const char*> overlapped{nullptr};  ///< a call that was refused because it came while that one ran
  bool policy_failed = false;                    ///< a policy threw since nodes were last ranked anew
  std::vector<std::string> notes;                ///< what a person must know to trust the figures, one sentence each
  StopCondition stop;
  bool paused = false;
  std::string paused_because;
  std::uint64_t operations = 0;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  std::uint64_t elapsed_us = 0;  ///< when the index was last called, since `began`

  /// How many of a prompt's tokens can be reused at all: whole pages of units.
  Units whole_pages(std::size_t tokens) const {
    return static_cast<Units>(tokens > overlap ? tokens - overlap : 0) / page_size * page_size;
  }
};

}  // namespace canopy
