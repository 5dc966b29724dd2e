#pragma once

#include <canopy/page_storage.h>
#include <canopy/support/random.h>

#include <string_view>
#include <unordered_map>
#include <vector>

#include "command.h"
#include "network.h"

namespace canopy::redis {

/// A namespace and its epoch, a random number that is part of each record's name. Another epoch makes all records
/// of the space unreachable: that is how a space is flushed. The epoch is kept on the server.
struct Space {
  PageKey name;
  bool known = false;
  bool flushed = false;  ///< by this process
  bool unsaved = false;  ///< this process has flushed it, and the server has not confirmed
  std::uint64_t epoch = 0;
  std::uint64_t offered = 0;        ///< the epoch that the server takes if it has none
  std::uint32_t unanswered = 0;     ///< commands
  Micros asked = 0;                 ///< when the server was last asked
  std::vector<std::uint64_t> dead;  ///< epochs that this process has ended
  std::vector<Call*> parked;        ///< calls that wait for the epoch
  std::vector<Call*> flushes;       ///< calls that wait for the server to confirm
};

/// The spaces that this process uses. The epoch of a space is read when the space is first used, and again at use when
/// it was read `refresh` ago: so late another process sees a flush. A server that has no epoch gets a new one, never
/// one that a process remembers: an epoch that was lost may have been replaced since.
class Epochs {
 public:
  Epochs(Network& network, Micros refresh);

  /// Calls wait in its `parked` until it is known. Asks the server if it is time to. Valid until the next call.
  Space& use(const PageKey& name, Micros now);
  /// Ends the epoch of the space at once. `call` is in one space's `flushes` from now on.
  void flush(Call& call, Micros now);
  /// Tells servers of flushes that they have not confirmed. Now and then.
  void turn(Micros now);

  /// A command for a space's epoch was answered, or could not be sent.
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
  std::vector<Space*> flushed_;  ///< by this process; kept for ever
};

}  // namespace canopy::redis
