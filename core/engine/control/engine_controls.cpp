/// What a person at an inspector may ask of a running engine beyond its own operations: to stand still, to go on until
/// something happens, to keep a node.
#include <canopy/engine/engine.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine_internals.h"

namespace canopy {
namespace {

/// The words of a node's path. Parents come before children, so the ids of the path are known after a first walk,
/// and their words after a second one.
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
        // The overlap belongs to what follows too: only the end keeps it.
        const auto own = --left == 0 ? node.words : node.words.first(node.facts.length);
        found.words.insert(found.words.end(), own.begin(), own.end());
        found.space = node.facts.space;
      }
    } told(*this);
    if (!path.empty()) index.visit(told);
  }
};

}  // namespace

void Engine::pause(std::string because) {
  paused_ = true;
  stop_.forget();
  if (paused_because_ == because) return;
  paused_because_ = std::move(because);
  if (told()) tell_text(TextKind::paused, 0, paused_because_);
  settle(Operation::control);
}

void Engine::go_on() {
  stop_.forget();
  steps_left_ = 0;
  if (!std::exchange(paused_, false)) return;
  paused_because_.clear();
  if (told()) tell_text(TextKind::paused, 0, {});
  settle(Operation::control);
}

void Engine::run_until(const Command& command) {
  const bool of_group = command.until == Condition::evicted || command.until == Condition::free;
  if (command.until > Condition::free || (of_group && command.group >= pools_.size())) return;
  go_on();
  stop_.wait_for(command);
}

/// After each operation, and before it is published: the reason is part of the commit that brought it about.
void Engine::stop_if_met() {
  if (stop_.command().until == Condition::free)
    stop_.free_pages(pools_[stop_.command().group].allocator().occupancy().free);
  std::string reason = stop_.take_reason();
  if (reason.empty()) return;
  paused_ = true;
  paused_because_ = std::move(reason);
  if (told()) tell_text(TextKind::paused, 0, paused_because_);
}

bool Engine::pin(NodeId node) {
  if (node == NodeId::none || pins_.contains(node)) return false;
  const PathWords path(*index_, node);
  if (path.path.empty()) return false;
  RequestFacts facts;
  facts.space = path.space;
  const Lock lock = index_->match({path.space, path.words}, facts);
  if (lock.length == 0) {
    index_->release(lock);
    return false;
  }
  pins_.emplace(node, lock);
  if (told()) feed_->push({EventKind::pinned, 0, 0, 0, static_cast<std::uint64_t>(node), 1});
  settle(Operation::control);
  return true;
}

bool Engine::unpin(NodeId node) {
  const auto found = pins_.find(node);
  if (found == pins_.end()) return false;
  note_leaving(found->second);
  index_->release(found->second);
  pins_.erase(found);
  if (told()) feed_->push({EventKind::pinned, 0, 0, 0, static_cast<std::uint64_t>(node), 0});
  settle(Operation::control);
  go_on_draining();
  return true;
}

void Engine::tell_pins() {
  for (const auto& [node, lock] : pins_) feed_->push({EventKind::pinned, 0, 0, 0, static_cast<std::uint64_t>(node), 1});
}

}  // namespace canopy
