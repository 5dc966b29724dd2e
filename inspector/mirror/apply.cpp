#include "apply.h"

#include "clean_text.h"

namespace canopy::inspector {
namespace {

/// A damaged recording may report more; those are skipped.
constexpr std::size_t kMostLines = 65536, kMostWorkers = 1024;

}  // namespace

void Apply::event(const Event& event) {
  // Mirror::take_below passes the event on to the mirror of the tier.
  if ((event.group & kOfTierBelow) && event::AllEvents::knows(event)) return;
  const bool in_range = event.group < groups();
  const bool known = in_range ? event::AllEvents::visit(event, *this) : event::AllEvents::knows(event);
  if (known && !in_range) invalid();
  state_.unknown_events += !known;
  state_.damaged += event.kind == 0;  // a kind that no version has: overwritten memory
}

void Apply::operator()(const event::TextPiece& piece) {
  std::string& text = state_.text;
  if (piece.at == 0) text.clear();
  text += piece.view();
  if (!piece.last || piece.number >= kMostSpaces) return;
  const bool fields =
      piece.text == TextKind::plugin || piece.text == TextKind::refusal || piece.text == TextKind::worker;
  text = clean_text(text, piece.text == TextKind::config ? "\n" : fields ? "\t" : "");
  const std::size_t number = piece.number;
  // In a feed of KV events, a group is named when its first event arrives.
  if (piece.text == TextKind::group && number == groups() && number < kMaxGroups) state_.pools.emplace_back();
  keep_text(piece.text, number);
  if (watcher_) watcher_->named(piece.text, number);
}

void Apply::keep_text(TextKind kind, std::size_t number) {
  const std::string& text = state_.text;
  MirrorPool* const pool = number < groups() ? &state_.pools[number] : nullptr;
  switch (kind) {
    case TextKind::space:
      if (state_.spaces.size() <= number) state_.spaces.resize(number + 1);
      state_.spaces[number].name = text;
      return;
    case TextKind::group:
      if (pool) pool->name = text;
      return;
    case TextKind::policy:
      if (pool) pool->policy = text;
      return;
    case TextKind::policy_rule:
      if (pool) pool->policy_rule = text;
      return;
    case TextKind::policy_rank:
      if (pool) pool->policy_rank = text;
      return;
    case TextKind::config:
      state_.config = text;
      return;
    case TextKind::plugin:
      if (state_.plugins.size() < kMostLines) state_.plugins.push_back(text);
      return;
    case TextKind::refusal:
      if (state_.refusals.size() < kMostLines) state_.refusals.push_back(text);
      return;
    case TextKind::paused:
      state_.paused = text;
      return;
    case TextKind::origin:
      state_.origin = text;
      return;
    case TextKind::no_nodes:
      state_.no_nodes = text;
      return;
    case TextKind::storage:
      state_.storage = text;
      return;
    case TextKind::tenant:
      if (MirrorTenant* const tenant = tenant_at(static_cast<std::uint32_t>(number), true)) tenant->name = text;
      return;
    case TextKind::worker:
      if (number >= kMostWorkers) return;
      if (state_.workers.size() <= number) state_.workers.resize(number + 1);
      state_.workers[number] = text;
      return;
  }
}

}  // namespace canopy::inspector
