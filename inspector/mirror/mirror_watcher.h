#pragma once

#include <canopy/feed/event.h>

#include <cstddef>

namespace canopy::inspector {

struct LogLine;
struct MirrorNode;
struct MirrorRequest;
struct Returned;

/// Called by a mirror for each effect that it applies, in order. Keeps figures up to date without a walk over the whole
/// tree. For a keyframe only begin_again(), added(), named() and committed() are called.
class MirrorWatcher {
 public:
  virtual ~MirrorWatcher() = default;
  /// Resets everything. `known`: true if nothing happened before; otherwise earlier events were missed.
  virtual void begin_again([[maybe_unused]] bool known) {}
  virtual void added([[maybe_unused]] const MirrorNode& node) {}
  /// Called when a node is cut: `upper` is new; the cut node keeps its end and is the child of `upper`.
  virtual void split([[maybe_unused]] const MirrorNode& upper) {}
  /// Called before a node takes in its only child: it then ends where the child ended.
  virtual void joining([[maybe_unused]] const MirrorNode& upper) {}
  /// Called for each node of the path that a request has found when it is admitted, the deepest first.
  virtual void matched([[maybe_unused]] const MirrorNode& node) {}
  /// Called when a match ended at the node or below. The node's times are still those of its previous use.
  virtual void used([[maybe_unused]] const MirrorNode& node) {}
  /// Called when the pages of a group leave a node, evicted or flushed.
  virtual void left([[maybe_unused]] const MirrorNode& node, [[maybe_unused]] std::size_t group,
                    [[maybe_unused]] Operation operation) {}
  /// Called when the node leaves the tree, after left() for each of its groups.
  virtual void removed([[maybe_unused]] const MirrorNode& node) {}
  virtual void begun([[maybe_unused]] const MirrorRequest& request) {}
  /// Called when the request counts (MirrorRequest::admitted): after begun() in the same commit, or in a later one.
  virtual void admitted([[maybe_unused]] const MirrorRequest& request) {}
  /// Called when the request progressed or ended. Its verdict is final once it is not Miss::unknown.
  virtual void progressed([[maybe_unused]] const MirrorRequest& request) {}
  /// Called after added() for each part of the node that had been evicted. `fetched`: a fetch brought it from a tier
  /// below; otherwise it was computed again.
  virtual void returned([[maybe_unused]] const MirrorNode& node, [[maybe_unused]] const Returned& part,
                        [[maybe_unused]] bool fetched) {}
  /// Called when a node that had lost its pages of a group, or never had any, has got them.
  virtual void filled([[maybe_unused]] const MirrorNode& node, [[maybe_unused]] std::size_t group,
                      [[maybe_unused]] bool lost) {}
  /// Called when tokens left a tenant for another one, after left() for their nodes. Numbers of Mirror::tenants().
  virtual void paid([[maybe_unused]] std::uint32_t from, [[maybe_unused]] std::uint32_t taker,
                    [[maybe_unused]] std::uint64_t tokens) {}
  /// Called when a text has arrived as a whole.
  virtual void named([[maybe_unused]] TextKind text, [[maybe_unused]] std::size_t number) {}
  /// Called at the end of each commit, when all of it has been applied.
  virtual void committed([[maybe_unused]] const LogLine& line) {}
};

}  // namespace canopy::inspector
