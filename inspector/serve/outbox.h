#pragma once

#include <canopy/feed/header.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "pieces.h"

namespace canopy::inspector {

/// A message that waits for a page.
struct Message {
  bool text = false;
  std::string words;  ///< a text, or the bytes of a header
  Piece piece;        ///< events; empty for the others
  bool events() const { return piece.events != nullptr; }
  const void* data() const { return events() ? static_cast<const void*>(piece.events->data()) : words.data(); }
  std::size_t size() const { return events() ? piece.bytes() : words.size(); }
};

/// The messages that wait for one page, and the page's place in the stream of events. A page that reads too slowly
/// loses events; it never holds up the engine or another page.
class Outbox {
 public:
  /// Queues a text.
  void say(std::string text);
  /// Queues the list of feeds. A list that still waits is dropped.
  void list(std::string text);
  /// Queues that the page is attached, and the header. The page's events begin with the next keyframe.
  void attach(std::string_view name, const FeedShape& shape);
  /// Queues that the feed has gone, or is not there yet. Events that wait are kept.
  void detach(std::string_view why);
  /// Drops the events that wait, because the page has chosen another feed.
  void leave();
  /// Queues events. Drops those that the page does not need: all before its keyframe, and each later keyframe. If too
  /// many wait, drops all of them.
  void take(const Piece& piece);
  /// Drops the events that wait, and queues that events were lost.
  void lose();

  /// Returns true if a keyframe would bring the page into step: it waits for one, and has read everything else.
  bool wants_keyframe() const { return attached_ && !in_step_ && (!lapped_ || drained()); }
  /// Returns the next message, which stays valid until sent(); null if there is none or the last one is not sent.
  const Message* next();
  /// Ends the message of next().
  void sent() { sending_ = false; }
  /// Returns the number of texts that wait.
  std::size_t texts() const { return texts_; }
  /// Returns the bytes of events that wait, without those of a keyframe.
  std::size_t waiting() const { return waiting_; }

 private:
  bool drained() const { return queue_.empty() && !sending_; }
  void drop_events();

  std::deque<Message> queue_;
  Message now_;  ///< the message that is being sent
  bool sending_ = false;
  std::size_t texts_ = 0, waiting_ = 0;
  bool attached_ = false, in_step_ = false;
  bool taking_keyframe_ = false;  ///< true while the pieces of this page's keyframe arrive
  bool lapped_ = false;           ///< true from a loss to the next keyframe
};

}  // namespace canopy::inspector
