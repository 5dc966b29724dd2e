#include "control/pins.h"

#include <canopy/engine/publisher.h>

#include <unordered_map>
#include <vector>

namespace canopy {
namespace {

/// The words of a node's path. Parents come before children, so a first walk finds the ids of the path and a second one
/// their words.
struct PathWords {
  std::vector<NodeId> path;  ///< the node first
  std::vector<std::uint32_t> words;
  NamespaceId space{};

  PathWords(const PrefixIndex& index, NodeId node) {
    struct Parents final : NodeVisitor {
      std::unordered_map<NodeId, NodeId> of;
      void node(const NodeView& node) override { of.emplace(node.facts.id, node.parent); }
    } parents;
    index.visit(parents);
    for (auto at = parents.of.find(node); at != parents.of.end(); at = parents.of.find(at->second))
      path.push_back(at->first);
    struct Words final : NodeVisitor {
      PathWords& found;
      std::size_t left;
      explicit Words(PathWords& to) : found(to), left(to.path.size()) {}
      void node(const NodeView& node) override {
        if (left == 0 || node.facts.id != found.path[left - 1]) return;
        // The overlap also begins the next node's words: only the last node keeps it.
        const auto own = --left == 0 ? node.words : node.words.first(node.facts.length);
        found.words.insert(found.words.end(), own.begin(), own.end());
        found.space = node.facts.space;
      }
    } walk(*this);
    if (!path.empty()) index.visit(walk);
  }
};

/// To policies a pin is a request that arrives and is aborted.
RequestFacts unpinned() {
  RequestFacts facts;
  facts.ending = Ending::aborted;
  return facts;
}

}  // namespace

bool Pins::pin(NodeId node) {
  if (node == NodeId::none || state_.pins.contains(node)) return false;
  const PathWords path(*state_.index, node);
  if (path.path.empty()) return false;
  RequestFacts facts;
  facts.space = path.space;
  const Lock lock = state_.index->match({path.space, path.words}, facts);
  if (lock.length == 0) {
    pages_.release(lock, unpinned());
    return false;
  }
  state_.pins.emplace(node, lock);
  if (Publisher* publisher = pages_.publisher()) publisher->pinned(node, true);
  pages_.settle(Operation::control);
  return true;
}

bool Pins::unpin(NodeId node) {
  const auto found = state_.pins.find(node);
  if (found == state_.pins.end()) return false;
  drainer_.releasing(found->second);
  pages_.release(found->second, unpinned());
  state_.pins.erase(found);
  if (Publisher* publisher = pages_.publisher()) publisher->pinned(node, false);
  pages_.settle(Operation::control);
  drainer_.go_on();
  return true;
}

}  // namespace canopy
