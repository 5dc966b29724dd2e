#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace canopy::attach {

/// Puts the messages of one publisher into the order of their sequence numbers, each once. A publisher drops messages
/// silently when a subscriber is slow, its replay socket sends them again, and one that restarts begins at 0 again.
/// What events mean depends on their order, so a message behind a gap is kept until the gap is filled or given up.
class InOrder {
 public:
  /// Messages that are kept behind a gap, at most. One more, and the gap is given up.
  static constexpr std::size_t kMostHeld = 100'000, kMostHeldBytes = std::size_t{256} << 20;

  struct Message {
    std::uint64_t sequence = 0;
    double time = 0;      ///< of the batch, by the publisher's clock
    bool clears = false;  ///< the batch has a cleared event
    bool replayed = false;
  };
  enum class Verdict {
    apply,    ///< it is the next one; then ask next_held()
    hold,     ///< keep() it: some before it are missing, or a replay of what came before it is under way
    drop,     ///< it came before, or too late
    restart,  ///< the publisher began again: forget what it had, then see() the message again
  };
  /// `replays`: what came before may come from a replay socket, so the first message waits for it.
  Verdict see(const Message& message, bool replays);
  void keep(const Message& message, std::string_view payload);

  struct Held {
    Message message;
    std::string payload;
  };
  /// The next message, if it is here.
  std::optional<Held> next_held();
  /// The connection is a new one: the publisher may be as well, whatever its numbers are. Live messages wait until a
  /// replay has shown the last one that was applied, or give_up().
  void doubt() { doubted_ = began_; }
  /// Messages wait for others that have not come, or a replay is needed.
  bool waits() const { return doubted_ || !held_.empty(); }
  bool is_full() const { return held_.size() >= kMostHeld || held_bytes_ >= kMostHeldBytes; }
  /// Where a replay shall begin. It is the last message that was applied, where there is one: a publisher that has
  /// another one of that number restarted unnoticed.
  std::uint64_t replay_from() const { return next_ > 0 ? next_ - 1 : 0; }
  /// A replay that was asked for from there has ended. What is missing does not come, unless the replay brought some of
  /// it: then another message may have been lost after it was asked for, and another replay is needed.
  void replay_ended(std::uint64_t from);
  /// The missing ones do not come: the order goes on behind the first gap.
  void give_up();

  struct Counts {
    std::uint64_t gaps = 0;      ///< times that messages were missing
    std::uint64_t missing = 0;   ///< messages of gaps that have not come
    std::uint64_t repaired = 0;  ///< messages of gaps that came
    std::uint64_t repeated = 0;  ///< live messages that came again, or too late
    std::uint64_t restarts = 0;
    std::uint64_t before = 0;  ///< messages sent before the first that came
  };
  const Counts& counts() const { return counts_; }
  /// Messages are missing for good since the publisher began: what it holds is not wholly known.
  bool is_incomplete() const { return incomplete_; }
  /// It holds nothing now, so nothing is missing: it said so.
  void is_complete() { incomplete_ = false; }

 private:
  bool is_restart(const Message& message, bool is_known) const;
  void forget(const Message& message);
  void begin_at(std::uint64_t sequence);
  void note_gap(std::uint64_t sequence);
  void applied(const Message& message);

  bool began_ = false, incomplete_ = false, doubted_ = false;
  std::uint64_t next_ = 0;     ///< the first that was not applied
  std::uint64_t highest_ = 0;  ///< one more than the highest seen
  std::uint64_t replayed_end_ = 0;
  double last_time_ = 0, newest_time_ = 0;
  std::optional<double> zero_time_;  ///< of message 0
  std::map<std::uint64_t, Held> held_;
  std::size_t held_bytes_ = 0;
  Counts counts_;
};

}  // namespace canopy::attach
