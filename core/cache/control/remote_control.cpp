#include "remote_control.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <cache/publish/publisher.h>

namespace canopy {

bool RemoteControl::poll() {
  Publisher* const publisher = pages_.publisher();
  if (!publisher) return true;
  publisher->serve_waiting_readers();
  FeedWriter& feed = publisher->writer();
  if (!feed.shape().controls) return true;
  take_commands(feed.header());
  if (!state_.paused) return true;
  if (steps_left_ == 0) return false;
  --steps_left_;
  return true;
}

/// Executes at most one full ring of commands: a reader that posts without end must not keep the engine here. A command
/// is copied before it is read, since readers can change it.
void RemoteControl::take_commands(FeedHeader& header) {
  FeedCommands& commands = commands_behind(header);
  for (std::size_t i = 0; i < FeedCommands::kSlots; ++i) {
    const FeedCommands::Slot& slot = commands.slots[commands_done_ % FeedCommands::kSlots];
    if (slot.ready.load(std::memory_order_acquire) != commands_done_ + 1) break;
    const Command command = slot.command;
    header.taken.store(++commands_done_, std::memory_order_release);
    obey(command);
  }
  // Corrects tickets that were never assigned; otherwise no further command could arrive.
  if (const std::uint64_t posted = commands.posted.load(std::memory_order_relaxed);
      posted - commands_done_ > FeedCommands::kSlots)
    commands.posted.store(commands_done_, std::memory_order_relaxed);
}

void RemoteControl::obey(const Command& command) {
  const bool has_group = command.group < state_.pools.size();
  switch (command.kind) {
    case Command::Kind::pause:
      if (!state_.paused) pause("paused from an inspector");
      break;
    case Command::Kind::go_on:
      go_on();
      break;
    case Command::Kind::step:
      pause("it runs step by step, as asked from an inspector");
      steps_left_ += std::min(command.amount, kUnlimited - steps_left_);
      break;
    case Command::Kind::evict:
      if (has_group) pages_.evict(command.group, command.amount);
      break;
    case Command::Kind::resize:
      if (has_group)
        drainer_.resize(command.group, command.amount == kUnlimited ? kUnlimited : command.amount / state_.page_size);
      break;
    case Command::Kind::flush:
      if (command.amount < state_.spaces.size()) retentions_.flush(static_cast<NamespaceId>(command.amount));
      break;
    case Command::Kind::policy: {
      const std::string name(command.name, strnlen(command.name, sizeof(command.name)));
      if (!has_group || !registry_.find(EvictionStrategy::kInterface, name)) break;
      if (auto policy = registry_.make<EvictionStrategy>(name, {}))
        pages_.use_policy(command.group, *policy, name, registry_.component(EvictionStrategy::kInterface, name));
      break;
    }
    case Command::Kind::run_until:
      run_until(command);
      break;
    case Command::Kind::pin:
      pins_.pin(static_cast<NodeId>(command.amount));
      break;
    case Command::Kind::unpin:
      pins_.unpin(static_cast<NodeId>(command.amount));
      break;
  }
}

void RemoteControl::pause(std::string because) {
  state_.paused = true;
  state_.stop.forget();
  if (state_.paused_because == because) return;
  state_.paused_because = std::move(because);
  pages_.publisher()->paused();
  pages_.end_operation(Operation::control);
}

void RemoteControl::go_on() {
  state_.stop.forget();
  steps_left_ = 0;
  if (!std::exchange(state_.paused, false)) return;
  state_.paused_because.clear();
  pages_.publisher()->paused();
  pages_.end_operation(Operation::control);
}

void RemoteControl::run_until(const Command& command) {
  const bool of_group = command.until == Condition::evicted || command.until == Condition::free;
  if (command.until > Condition::free || (of_group && command.group >= state_.pools.size())) return;
  go_on();
  state_.paused_because.reserve(Ledger::kMostBytes);  // nothing may lack memory when it is met
  state_.stop.wait_for(command);
}

}  // namespace canopy
