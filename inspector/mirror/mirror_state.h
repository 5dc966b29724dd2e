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
#include "mirror_tenants.h"

namespace canopy::inspector {

/// The nodes of a namespace.
struct MirrorSpace {
  std::string name;
  std::uint32_t first_child = 0, last_child = 0;  ///< slots of its root nodes
  std::uint64_t tokens = 0, nodes = 0;
  std::uint32_t tenant = 0;  ///< number of its tenant
};

/// Effects so far of the commit that is being applied.
struct CommitSoFar {
  LogLine line;
  bool keyframe = false;             ///< true: it reports the present state, not events
  std::vector<std::uint64_t> fresh;  ///< ids of added nodes whose pages were not yet compared with ghosts
  std::vector<Returned> returned;    ///< parts of added nodes that had been evicted
  std::size_t judged = 0;            ///< those of them that count for a request's verdict already
  bool totalled = false;             ///< true if Totals arrived
  /// A node got pages of a group in which it had none: again or for the first time.
  enum class Filled : std::uint8_t { nothing, lost, never_kept, not_known } filled = Filled::nothing;
  std::uint64_t fresh_digest = 0;  ///< digest of the first page of a node added below a root; 0: none
  NamespaceId fresh_space{};
  std::uint64_t locked_node = 0;  ///< end of the last lock
};

/// The mirror's data. Events change it; the Mirror reads it.
struct MirrorState {
  Units page_size = 1;
  bool has_words = false;
  bool has_overlap = false;        ///< true if a page's content depends on words behind it, which nodes do not have
  bool has_unnamed_pages = false;  ///< true if there was a node not all of whose pages had a digest
  bool any_use = false;            ///< true if the feed has reported a use of a node (NodeUsed)
  bool any_hit = false;            ///< true if the feed has reported a hit of a node in another way
  std::vector<MirrorPool> pools;
  CounterValues counters;
  std::string storage;  ///< name of the storage below the host tier; empty if there is none
  event::StorageHealth health;
  NodeBlocks nodes;
  std::size_t node_count = 0;
  std::vector<MirrorSpace> spaces;
  MirrorTenants tenants;
  /// Namespaces with a first page of this digest.
  std::unordered_map<std::uint64_t, std::vector<NamespaceId>> first_pages;
  MirrorRequests requests;
  MirrorPast past;
  Horizon horizon;
  std::set<std::uint64_t> pins;
  std::string config, paused, origin, no_nodes;
  std::vector<std::string> plugins, refusals, workers;
  std::string text;  ///< pieces of an incomplete text

  std::uint64_t commits = 0, us = 0, drift = 0;
  std::uint64_t most_drift = 0, losses = 0;  ///< the largest drift so far; how often events were lost
  Tick tick = 0;
  std::uint64_t prompt_tokens = 0, hit_tokens = 0, evicted_tokens = 0, request_count = 0, tries = 0;
  std::uint64_t work = 0;  ///< see Mirror::work
  std::uint32_t running = 0;
  std::uint64_t unknown_events = 0, damaged = 0;
  std::uint64_t first_damage = 0;  ///< first commit with damaged events or a drift, also in the tier below; 0: none
  std::uint64_t added_tokens = 0;  ///< tokens of added nodes, including those of keyframes
  /// Advances the index's clock to at least `at`. No operation takes 2^32 ticks: such a figure is not the engine's and
  /// counts as damage.
  void reach(Tick at) {
    if (at <= tick) return;
    if (commits > 0 && at - tick > Tick{1} << 32) ++damaged;
    else tick = at;
  }
  CommitSoFar now;

  /// Returns the node with an id, or null if it was evicted.
  const MirrorNode* find(std::uint64_t id) const {
    const MirrorNode& node = nodes[slot_of(NodeId{id})];
    return id != 0 && node.id == id ? &node : nullptr;
  }
  MirrorNode* writable(std::uint64_t id) { return find(id) ? &nodes[slot_of(NodeId{id})] : nullptr; }
  /// Returns the path above a node; for a namespace's root nodes, a number of the namespace.
  std::uint64_t above(const MirrorNode& node) const {
    return node.parent ? nodes[node.parent].path : ~static_cast<std::uint64_t>(node.space);
  }
  /// Returns true if the node waits to be evicted.
  bool waits(const MirrorNode& node, std::size_t group) const {
    return node.has(group) && node.hold[group] == 0 && (node.children == 0 || pools[group].reach != kWholePath);
  }
  MirrorSpace& space_of(const MirrorNode& node) { return spaces[static_cast<std::size_t>(node.space)]; }
};

}  // namespace canopy::inspector
