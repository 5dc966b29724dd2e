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
