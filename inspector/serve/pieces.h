#pragma once

#include <canopy/feed/events.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace canopy::inspector {

/// Events for one message. All pages share the same memory.
struct Piece {
  std::shared_ptr<const std::vector<Event>> events;
  bool keyframe = false;  ///< true if the events are part of a keyframe
  bool begins = false;    ///< true if it is the first piece of a keyframe

  std::size_t bytes() const { return events->size() * sizeof(Event); }
};

/// Cuts a stream of events into pieces. A piece holds whole operations, or a part of one that is too large for a
/// message. A keyframe has pieces of its own.
class Pieces {
 public:
  /// Takes the next events. Returns the pieces of the operations that they complete.
  std::vector<Piece> take(std::span<const Event> events);
  /// Records a loss of events: drops the operation that has begun.
  void lost() { begun_.clear(); }
  /// Returns the number of events of the operation that has begun.
  std::size_t waiting() const { return begun_.size(); }

 private:
  static void cut(std::vector<Event> events, bool keyframe, std::vector<Piece>& into);

  std::vector<Event> begun_;  ///< events since the last Commit
};

}  // namespace canopy::inspector
