#pragma once

#include <canopy/engine/tenants.h>
#include <canopy/feed/kv_events_config.h>
#include <canopy/feed/sink.h>
#include <canopy/types.h>
#include <canopy/words.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy {

/// A component of an engine, with its options.
struct ComponentConfig {
  std::string name = {};
  std::string options = {};  ///< YAML flow text, "{ protect_after: 3 }"; empty: the defaults
  std::string where = {};    ///< source of the name, "engine.yaml:5:12", for messages; may be empty (none)
};

/// One KV cache group: the layers that need the same part of a prefix, and the pool of their pages.
struct GroupConfig {
  std::string name = {};                ///< a lower-case letter, then lower-case letters, digits and '_'
  Units reach = kWholePath;             ///< trailing tokens that must be resident
  Units every = 0;                      ///< tokens between two kept pages, for recurrent states; 0: all pages are kept
  std::uint64_t capacity = kUnlimited;  ///< tokens
  std::uint64_t start = kUnlimited;     ///< tokens allocated at the start; kUnlimited: the capacity, or 0 if unlimited
  std::uint32_t max_per_path = 0;       ///< most pages kept for one path, such as states; 0: any number
  ComponentConfig allocator = {}, eviction = {};
  ComponentConfig store = {};  ///< the group's own store; without a name: EngineConfig::store
};

/// Selects the prefixes that are copied to the tier below, and the time of the copy.
enum class WritePolicy : std::uint32_t {
  write_back,     ///< on eviction
  write_through,  ///< on insertion
  none,           ///< no copies
};
template <>
struct NamesOf<WritePolicy> {
  static constexpr const char* kAll[] = {"write_back", "write_through", "none"};
};

/// Duration of copies between two tiers. Times are simulated, so that a run makes the same decisions on any machine.
struct LaneConfig {
  std::uint64_t bytes_per_s = 0;  ///< 0: a copy ends at the next turn
  std::uint64_t latency_us = 0;
};

/// A tier in host memory below the groups' pools. The fields after `lane` are constants: a file has no keys for them.
struct HostTierConfig {
  std::uint64_t capacity = 0;  ///< tokens of the first group; in proportion for the others; 0: no such tier
  ComponentConfig eviction = {"lru"};
  WritePolicy write = WritePolicy::write_back;
  LaneConfig lane = {};  ///< settings of both lanes, one to the tier and one from it
  std::uint64_t in_flight_bytes = std::uint64_t{256} << 20;  ///< most of pending copies to the tier; more are dropped
  /// Bytes of a token in simulated lanes, including those of a storage; 0: the size of the stores' rows. A replay
  /// without rows sets it (`canopy replay --kv-bytes`).
  std::uint64_t kv_bytes = 0;
};

/// Time to compute a part of a prompt: n tokens after d others take n ns_per_token + n (d + n / 2) ps_per_token_depth.
/// It is compared with the time of a fetch, and is the time of a prefill in simulated time. Both 0: unknown, and every
/// fetch is considered worthwhile.
struct RecomputeConfig {
  std::uint64_t ns_per_token = 0;
  std::uint64_t ps_per_token_depth = 0;  ///< per token and token before it
  bool operator==(const RecomputeConfig&) const = default;

  bool known() const { return *this != RecomputeConfig{}; }
  /// Returns the microseconds to compute `count` tokens after `depth` others; 0 if unknown.
  std::uint64_t us(Units depth, Units count) const;
};

/// Limits the time that a request waits for its fetch although it could begin.
enum class PrefetchPolicy : std::uint32_t {
  worthwhile,     ///< while the rest of the fetch is faster than computing it, at most `longest_us`
  wait_complete,  ///< until the fetch is complete
  best_effort,    ///< no waiting
};
template <>
struct NamesOf<PrefetchPolicy> {
  static constexpr const char* kAll[] = {"worthwhile", "wait_complete", "best_effort"};
};
struct PrefetchConfig {
  PrefetchPolicy policy = PrefetchPolicy::worthwhile;
  std::uint64_t longest_us = 30'000'000;  ///< longest wait
  bool operator==(const PrefetchConfig&) const = default;
};

/// The model whose rows the pages hold. An engine treats rows as bytes, so their meaning is recorded wherever another
/// process may read them.
struct ModelConfig {
  std::string name = {}, revision = {}, dtype = {};
  std::string extra = {};             ///< anything else that changes the bytes: scales, the position encoding, a patch
  std::uint32_t rank = 0, ranks = 1;  ///< number of this process among those that share the model, and their count
  /// True if all ranks have the same rows: they share their records, and only rank 0 puts them.
  bool replicated = false;

  bool puts() const { return !replicated || rank == 0; }
};

/// Selects the pages of the host tier that are put into the storage, and the time of the put.
enum class PutPolicy : std::uint32_t {
  on_evict,  ///< when they leave the host tier
  through,   ///< when they arrive in it from the pools; they stay there
  none,      ///< no puts: other programs fill the storage
};
template <>
struct NamesOf<PutPolicy> {
  static constexpr const char* kAll[] = {"on_evict", "through", "none"};
};

/// A storage of records below the host tier. The fields after `lane.bytes_per_s` are constants: a file has no keys for
/// them.
struct StorageTierConfig {
  ComponentConfig in = {};  ///< the storage; without a name: no such tier
  PutPolicy write = PutPolicy::on_evict;
  std::uint32_t least_tokens = 0;           ///< smallest fetch; shorter prefixes are not fetched
  std::uint64_t call_limit_us = 2'000'000;  ///< time allowed for a get or a put
  LaneConfig lane = {};                     ///< simulated times of each direction; no rate: calls run in real time
  std::uint64_t find_limit_us = 0;          ///< time allowed for a find; 0: call_limit_us / 100
  std::uint32_t kept_free_percent = 5;      ///< part of the host tier that is kept free by early eviction
  std::uint32_t gets_percent = 25;          ///< part of the host tier that gets may fill; a single get may exceed it
  std::uint64_t in_flight_bytes = std::uint64_t{256} << 20;  ///< most of pending puts
  std::uint64_t distrust_us = 3'600'000'000;                 ///< time without storage calls after damaged records
};

/// A tenant and its share.
struct TenantConfig {
  std::string name = {};  ///< as in Space::tenant; "*": every other tenant, each for itself
  TenantShare share = {};
  bool together = false;          ///< only for "*": all other tenants have one share
  ComponentConfig eviction = {};  ///< policy of its nodes in the pools; without a name: that of each group
};

/// The parts of an engine and their settings. Filled by a program, or read from a file (engine_file.h):
///
///   EngineConfig config;
///   config.page_size = 16;
///   config.groups = {{.name = "full", .capacity = 3'000'000, .allocator = {"free_list"}, .eviction = {"lru"}}};
///
/// `canopy config describe` lists every setting with its range and default. Engine::create checks them.
struct EngineConfig {
  std::string file = {};  ///< path of the file it was read from, for messages; may be empty (none)
  Units page_size = 1;    ///< tokens
  ComponentConfig key = {"token"};
  ComponentConfig index = {"radix"};
  std::vector<GroupConfig> groups = {};    ///< 1..kMaxGroups groups; a run reports the figures of the first
  ComponentConfig store = {"none"};        ///< "none": index and page numbers only
  HostTierConfig host_tier = {};           ///< `tiers: { host: ... }` in a file
  StorageTierConfig storage_tier = {};     ///< `tiers: { storage: ... }` in a file
  std::vector<TenantConfig> tenants = {};  ///< shares of the pools; empty: no tenant has a share
  RecomputeConfig recompute = {};          ///< `tiers: { recompute: ... }` in a file
  PrefetchConfig prefetch = {};            ///< `tiers: { prefetch: ... }` in a file
  ModelConfig model = {};                  ///< required with a storage
  FeedConfig feed = {};
  /// Settings for the listener that a program passes to Engine::create. The engine itself opens no socket.
  KVEventsConfig events = {};
  std::uint32_t segment_pages = 0;  ///< pages by which a pool grows; 0: the engine chooses
  std::uint32_t idle_segments = 0;  ///< empty segments that keep their memory after a pool has shrunk
  /// True if all computed tokens of a request become reusable when it finishes. If false, only committed tokens do:
  /// decoded tokens are then never reused, so no answer depends on another one.
  bool insert_at_finish = true;

  /// Returns a message about this configuration, after the name of its file if it has one.
  std::string message(const std::string& text) const { return file.empty() ? text : file + ": " + text; }
};

}  // namespace canopy
