#pragma once

#include <canopy/base/doubts.h>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace canopy::kv_events {

/// Position of a message in its publisher's stream.
enum class Order {
  first,     ///< First message that came. Earlier ones are unknown, unless its sequence is 0.
  next,      ///< Directly after the newest message.
  ahead,     ///< Messages between the newest one and this one are missing: a gap.
  late,      ///< Part of a gap.
  repeated,  ///< Came before, or came after its gap was given up.
  restart,   ///< The publisher began at 0 again: the blocks that it held are gone.
};

/// Puts the messages of one publisher into the order of their sequence numbers, each message once. A publisher silently
/// drops messages for a slow subscriber; its replay socket sends them again. A publisher that restarts begins at 0
/// again. The meaning of events depends on their order, so a message after a gap is held until the gap is filled or
/// given up.
class InOrder {
 public:
  /// Limits of the messages that are held after a gap, and of their bytes. At either limit the gap is given up.
  static constexpr std::size_t kMostHeld = 100'000, kMostHeldBytes = std::size_t{256} << 20;

  struct Message {
    std::uint64_t sequence = 0;
    double time = 0;      ///< Time of the batch, on the publisher's clock.
    bool clears = false;  ///< True if the batch has a cleared event.
    bool replayed = false;
  };
  struct Taken {
    Order order{};
    bool is_due = false;  ///< True: apply the message now. False: it is held, or was applied before.
  };
  /// Takes a message that came. Then apply the messages that next_held() returns. After a restart, first forget the
  /// blocks that the publisher held. `replays`: a replay socket may send earlier messages; the first one waits for it.
  ///
  /// A message with a known sequence is a restart if its batch is later than every batch before. If the clock of a
  /// server was set back during its restart, the first message shows it: another one of sequence 0 that clears.
  Taken take(const Message& message, std::string_view payload, bool replays);

  struct Held {
    Message message;
    std::string payload;
  };
  /// Returns the next message in order, if it is held.
  std::optional<Held> next_held();
  /// Records a new connection: the publisher may have restarted even if its sequence numbers continue. Live messages
  /// wait until a replay has sent the last applied message again, or until give_up().
  void reconnected() { reconnected_ = began_; }
  /// Returns true if messages wait for missing ones, or a replay is needed.
  bool waits() const { return reconnected_ || !held_.empty(); }
  /// Returns the sequence at which a replay should begin: the last applied message, or 0. If the publisher sends
  /// another message with that sequence, it has restarted unnoticed.
  std::uint64_t replay_from() const { return next_ > 0 ? next_ - 1 : 0; }
  /// Ends a replay that was requested from sequence `from` on. Gives up the first gap, unless the replay has filled a
  /// part of it: then a message may have been lost after the request, and another replay is needed.
  void replay_ended(std::uint64_t from);
  /// Gives up the first gap: no longer waits for its messages.
  void give_up();

  struct Counts {
    std::uint64_t gaps = 0;      ///< Gaps so far.
    std::uint64_t missing = 0;   ///< Messages of gaps that have not come.
    std::uint64_t repaired = 0;  ///< Messages of gaps that came.
    std::uint64_t repeated = 0;  ///< Live messages that came again, or too late.
    std::uint64_t restarts = 0;
    std::uint64_t before = 0;  ///< Messages that were sent before the first one that came.
  };
  const Counts& counts() const { return counts_; }
  /// Returns true if messages were lost for good since the publisher began: its blocks are known only in part.
  bool is_incomplete() const { return incomplete_; }
  /// Records that the publisher has cleared its cache: nothing is unknown any longer.
  void set_complete() { incomplete_ = false; }

 private:
  bool is_known(std::uint64_t sequence) const { return (began_ && sequence < next_) || held_.contains(sequence); }
  bool is_restart(const Message& message) const;
  void forget(const Message& message);
  void begin_at(std::uint64_t sequence);
  void note_gap(std::uint64_t sequence);
  void applied(const Message& message);
  void hold(const Message& message, std::string_view payload);

  bool began_ = false, incomplete_ = false, reconnected_ = false;
  std::uint64_t next_ = 0;     ///< First sequence that was not applied.
  std::uint64_t highest_ = 0;  ///< One more than the highest sequence that came.
  std::uint64_t replayed_end_ = 0;
  double last_time_ = 0, newest_time_ = 0;
  std::optional<double> zero_time_;  ///< Time of message 0.
  std::map<std::uint64_t, Held> held_;
  std::size_t held_bytes_ = 0;
  Counts counts_;
};

/// Returns the doubts of figures of a stream with these counts: messages that never came, and, if the stream is not
/// complete, those that were sent before its first one.
inline Doubts doubts_of(const InOrder::Counts& counts) {
  Doubts doubts;
  const auto add = [&](std::uint64_t count, const char* words) {
    if (count > 0)
      doubts.push_back(
          {Doubt::Kind::lost, count, std::to_string(count) + (count == 1 ? " message" : " messages") + words});
  };
  add(counts.missing, " of the stream never came: blocks that were stored or removed in between are not known");
  add(counts.before, " of the stream were sent before the first one that came: what they stored is not known");
  return doubts;
}

}  // namespace canopy::kv_events
