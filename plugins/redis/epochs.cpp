#include "epochs.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <utility>

#include "call.h"

namespace canopy::redis {

namespace {

constexpr std::size_t kMostSpaces = 1 << 16;  // idle ones that are remembered
constexpr Micros kSaveAgain = 1'000'000;
constexpr std::size_t kMostDead = 1'000;  // a server that lost more flushes of a space than this may show old records

std::uint64_t seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

bool read_epoch(std::string_view text, std::uint64_t& epoch) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), epoch, 16);
  return text.size() == 16 && read.ec == std::errc() && read.ptr == text.data() + text.size();
}

}  // namespace

Epochs::Epochs(Network& network, Micros refresh) : network_(network), refresh_(refresh), random_(seed()) {}

Space& Epochs::use(const PageKey& name, Micros now) {
  if (spaces_.size() >= kMostSpaces && !spaces_.contains(name)) forget_idle();
  Space& space = spaces_[name];
  space.name = name;
  const bool due = !space.known || (!space.unsaved && now >= space.queried + refresh_);
  if (due && space.unanswered == 0) ask(space, now);
  return space;
}

void Epochs::forget_idle() {
  // Flushed spaces are kept.
  std::erase_if(spaces_, [](const auto& one) {
    const Space& space = one.second;
    return space.unanswered == 0 && !space.flushed && space.parked.empty();
  });
}

void Epochs::ask(Space& space, Micros now) {
  space.queried = now;
  space.offered = random_.next();
  const std::uint16_t slot = slot_of_space(space.name);
  space.unanswered += 2;
  network_.send({.kind = Command::Kind::take_epoch, .slot = slot, .space = &space, .epoch = space.offered});
  network_.send({.kind = Command::Kind::read_epoch, .slot = slot, .space = &space});
}

void Epochs::flush(Call& call, Micros now) {
  Space& space = use(call.space, now);
  if (space.known) space.dead.push_back(space.epoch);
  if (space.dead.size() > kMostDead) space.dead.pop_front();
  for (Call* const parked : space.parked) parked->outdated = true;
  space.epoch = call.epoch = random_.next();
  space.known = space.unsaved = true;
  if (!std::exchange(space.flushed, true)) flushed_.push_back(&space);
  space.flushes.push_back(&call);
  save(space, now);
}

void Epochs::save(Space& space, Micros now) {
  space.queried = now;
  ++space.unanswered;
  network_.send(
      {.kind = Command::Kind::set_epoch, .slot = slot_of_space(space.name), .space = &space, .epoch = space.epoch});
}

void Epochs::turn(Micros now) {
  for (Space* space : flushed_)
    if (space->unsaved && space->unanswered == 0 && now >= space->queried + kSaveAgain) save(*space, now);
}

void Epochs::answer(const Command& command, const Element& element) {
  Space& space = *command.space;
  --space.unanswered;
  if (element.kind == Element::Kind::error) return;
  if (command.kind == Command::Kind::read_epoch) settle(space, element.text);
  if (command.kind == Command::Kind::set_epoch && command.epoch == space.epoch) space.unsaved = false;
}

void Epochs::settle(Space& space, std::string_view text) {
  if (space.unsaved) return;
  std::uint64_t found = 0;
  // A server that has no epoch and accepts none, because it is full, has no records of this space either.
  if (!read_epoch(text, found)) found = space.offered;
  // A server that replaced another one may have missed the flush.
  space.unsaved = std::find(space.dead.begin(), space.dead.end(), found) != space.dead.end();
  if (space.unsaved) return;
  space.epoch = found;
  space.known = true;
}

}  // namespace canopy::redis
