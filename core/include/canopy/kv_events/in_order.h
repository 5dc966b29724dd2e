#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace canopy::kv_events {

/// Position of a message in its publisher's stream.
enum class Order {
  first,     ///< First message of the publisher. What was sent before is unknown, unless the sequence is 0.
  next,      ///< Directly behind the newest.
  ahead,     ///< Messages between the newest and this one are missing: a gap.
  late,      ///< Part of a gap.
  repeated,  ///< It came before, or after its gap was given up.
  restart,   ///< The publisher began at 0 again: what it held is gone.
};

/// Puts the messages of one publisher into the order of their sequence numbers, each once. A publisher silently drops
/// messages if a subscriber is slow, its replay socket sends them again, and one that restarts begins at 0 again. The
/// meaning of events depends on their order, so a message behind a gap is held until the gap is filled or given up.
class InOrder {
 public:
  /// Messages that are held behind a gap. At either limit the gap is given up.
  static constexpr std::size_t kMostHeld = 100'000, kMostHeldBytes = std::size_t{256} << 20;

  struct Message {
    std::uint64_t sequence = 0;
    double time = 0;      ///< Time of the batch, by the publisher's clock.
    bool clears = false;  ///< The batch has a cleared event.
    bool replayed = false;
  };
  struct Taken {
    Order order{};
    bool is_due = false;  ///< The message is the next one: apply it now. Otherwise it is held, or was applied before.
  };
  /// Takes a message that came. After it, apply what next_held() returns. After a restart, first forget what the
  /// publisher held. `replays`: a replay socket may send what came before, so the first message waits for it.
  ///
  /// A known sequence is a restart if its batch is later than every batch before. A server whose clock was set back
  /// while it restarted is recognized by its first message: another one of sequence 0 that clears.
  Taken take(const Message& message, std::string_view payload, bool replays);

  struct Held {
    Message message;
    std::string payload;
  };
  /// Returns the next message in order, if it is held.
  std::optional<Held> next_held();
  /// Call after reconnecting: the publisher may have restarted even if its sequence numbers continue. Live messages
  /// wait until a replay has shown the last message that was applied, or until give_up().
  void reconnected() { reconnected_ = began_; }
  /// Returns true if messages wait for missing ones, or a replay is needed.
  bool waits() const { return reconnected_ || !held_.empty(); }
  /// Returns where a replay should begin: at the last message that was applied, if there is one. If the publisher has
  /// another message of that number, it restarted unnoticed.
  std::uint64_t replay_from() const { return next_ > 0 ? next_ - 1 : 0; }
  /// Ends a replay that was requested from there. Gives up what is missing, unless the replay brought some of it:
  /// another message may then have been lost after the request, and another replay is needed.
  void replay_ended(std::uint64_t from);
  /// Gives up the first gap: its messages do not come.
  void give_up();

  struct Counts {
    std::uint64_t gaps = 0;      ///< Times that messages were missing.
    std::uint64_t missing = 0;   ///< Messages of gaps that have not come.
    std::uint64_t repaired = 0;  ///< Messages of gaps that came.
    std::uint64_t repeated = 0;  ///< Live messages that came again, or too late.
    std::uint64_t restarts = 0;
    std::uint64_t before = 0;  ///< Messages sent before the first that came.
  };
  const Counts& counts() const { return counts_; }
  /// Returns true if messages were lost for good since the publisher began, so that what it holds is only partly known.
  bool is_incomplete() const { return incomplete_; }
  /// Call when the publisher has cleared its cache: nothing is unknown any longer.
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
  std::uint64_t next_ = 0;     ///< The first sequence that was not applied.
  std::uint64_t highest_ = 0;  ///< One more than the highest sequence seen.
  std::uint64_t replayed_end_ = 0;
  double last_time_ = 0, newest_time_ = 0;
  std::optional<double> zero_time_;  ///< Time of message 0.
  std::map<std::uint64_t, Held> held_;
  std::size_t held_bytes_ = 0;
  Counts counts_;
};

}  // namespace canopy::kv_events
