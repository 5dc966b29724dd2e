#include "calls.h"

#include <algorithm>
#include <cstdio>
#include <string>

namespace canopy::redis {

Calls::Calls(const PageStorage::Context& context, Network::Settings settings, Micros refresh, Mailbox& mailbox,
             int epoll)
    : record_bytes_(context.record_bytes),
      mailbox_(mailbox),
      names_(context),
      network_(std::move(settings), static_cast<CommandUser&>(*this), epoll),
      epochs_(network_, refresh) {}

void Calls::set_time(Micros now) {
  now_ = now;
  network_.set_time(now);
}

void Calls::begin(Call& call) {
  if (call.kind == Call::Kind::flush) return epochs_.flush(call, now_);
  const std::size_t records = call.keys.size();
  call.fates.assign(records, Fate::late);  // until something else is known
  call.stored.assign(records, false);
  call.blocks.clear();
  call.round = 0;
  call.outdated = false;
  call.refused = static_cast<std::uint32_t>(records);
  deadlines_.emplace(call.until_us, &call);
  Space& space = epochs_.use(call.space, now_);
  call.epoch = space.epoch;
  if (space.known) return start(call);
  space.parked.push_back(&call);
  call.parked_in = &space;
  if (space.unanswered == 0) unpark(space);  // no server can be reached
}

void Calls::start(Call& call) {
  call.unanswered = 1;  // the call does not end while it begins
  switch (call.kind) {
    case Call::Kind::find:
      ask_next_of_find(call);
      break;
    case Call::Kind::get:
      for (std::size_t i = 0; i < call.keys.size(); ++i) ask(call, Command::Kind::get, i);
      break;
    case Call::Kind::find_each:
    case Call::Kind::put:  // a record that exists need not be sent
      for (std::size_t i = 0; i < call.keys.size(); ++i) ask(call, Command::Kind::exists, i);
      break;
    case Call::Kind::remove:
      for (std::size_t i = 0; i < call.keys.size(); ++i) ask(call, Command::Kind::unlink, i);
      break;
    case Call::Kind::flush:
      break;
  }
  answered(call);
}

void Calls::ask(Call& call, Command::Kind kind, std::size_t index) {
  ++call.unanswered;
  network_.send({.kind = kind,
                 .slot = slot_of_home(call.keys[index].placement()),
                 .index = static_cast<std::uint32_t>(index),
                 .call = &call});
}

void Calls::answered(Call& call) {
  if (--call.unanswered > 0) return;
  if (call.kind == Call::Kind::find) {
    ++call.unanswered;
    ask_next_of_find(call);
    if (--call.unanswered > 0) return;
  }
  finish(call);
}

void Calls::finish(Call& call) {
  if (call.kind == Call::Kind::put) finish_put(call);
  deadlines_.erase({call.until_us, &call});
  mailbox_.ended(call);
}

void Calls::expire(Call& call) {
  if (Space* space = std::exchange(call.parked_in, nullptr)) std::erase(space->parked, &call);
  ++call.unanswered;  // a command that fails while it is forgotten does not end the call
  network_.forget(&call);
  if (call.kind == Call::Kind::find) std::ranges::fill(call.fates, Fate::late);  // not a part of the answer
  finish(call);
}

Micros Calls::turn() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_) expire(*deadlines_.begin()->second);
  epochs_.turn(now_);
  const Micros again = network_.turn();
  return deadlines_.empty() ? again : std::min(again, deadlines_.begin()->first);
}

/// Continues the parked calls of a space, whose epoch is known now or cannot be obtained.
void Calls::unpark(Space& space) {
  for (Call* call : std::exchange(space.parked, {})) {
    call->parked_in = nullptr;
    call->epoch = space.epoch;
    // A put under the new epoch would be found after the flush.
    if (space.known && !(call->outdated && call->kind == Call::Kind::put)) {
      start(*call);
      continue;
    }
    std::ranges::fill(call->fates, Fate::failed);
    finish(*call);
  }
}

/// Handles a command for the epoch of a space that has a reply, or that failed. A new epoch ends the flush that set it
/// and those before it.
void Calls::epoch_answered(const Command& command, bool done) {
  Space& space = *command.space;
  if (space.known || space.unanswered == 0) unpark(space);
  if (command.kind != Command::Kind::set_epoch) return;
  const auto last = std::ranges::find(space.flushes, command.epoch, &Call::epoch);
  if (last == space.flushes.end()) return;  // a flush that is repeated, or that a later one has ended
  const std::vector<Call*> ended(space.flushes.begin(), last + 1);
  space.flushes.erase(space.flushes.begin(), last + 1);
  for (Call* const flush : ended) {
    flush->fates[0] = done ? Fate::done : Fate::failed;
    mailbox_.ended(*flush);
  }
}

bool Calls::encode(Command& command, Outbox& outbox) {
  using Kind = Command::Kind;
  const auto epoch_text = [&] {
    std::string text;
    append_hex(text, command.epoch);
    return text;
  };
  if (command.space != nullptr) {
    const std::string_view name = names_.epoch(command.space->name);
    outbox.array(command.kind == Kind::read_epoch ? 2 : command.kind == Kind::set_epoch ? 3 : 4);
    outbox.word(command.kind == Kind::read_epoch ? "GET" : "SET");
    outbox.word(name);
    if (command.kind != Kind::read_epoch) outbox.word(epoch_text());
    if (command.kind == Kind::take_epoch) outbox.word("NX");
    return true;
  }
  Call& call = *command.call;
  const std::size_t i = command.index;
  const auto record = [&](std::size_t of) { return names_.record(call.keys[of], call.epoch); };
  if (command.kind == Kind::set) {
    if (i > call.refused) {  // finish_put() sets its fate
      answered(call);
      return false;
    }
    outbox.array(call.keep_s > 0 ? 6 : 4);
    outbox.word("SET"), outbox.word(record(i));
    outbox.record({call.records[i], record_bytes_}, &call);
    outbox.word("NX");
    if (call.keep_s > 0) outbox.word("EX"), outbox.word(std::to_string(call.keep_s));
  } else if (command.kind == Kind::exists_all) {
    const std::size_t end = end_of_block(call, i);
    outbox.array(end - i);
    outbox.word("EXISTS");
    for (std::size_t of = i + 1; of < end; ++of) outbox.word(record(of));
  } else {
    outbox.array(2);
    outbox.word(command.kind == Kind::get ? "GET" : command.kind == Kind::unlink ? "UNLINK" : "EXISTS");
    outbox.word(record(i));
  }
  return true;
}

std::byte* Calls::place(const Command& command, std::uint64_t bytes) {
  if (command.kind != Command::Kind::get || bytes != record_bytes_) return nullptr;
  return command.call->records[command.index];
}

void Calls::answer(const Command& command, const Element& element) {
  if (command.space != nullptr) {
    Epochs::answer(command, element);
    return epoch_answered(command, element.kind != Element::Kind::error);
  }
  Call& call = *command.call;
  switch (call.kind) {
    case Call::Kind::find:
      find_answered(call, command, element);
      break;
    case Call::Kind::find_each:
      if (element.kind != Element::Kind::integer) call.fates[command.index] = Fate::failed;
      else call.fates[command.index] = element.number > 0 ? Fate::done : Fate::absent;
      break;
    case Call::Kind::get:
      get_answered(call, command, element);
      break;
    case Call::Kind::put:
      put_answered(call, command, element);
      break;
    case Call::Kind::remove:
    case Call::Kind::flush:
      break;
  }
  answered(call);
}

void Calls::fail(const Command& command) {
  if (command.space != nullptr) {
    Epochs::fail(command);
    return epoch_answered(command, false);
  }
  Call& call = *command.call;
  if (call.kind == Call::Kind::put) not_kept(call, command.index, Fate::failed);
  else call.fates[command.index + (command.kind == Command::Kind::exists_all)] = Fate::failed;
  answered(call);
}

void Calls::say(const std::string& sentence) { std::fprintf(stderr, "canopy: redis: %s\n", sentence.c_str()); }

}  // namespace canopy::redis
