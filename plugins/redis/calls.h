#pragma once

#include <set>
#include <utility>

#include "epochs.h"
#include "mailbox.h"
#include "network.h"
#include "record_name.h"

namespace canopy::redis {

/// Pending calls: sends the commands of each call, interprets the replies, and ends calls at their deadlines. Runs in
/// the storage's own thread.
class Calls final : CommandUser {
 public:
  Calls(const PageStorage::Context& context, Network::Settings settings, Micros refresh, Mailbox& mailbox, int epoll);

  /// Sets the time of the following calls.
  void set_time(Micros now);
  void begin(Call& call);
  void on_event(void* connection, std::uint32_t events) { network_.on_event(connection, events); }
  /// Ends calls that are late and runs the network. Returns the latest time for the next call.
  Micros turn();

 private:
  bool encode(Command& command, Outbox& outbox) override;
  std::byte* place(const Command& command, std::uint64_t bytes) override;
  void answer(const Command& command, const Element& element) override;
  void fail(const Command& command) override;
  void say(const std::string& sentence) override;

  // Stages of a call.
  void start(Call& call);
  void ask(Call& call, Command::Kind kind, std::size_t index);
  void answered(Call& call);
  void finish(Call& call);
  void expire(Call& call);
  void unpark(Space& space);
  void epoch_answered(const Command& command, bool done);

  // Steps of each kind of call, in steps.cpp.
  void ask_next_of_find(Call& call);
  void find_answered(Call& call, const Command& command, const Element& element);
  void get_answered(Call& call, const Command& command, const Element& element);
  void put_answered(Call& call, const Command& command, const Element& element);
  void finish_put(Call& call);
  void not_kept(Call& call, std::size_t index, Fate why);
  void remove(const Call& of, std::size_t index);

  static std::size_t end_of_block(const Call& call, std::size_t begin);

  const std::uint64_t record_bytes_;
  Mailbox& mailbox_;
  RecordNames names_;
  Network network_;
  Epochs epochs_;
  std::set<std::pair<Micros, Call*>> deadlines_;  ///< by AsyncCall::until_us
  Micros now_ = 0;
};

}  // namespace canopy::redis
