#pragma once

#include <canopy/engine/index_session.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "chunk_tree.h"
#include "registry.h"

namespace canopy::python {

namespace nb = nanobind;

/// A ChunkTree with its policy, its namespaces and its feed. A cache of vLLM has one: the CPU tier (Chunks), or a pool
/// of blocks (BlockQueue).
class ChunkSession {
 public:
  /// `capacity`: chunks. `feed`: a name; empty: none. `text`: what the cache is, for readers of the feed.
  ChunkSession(std::uint64_t capacity, nb::handle policy, const std::string& feed, std::string text);

  /// Makes an empty tree whose chunks have `page` tokens. A feed that cannot be made is left out: take_failure() says
  /// so.
  void open(Units page);
  bool is_open() const { return session_ != nullptr; }
  /// REQUIRES: is_open(), as the functions below.
  ChunkTree& tree() const { return *tree_; }
  IndexSession& session() const { return *session_; }
  /// Returns the namespace of a KV cache group: its chunks continue only chunks of the same group.
  NamespaceId space_of(std::uint32_t group);
  /// Publishes an operation. `free`: chunks of the cache that have no content.
  void end_operation(Operation operation, std::uint64_t free);

  std::uint64_t capacity() const { return capacity_; }
  const std::string& policy() const { return policy_.name; }
  const std::string& feed() const { return feed_; }
  /// Returns the error of the policy or of the feed that was not returned before; empty if there is none. A policy that
  /// failed is replaced by lru.
  std::string take_failure();
  void poll();
  /// Calls visit(object) for each object of a policy in Python, as PythonPolicy::each_object() does.
  template <class Visit>
  int each_object(Visit&& visit) const {
    return policy_.in_python ? policy_.in_python->each_object(visit) : 0;
  }
  /// Gives up the objects of the policy. REQUIRES: nothing else is called afterwards.
  void let_go() {
    if (policy_.in_python) policy_.in_python->let_go();
  }

 private:
  const std::uint64_t capacity_;
  Policy policy_;  // outlives the session
  std::string feed_, text_;
  std::unique_ptr<IndexSession> session_;
  ChunkTree* tree_ = nullptr;
  std::vector<NamespaceId> spaces_;
  std::string failure_;
};

/// Marks the time of a call. A policy in Python may run other threads meanwhile, whose calls must not come in between.
struct Busy {
  explicit Busy(bool& of) : flag(of) { flag = true; }
  ~Busy() { flag = false; }
  Busy(const Busy&) = delete;
  bool& flag;
};

}  // namespace canopy::python
