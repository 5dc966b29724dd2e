#pragma once

#include <canopy/feed/header.h>
#include <canopy/feed/index_events.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace canopy {

/// Hears what an index holds, with the words of its nodes, as it changes: for publishing KV events. It hears nothing of
/// locks, ranks and page numbers. Calls come from the engine's thread, in the order of the changes, and must not wait
/// for another machine. A split tells that what was held by one node is held by two; nothing has come or left.
class TreeListener {
 public:
  /// What an engine is, told once before everything else.
  struct Facts {
    FeedShape shape;                               ///< page_size, overlap, groups and reaches
    std::uint64_t words = 0;                       ///< most words that the index may hold; kUnlimited: no limit
    std::span<const std::string_view> names = {};  ///< of the groups; valid during the call
  };
  /// Empty, or why nothing can be told of such an engine.
  virtual std::string begin(const Facts& facts) = 0;
  /// A namespace, before any of its nodes. `salt` is a text that no other namespace has; empty for the shared one.
  virtual void space(NamespaceId space, std::string_view salt, std::string_view adapter) = 0;
  /// `words`: length + overlap of them, valid during the call. The node has pages in the groups of node.resident.
  virtual void added(const event::NodeAdded& node, const std::uint32_t* words) = 0;
  /// A tombstone of a group has pages again. `words` as above.
  virtual void filled(NodeId node, std::uint8_t group, Units length, const std::uint32_t* words) = 0;
  virtual void tombstoned(const event::NodeTombstoned& node) = 0;
  virtual void split(const event::NodeSplit& node) = 0;
  virtual void removed(const event::NodeRemoved& node) = 0;
  virtual void cleared(const event::Cleared& all) = 0;
  /// An operation has ended. True: the listener lost something, and all that there is must be told anew.
  virtual bool turn() = 0;
  /// All that there is follows: every namespace, every node. What was told before does not count any more.
  virtual void anew() = 0;

 protected:
  ~TreeListener() = default;
};

}  // namespace canopy
