#pragma once

#include <canopy/base/random.h>
#include <canopy/page_storage.h>

#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "command.h"
#include "network.h"

namespace canopy::redis {

/// A namespace and its epoch, a random number that is part of each record's name. A new epoch makes all records of the
/// space unreachable: that is how a space is flushed. The server stores the epoch.
struct Space {
  PageKey name;
  bool known = false;
  bool flushed = false;  ///< true if this process has flushed it
  bool unsaved = false;  ///< true if this process has flushed it and the server has not confirmed
  std::uint64_t epoch = 0;
  std::uint64_t offered = 0;       ///< epoch to set on the server if it has none
  std::uint32_t unanswered = 0;    ///< number of commands without a reply
  Micros queried = 0;              ///< time of the last query of the epoch
  std::deque<std::uint64_t> dead;  ///< epochs that this process has ended, the newest 1,000
  std::vector<Call*> parked;       ///< calls that wait for the epoch
  std::vector<Call*> flushes;      ///< calls that wait for the server to confirm their epochs, in order
};

/// The spaces that this process uses. The epoch of a space is read at its first use, and again at a use at least
/// `refresh` later. So a process that uses a space all the time sees another one's flush with at most that delay and
/// the time of the reply; after a pause, what it begins before the reply still uses the old epoch. A server without an
/// epoch gets a new one, never one that a process remembers, because a lost epoch may have been replaced since.
class Epochs {
 public:
  Epochs(Network& network, Micros refresh);

  /// Returns the space; calls wait in its `parked` until it is known. Queries the server if the epoch is due. Valid
  /// until the next call.
  Space& use(const PageKey& name, Micros now);
  /// Ends the epoch of the space at once. `call` is from now on in the `flushes` of one space.
  void flush(Call& call, Micros now);
  /// Repeats flushes that servers have not confirmed. Call it now and then.
  void turn(Micros now);

  /// Handles the reply, or the failure, of a command for a space's epoch.
  static void answer(const Command& command, const Element& element);
  static void fail(const Command& command) { --command.space->unanswered; }

 private:
  void forget_idle();
  void ask(Space& space, Micros now);
  void save(Space& space, Micros now);
  static void settle(Space& space, std::string_view text);

  Network& network_;
  const Micros refresh_;
  Random random_;
  std::unordered_map<PageKey, Space, PageKey::Hash> spaces_;
  std::vector<Space*> flushed_;  ///< spaces flushed by this process; kept for its lifetime
};

}  // namespace canopy::redis
