#pragma once

#include <canopy/feed/events.h>

#include <canopy/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "mirror_node.h"
#include "mirror_past.h"
#include "mirror_pool.h"
#include "mirror_request.h"

namespace canopy::inspector {

/// The nodes of a namespace.
struct MirrorSpace {
  std::string name;
  std::uint32_t first_child = 0, last_child = 0;  ///< slots of its first nodes
  std::uint64_t tokens = 0, nodes = 0;
};

/// What the commit that is being applied has brought so far.
struct CommitSoFar {
  LogLine line;
  bool keyframe = false;  ///< it tells what there is, not what happened
  Ghost revived{};        ///< an evicted node that came back; id 0: none
  bool totalled = false;  ///< Totals came
  /// A node got pages of a group in which it had none: again, or for the first time.
  enum class Filled : std::uint8_t { nothing, lost, never_kept, not_known } filled = Filled::nothing;
  std::uint64_t fresh_digest = 0;  ///< of the first page of a node added below a root; 0: none
  NamespaceId fresh_space{};
  std::uint64_t locked_node = 0;  ///< where the last lock ended
};

/// To and from the tier below, as it was told last. Rates are over the time of Engine::turn.
struct MirrorTier {
  event::TierMoved moved;
  event::TierLost lost;
  event::TierFetches fetches;
  event::TierEnds ends;
  struct Lane {
    event::TierLane now, before;  ///< before: an earlier one, for the rate
    double bytes_per_second = 0;  ///< between the two
  };
  Lane store, load;
};

/// To and from the storage below the tier below, as it was told last. There is none while `name` is empty.
struct MirrorStorage {
  std::string name;
  struct Lane {
    event::StorageQueue queue;
    event::StorageSpeed speed;
    event::StorageFates fates;
  };
  std::array<Lane, kStorageLanes> lanes{};  ///< by StorageLane
  std::array<std::uint32_t, event::StorageBrings::kOutcomes> brings{};
  event::StorageMoved moved;
  event::StorageLost lost;
  event::StorageHealth health;
  event::StorageRoom room;
  std::optional<event::StorageRanks> ranks;  ///< nothing: it is the only rank

  const Lane& lane(StorageLane which) const { return lanes[static_cast<std::size_t>(which)]; }
};

/// Everything a mirror knows, as plain data. Events change it; the Mirror answers from it.
struct MirrorState {
  Units page_size = 1;
  bool has_words = false;
  std::vector<MirrorPool> pools;
  MirrorTier tier;
  MirrorStorage storage;
  NodeBlocks nodes;
  std::size_t node_count = 0;
  std::vector<MirrorSpace> spaces;
  /// Digest of a first page: the namespaces where it is.
  std::unordered_map<std::uint64_t, std::vector<NamespaceId>> first_pages;
  MirrorRequests requests;
  MirrorPast past;
  Horizon horizon;
  std::set<std::uint64_t> pins;
  std::string config, paused, origin, no_nodes;
  std::vector<std::string> plugins, refusals, workers;
  std::string text;  ///< pieces of the text that is being told

  std::uint64_t commits = 0, us = 0, drift = 0;
  Tick tick = 0;
  std::uint64_t prompt_tokens = 0, hit_tokens = 0, evicted_tokens = 0, request_count = 0;
  std::uint32_t running = 0;
  std::uint64_t unknown_events = 0, damaged = 0;
  std::uint64_t added_tokens = 0;  ///< of nodes that were added, a keyframe's counted
  /// The index's clock is here at least. No operation takes 2^32 steps of it: such a figure is not the engine's.
  void reach(Tick at) {
    if (at <= tick) return;
    if (commits > 0 && at - tick > Tick{1} << 32) ++damaged;
    else tick = at;
  }
  CommitSoFar now;

  /// The node of an id, null if it was evicted.
  const MirrorNode* find(std::uint64_t id) const {
    const MirrorNode& node = nodes[slot_of(NodeId{id})];
    return id != 0 && node.id == id ? &node : nullptr;
  }
  MirrorNode* writable(std::uint64_t id) { return find(id) ? &nodes[slot_of(NodeId{id})] : nullptr; }
  /// Its parent's lineage, or for a namespace's first nodes a number that no node has.
  std::uint64_t above(const MirrorNode& node) const {
    return node.parent ? nodes[node.parent].lineage : ~static_cast<std::uint64_t>(node.space);
  }
  /// Whether it waits to be evicted.
  bool waits(const MirrorNode& node, std::size_t group) const {
    return node.has(group) && node.hold[group] == 0 && (node.children == 0 || pools[group].reach != kWholePath);
  }
  MirrorSpace& space_of(const MirrorNode& node) { return spaces[static_cast<std::size_t>(node.space)]; }
};

}  // namespace canopy::inspector
