#pragma once

#include <canopy/feed/kv_events_config.h>
#include <canopy/feed/sink.h>
#include <canopy/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy {

/// A component that an engine names.
struct ComponentConfig {
  std::string name = {};
  std::string options = {};  ///< YAML flow text, "{ protect_after: 3 }"; empty: its defaults
  std::string where = {};    ///< the place that names it, "engine.yaml:5:12", in front of messages; empty: none
};

/// One KV cache group: the layers that need the same part of a prefix, and the pool of their pages.
struct GroupConfig {
  std::string name = {};                ///< a small letter, then small letters, digits and '_'
  Units reach = kWholePath;             ///< trailing tokens that must be resident
  Units every = 0;                      ///< tokens between two kept pages, for recurrent states; 0: all pages are kept
  std::uint64_t capacity = kUnlimited;  ///< tokens
  std::uint64_t start = kUnlimited;  ///< tokens the pool takes memory for at once; kUnlimited: all, if it has a limit
  std::uint32_t max_per_path = 0;    ///< pages of one path that are kept, such as states; 0: any number
  ComponentConfig allocator = {}, eviction = {};
  ComponentConfig store = {};  ///< without a name: the engine's
};

/// Which prefixes get a copy in the tier below, and when.
enum class WritePolicy : std::uint32_t {
  write_back,               ///< when they are evicted
  write_through,            ///< when they are inserted
  write_through_selective,  ///< when they have been matched `hits` times
  none,                     ///< none
};

/// How long copies take between two tiers. Times are simulated, so that a run decides the same on any machine.
struct LaneConfig {
  std::uint64_t bandwidth = 0;  ///< bytes a second; 0: a copy ends at the next turn
  std::uint64_t latency = 0;    ///< microseconds
};

/// A tier in memory of the host below the groups' pools.
struct HostTierConfig {
  std::uint64_t capacity = 0;  ///< tokens of the first group, in proportion for the others; 0: there is no such tier
  ComponentConfig eviction = {"lru"};
  WritePolicy write = WritePolicy::write_back;
  std::uint32_t hits = 2;   ///< of WritePolicy::write_through_selective
  std::uint32_t ahead = 0;  ///< percent of the groups' pools that is kept free by evicting early
  std::uint32_t least = 0;  ///< tokens; a shorter prefix is not fetched
  std::uint64_t in_flight = std::uint64_t{256} << 20;  ///< bytes on their way to the tier at most; more are dropped
  LaneConfig lane = {};                                ///< to the tier, and another from it
  /// Bytes that a token counts for in simulated lanes, those of a storage too; 0: as many as the stores keep of it. So
  /// a replay without rows takes the time of a model's.
  std::uint64_t kv_bytes = 0;
};

/// What computing a part of a prompt takes, so that a fetch can be weighed against it: for n tokens behind d others
/// fixed + per_token n + per_token_depth n (d + n / 2). All 0: not known, and every fetch is worth it.
struct RecomputeConfig {
  std::uint64_t fixed = 0;            ///< microseconds
  std::uint64_t per_token = 0;        ///< nanoseconds
  std::uint64_t per_token_depth = 0;  ///< picoseconds for a token and each token in front of it
  std::uint32_t margin = 100;         ///< percent of this time that a fetch may take
  bool learn = false;                 ///< whether Engine::computed corrects it
};

/// How long a request that could begin waits for what comes for it from below.
enum class PrefetchPolicy : std::uint32_t {
  worthwhile,     ///< as long as the rest of the fetch is faster than computing it; `max` at most
  wait_complete,  ///< until it is there
  timeout,        ///< `base`, and `per_1k` for each 1,024 tokens, since it was asked for; `max` at most
  best_effort,    ///< not at all
};
struct PrefetchConfig {
  PrefetchPolicy policy = PrefetchPolicy::worthwhile;
  std::uint64_t base = 2'000'000, per_1k = 100'000, max = 30'000'000;  ///< microseconds
  std::uint32_t share = 25;  ///< percent of the host tier that may be on its way from a storage; one alone may be more
};

/// The model whose rows the pages hold. Rows are bytes to an engine, so what they mean has to be said where others may
/// read them.
struct ModelConfig {
  std::string name = {}, revision = {}, dtype = {};
  std::string extra = {};             ///< what else changes the bytes: scales, the position encoding, a patch
  std::uint32_t rank = 0, ranks = 1;  ///< of the processes that have the model together
  /// All ranks have the same rows: they share their records, and rank 0 puts them.
  bool replicated = false;

  bool puts() const { return !replicated || rank == 0; }
};

/// Which pages of the host tier are put into the storage, and when.
enum class PutPolicy : std::uint32_t {
  on_evict,  ///< when they leave the host tier
  through,   ///< when they come to it from the pools, and they stay there
  none,      ///< none: others put them there
};

/// A storage of records below the host tier.
struct StorageTierConfig {
  ComponentConfig in = {};  ///< the storage; without a name: there is no such tier
  PutPolicy write = PutPolicy::on_evict;
  std::uint32_t ahead = 5;                             ///< percent of the host tier that is kept free by evicting early
  std::uint32_t least = 0;                             ///< tokens; a shorter prefix is not fetched
  std::uint64_t in_flight = std::uint64_t{256} << 20;  ///< bytes of puts, and of gets, on their way at most
  std::uint64_t budget = 0;                            ///< bytes put a second at most; 0: any number
  std::uint32_t keep = 0;                              ///< seconds that a record is kept; 0: as long as there is room
  LaneConfig lane = {};  ///< of a simulated storage, in each direction; without a bandwidth it takes the time it takes
  std::uint64_t find_within = 20'000, within = 2'000'000;  ///< microseconds that a find, and a get or put, may take
  std::uint32_t trust_again = 3600;  ///< seconds without the storage after damaged records; 0: for ever
};

/// The parts of an engine and their settings. Filled here, or read from a file (engine_file.h):
///
///   EngineConfig config;
///   config.page_size = 16;
///   config.groups = {{.name = "full", .capacity = 3'000'000, .allocator = {"free_list"}, .eviction = {"lru"}}};
///
/// `canopy config describe` lists every setting with its range and default. Engine::create checks them.
struct EngineConfig {
  std::string file = {};  ///< the file it was read from, in front of messages; empty: none
  Units page_size = 1;    ///< tokens
  ComponentConfig key = {"token"};
  ComponentConfig index = {"radix"};
  std::vector<GroupConfig> groups = {};  ///< 1..kMaxGroups; the figures of a run are those of the first
  ComponentConfig store = {"none"};      ///< "none": index and page numbers only
  HostTierConfig host_tier = {};         ///< `tiers: { host: ... }` in a file
  StorageTierConfig storage_tier = {};   ///< `tiers: { storage: ... }` in a file
  RecomputeConfig recompute = {};        ///< `tiers: { recompute: ... }` in a file
  PrefetchConfig prefetch = {};          ///< `tiers: { prefetch: ... }` in a file
  ModelConfig model = {};                ///< needed with a storage
  FeedConfig feed = {};
  /// What a program that gives Engine::create a listener makes of it. The engine itself opens no socket.
  KvEventsConfig events = {};
  std::uint32_t segment_pages = 0;  ///< pages by which a pool grows; 0: the engine chooses
  std::uint32_t idle_segments = 0;  ///< empty segments that keep their memory when a pool has shrunk
  /// Whether the tokens that a request computed become reusable when it finishes. Without, only committed tokens are:
  /// no decoded one is, so no answer depends on another's.
  bool insert_at_finish = true;

  /// A message about this configuration, behind the name of its file if it has one.
  std::string message(const std::string& text) const { return file.empty() ? text : file + ": " + text; }
};

}  // namespace canopy
