#include <algorithm>

#include "calls.h"

namespace canopy::redis {

// find: first checks the head of each block. Then counts the records of each block before the last one whose head
// exists, and checks that last block record by record. If one of the others lacks records, checks that block record by
// record.

std::size_t Calls::end_of_block(const Call& call, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < call.keys.size() && call.keys[end].placement() == call.keys[begin].placement()) ++end;
  return end;
}

void Calls::ask_next_of_find(Call& call) {
  const std::size_t records = call.keys.size();
  const auto ask_each = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) ask(call, Command::Kind::exists, i);
  };
  const auto unknown_from = [&](std::size_t begin) {
    const auto first = std::find_if(call.fates.begin() + static_cast<std::ptrdiff_t>(begin), call.fates.end(),
                                    [](Fate fate) { return fate != Fate::done; });
    return static_cast<std::size_t>(first - call.fates.begin());
  };
  ++call.round;
  if (call.round == 1) {
    for (std::size_t i = 0; i < records; i = end_of_block(call, i))
      call.blocks.push_back(static_cast<std::uint32_t>(i));
    if (call.blocks.size() == 1) return ask_each(0, records);
    for (const std::uint32_t head : call.blocks) ask(call, Command::Kind::exists, head);
  } else if (call.round == 2 && call.blocks.size() > 1) {
    const auto absent = std::find_if(call.blocks.begin(), call.blocks.end(),
                                     [&](std::uint32_t head) { return call.fates[head] != Fate::done; });
    for (auto block = call.blocks.begin(); block != absent; ++block) {
      const std::size_t end = end_of_block(call, *block);
      if (block + 1 == absent) ask_each(*block + 1, end);
      else if (end > *block + 1) ask(call, Command::Kind::exists_all, *block);
    }
  } else if (call.round == 3) {
    const std::size_t hole = unknown_from(0);
    if (hole == records || call.fates[hole] != Fate::late) return;
    const auto next = std::upper_bound(call.blocks.begin(), call.blocks.end(), hole);
    ask_each(hole, next == call.blocks.end() ? records : *next);
  }
}

void Calls::find_answered(Call& call, const Command& command, const Element& element) {
  const std::size_t i = command.index;
  const bool whole = command.kind == Command::Kind::exists_all;
  if (element.kind != Element::Kind::integer) {
    call.fates[i + (whole ? 1 : 0)] = Fate::failed;
  } else if (!whole) {
    call.fates[i] = element.number > 0 ? Fate::done : Fate::absent;
  } else {
    const std::size_t end = end_of_block(call, i);
    if (element.number != static_cast<std::int64_t>(end - i - 1)) return;
    std::fill(call.fates.begin() + static_cast<std::ptrdiff_t>(i),
              call.fates.begin() + static_cast<std::ptrdiff_t>(end), Fate::done);
  }
}

void Calls::get_answered(Call& call, const Command& command, const Element& element) {
  Fate& fate = call.fates[command.index];
  switch (element.kind) {
    case Element::Kind::value:
      fate = Fate::done;
      break;
    case Element::Kind::nil:
      fate = Fate::absent;
      break;
    case Element::Kind::text:
    case Element::Kind::dropped:  // another size: not a record
      fate = Fate::absent;
      remove(call, command.index);
      break;
    default:
      fate = Fate::failed;
      break;
  }
}

// put: first checks which records exist; then sends the others in the order of their path. If one is not kept, the
// records after it that this call stored are removed.

void Calls::put_answered(Call& call, const Command& command, const Element& element) {
  const std::size_t i = command.index;
  if (element.kind == Element::Kind::error)
    return not_kept(call, i, element.text.starts_with("OOM") ? Fate::full : Fate::failed);
  if (command.kind == Command::Kind::exists) {
    if (element.kind != Element::Kind::integer) return not_kept(call, i, Fate::failed);
    if (element.number > 0) call.fates[i] = Fate::done;
    else ask(call, Command::Kind::set, i);
    return;
  }
  call.fates[i] = Fate::done;  // nil: another process stored it first
  if (element.kind == Element::Kind::status) call.stored[i] = true;
}

void Calls::not_kept(Call& call, std::size_t index, Fate why) {
  call.fates[index] = why;
  call.refused = std::min(call.refused, static_cast<std::uint32_t>(index));
}

void Calls::finish_put(Call& call) {
  for (std::size_t i = call.cut(); i < call.fates.size(); ++i)
    if (call.stored[i]) remove(call, i);
}

void Calls::remove(const Call& of, std::size_t index) {
  constexpr Micros kPatience = 1'000'000;
  Call& call = mailbox_.own(Call::Kind::remove, of.space, {&of.keys[index], 1}, now_ + kPatience);
  call.epoch = of.epoch;
  deadlines_.emplace(call.until_us, &call);
  start(call);
}

}  // namespace canopy::redis
