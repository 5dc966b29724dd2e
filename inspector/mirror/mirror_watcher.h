#pragma once

#include <canopy/feed/event.h>

#include <cstddef>

namespace canopy::inspector {

struct MirrorNode;
struct MirrorRequest;

/// Told by a mirror what it applies, in order: for figures that are kept running, because a look at the whole tree
/// costs too much. A keyframe that is applied is told as begin_again() and added() alone.
class MirrorWatcher {
 public:
  virtual ~MirrorWatcher() = default;
  /// What there was is forgotten. `known`: nothing happened before; else events before were missed.
  virtual void begin_again([[maybe_unused]] bool known) {}
  virtual void added([[maybe_unused]] const MirrorNode& node) {}
  /// `upper` is new. The node that was cut keeps its end and lies below it.
  virtual void split([[maybe_unused]] const MirrorNode& upper) {}
  /// A match ended at the node or below. Its times are still those of its use before.
  virtual void used([[maybe_unused]] const MirrorNode& node) {}
  /// The pages of a group leave a node that has them, evicted or flushed.
  virtual void left([[maybe_unused]] const MirrorNode& node, [[maybe_unused]] std::size_t group,
                    [[maybe_unused]] Operation operation) {}
  /// The node leaves the tree, after left() for each of its groups.
  virtual void removed([[maybe_unused]] const MirrorNode& node) {}
  virtual void begun([[maybe_unused]] const MirrorRequest& request) {}
  /// The request got further, or ended. Its verdict is final once it is not Miss::unknown.
  virtual void progressed([[maybe_unused]] const MirrorRequest& request) {}
};

}  // namespace canopy::inspector
