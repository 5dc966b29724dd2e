#pragma once

#include <canopy/feed/header.h>
#include <canopy/feed/index_events.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace canopy {

/// Receives the nodes of an index, with their words, as they change: for publishing KV events. It receives no locks,
/// ranks or page numbers. Calls come from the engine's thread, in the order of the changes, and must not wait for
/// another machine. A split only divides one node into two; it adds and removes nothing.
class TreeListener {
 public:
  /// Facts about an engine, passed once before all other calls.
  struct Facts {
    FeedShape shape;                               ///< page_size, overlap, groups and reaches
    std::uint64_t words = 0;                       ///< most words that the index may hold; kUnlimited: no limit
    std::span<const std::string_view> names = {};  ///< names of the groups; valid during the call
  };
  /// Starts the listener. Returns an error message if it cannot serve such an engine, else an empty text.
  virtual std::string begin(const Facts& facts) = 0;
  /// Receives a new namespace, before any of its nodes. `salt` is unique to the namespace; empty for the shared one.
  virtual void space(NamespaceId space, std::string_view salt, std::string_view adapter) = 0;
  /// Receives a new node, with pages in the groups of node.resident. `words`: its length + overlap words, valid during
  /// the call.
  virtual void added(const event::NodeAdded& node, const std::uint32_t* words) = 0;
  /// Receives a node that was a tombstone of a group and has pages again. `words`: as for added().
  virtual void filled(NodeId node, std::uint8_t group, Units length, const std::uint32_t* words) = 0;
  virtual void tombstoned(const event::NodeTombstoned& node) = 0;
  virtual void split(const event::NodeSplit& node) = 0;
  virtual void removed(const event::NodeRemoved& node) = 0;
  virtual void cleared(const event::Cleared& all) = 0;
  /// Ends an operation. Returns true if calls were lost, so that everything must be sent again.
  virtual bool turn() = 0;
  /// Forgets everything received so far and begins a full resync: every namespace and every node follows.
  virtual void resync() = 0;

 protected:
  ~TreeListener() = default;
};

}  // namespace canopy
