#include "random_operations.h"

#include <algorithm>
#include <utility>

namespace canopy::check {
namespace {

constexpr std::uint32_t kHistory = 32;
/// There are few symbols, so that all prompts share something.
constexpr std::uint32_t kSymbols = 3;

/// Returns the unit of lengths: enough tokens to pass windows and to meet boundaries.
std::uint32_t stride_of(const Engine& engine) {
  std::uint32_t stride = engine.page_size();
  for (std::size_t g = 0; g < engine.groups(); ++g) {
    const PageNeeds& needs = engine.pool(g).needs();
    if (!needs.whole_path()) stride = std::max(stride, std::min<std::uint32_t>(needs.reach / 6, 512));
    stride = std::max(stride, std::min<std::uint32_t>(needs.grid * engine.page_size() / 4, 512));
  }
  return stride;
}

}  // namespace

RandomOperations::RandomOperations(std::uint64_t seed, const Registry& registry, Settings settings)
    : random_(seed), settings_(settings), policies_(registry.names(EvictionStrategy::kInterface)), history_(kHistory) {}

Operation& RandomOperations::again(Verb verb) {
  operation_ = {};
  operation_.verb = verb;
  return operation_;
}

const Operation& RandomOperations::next(const Trial& trial) {
  if (const auto left = trial.left(); !left.empty())
    history_.remember(random_, NamespaceId{trial.left_space()}, {left.begin(), left.end()});
  const auto lives = trial.lives();
  if (std::exchange(rare_next_, false)) return now_and_then(trial), operation_;
  if (settings_.memory && random_.one_in(10)) return scarcity(), operation_;
  if (rare(trial)) return operation_;
  const std::uint32_t lot = random_.below(1000);
  if (lives.empty() || (lot < 60 && lives.size() < settings_.running)) {
    if (random_.one_in(5)) serve(trial);
    else begin(trial);
  } else if (trial.refused()) {
    of(any(trial), Verb::retract);
  } else if (lot < 70) {
    serve(trial);
  } else if (lot < 900) {
    progress(trial);
  } else if (lot < 930) {
    const Trial::Live& live = any(trial);
    of(live, Verb::finish, random_.one_in(8) ? 0 : live.request.computed());
  } else if (lot < 945) {
    of(any(trial), Verb::abort);
  } else if (lot < 965) {
    of(any(trial), Verb::retract);
  } else {
    now_and_then(trial);
  }
  return operation_;
}

const Trial::Live& RandomOperations::any(const Trial& trial) {
  return trial.lives()[random_.below(static_cast<std::uint32_t>(trial.lives().size()))];
}

void RandomOperations::draw_group(const Trial& trial) {
  const Engine& engine = trial.engine();
  operation_.group = engine.pool(random_.below(static_cast<std::uint32_t>(engine.groups()))).group();
}

/// Makes a prompt: a new one, or the beginning of an earlier prompt and its answer, mostly in the same namespace.
void RandomOperations::prompt(const Trial& trial) {
  operation_.space = NamespaceId{random_.below(settings_.spaces)};
  history_.begin(random_, operation_);
  const std::uint32_t stride = stride_of(trial.engine());
  for (std::uint32_t more = random_.below((random_.one_in(3) ? 10 : 3) * stride) + 1; more > 0; --more)
    operation_.words.push_back(random_.below(kSymbols));
}

/// With a tier below, begins some requests a while after their fetch, and lets time pass.
bool RandomOperations::wait_for_fetch(const Trial& trial) {
  if (!trial.engine().tiers().has_host()) return false;
  if (random_.one_in(3)) {
    again(Verb::turn).count = random_.below(2000);
    return true;
  }
  if (fetched_.size() > 2 || (!fetched_.empty() && random_.one_in(2))) {
    operation_ = std::move(fetched_.front());
    fetched_.erase(fetched_.begin());
    operation_.verb = Verb::begin;
    return true;
  }
  if (random_.one_in(3)) return false;
  again(Verb::fetch);
  operation_.name = std::to_string(++begun_);
  prompt(trial);
  operation_.leave = random_.below(2);
  fetched_.push_back(operation_);
  return true;
}

/// Refuses memory in the next operations: once, a few times in a row, or until the allocation is over.
void RandomOperations::scarcity() {
  again(Verb::refuse_new);
  operation_.count = 1 + random_.below(random_.one_in(3) ? 60 : 6);
  operation_.times = random_.one_in(2) ? 1 : 1 + random_.below(8);
  rare_next_ = random_.one_in(2);
}

/// Makes an operation of an engine's whole life, if it is time for one.
bool RandomOperations::rare(const Trial& trial) {
  if (trial.reached().operations < 100) return false;
  const std::uint32_t lot = random_.below(1200);
  if (lot < 2 && !settings_.next_index.empty()) again(Verb::reopen).name = settings_.next_index;
  else if (lot < 5 && trial.engine().tiers().has_storage()) again(Verb::bring), prompt(trial);
  else if (lot < 6 && settings_.misuse) again(Verb::flush_unknown);
  else if (lot < 7 && settings_.forks) again(Verb::fork);
  else return false;
  return true;
}

void RandomOperations::begin(const Trial& trial) {
  if (wait_for_fetch(trial)) return;
  again(Verb::begin);
  operation_.name = std::to_string(++begun_);
  prompt(trial);
  operation_.priority = static_cast<std::int32_t>(random_.below(4));
  operation_.leave = random_.below(2);
  if (!trial.tenants() || !settings_.retention || !random_.one_in(3)) return;
  operation_.keep = random_.below(static_cast<std::uint32_t>(operation_.words.size() + 1));
  operation_.us = random_.below(3000);
}

void RandomOperations::serve(const Trial& trial) {
  again(Verb::serve);
  prompt(trial);
  operation_.output = random_.below(2 * trial.engine().page_size());
  operation_.chunk = 1 + random_.below(3 * stride_of(trial.engine()));
  operation_.commits = random_.one_in(2);
}

void RandomOperations::of(const Trial::Live& live, Verb verb, std::uint64_t count) {
  again(verb);
  operation_.name = live.name;
  operation_.count = count;
}

/// Makes the next step of a request: pages, then rows and computed tokens, then another token.
void RandomOperations::progress(const Trial& trial) {
  const Trial::Live& live = any(trial);
  const std::uint32_t stride = stride_of(trial.engine());
  if (live.aside) return of(live, Verb::resume);
  if (random_.one_in(16)) return of(live, Verb::rematch);
  if (live.known() > 40 * stride) return of(live, Verb::finish, live.request.computed());
  const std::uint32_t computed = live.request.computed(), known = live.known(),
                      ready = std::min(known, live.request.reserved());
  // Some commits make less reusable than is computed: a window has moved on by then.
  if (const std::uint32_t committed = live.request.committed(); computed > committed + 1 && random_.one_in(12))
    return of(live, Verb::commit, committed + 1 + random_.below(computed - committed - 1));
  if (computed < ready) {
    const std::uint32_t until = random_.one_in(3) ? computed + 1 + random_.below(ready - computed) : ready;
    return of(live, random_.one_in(2) ? Verb::commit : Verb::advance, until);
  }
  if (computed == known) {
    of(live, Verb::append);
    for (std::uint32_t more = random_.one_in(8) ? 1 + random_.below(5) : 1; more > 0; --more)
      operation_.words.push_back(random_.below(kSymbols));
    return;
  }
  const std::uint32_t until = std::min(known, computed + 1 + random_.below(3 * stride));
  of(live, Verb::reserve, random_.one_in(8) ? until + random_.below(8) : until);
  // Full attention may reserve more than the next step needs.
  if (operation_.number() > until) operation_.soon = until;
}

/// Makes the operations that are rare in a server. They are rare here too, to leave time for their effects.
void RandomOperations::now_and_then(const Trial& trial) {
  const std::uint32_t lot = random_.below(100);
  if (trial.tenants() && random_.one_in(3)) {
    again(random_.one_in(2) ? Verb::turn : Verb::share);
    const std::uint32_t most = 40 * trial.engine().page_size();
    operation_.count = random_.below(operation_.verb == Verb::turn ? 2000 : most);
    if (operation_.verb == Verb::turn) return;
    operation_.name = random_.one_in(2) ? "a" : "ax";
    if (random_.one_in(2)) operation_.pins = random_.below(most);
    const auto floor = static_cast<std::uint32_t>(operation_.number());
    if (random_.one_in(3)) operation_.ceiling = floor + operation_.pins + 1 + random_.below(most);
    return;
  }
  if (lot < 20 && settings_.policies) {
    again(Verb::policy);
    draw_group(trial);
    operation_.to = policies_[random_.below(static_cast<std::uint32_t>(policies_.size()))];
  } else if (lot < 26 && settings_.resizes) {
    again(Verb::resize);
    draw_group(trial);
    operation_.count = random_.one_in(4) ? kUnlimited : 1 + random_.below(random_.one_in(3) ? 40 : 400);
  } else if (lot < 32) {
    again(Verb::flush).space = NamespaceId{random_.below(settings_.spaces)};
  } else if (lot < 42 && settings_.pins) {
    const bool more = trial.pins() < 3 && random_.one_in(2);
    again(more ? Verb::pin : Verb::unpin);
    operation_.count = random_.below(more ? 64 : 4);
  } else if (lot < 52) {
    again(Verb::poll);
  } else if (lot < 72 && settings_.faults) {
    fault(trial);
  } else {
    again(Verb::room);
    draw_group(trial);
    operation_.count = random_.below(random_.one_in(4) ? 400 : 12);
  }
}

void RandomOperations::fault(const Trial& trial) {
  if (trial.reached().operations >= settings_.lies_from) {
    again(Verb::lie);
    const auto names = lie_names();
    const Tiers& tiers = trial.engine().tiers();
    const auto all = static_cast<std::uint32_t>(names.size());
    operation_.name = names[random_.below(tiers.has_storage() ? all
                                          : tiers.has_host()  ? static_cast<std::uint32_t>(kFirstOfStorage)
                                                              : static_cast<std::uint32_t>(kFirstOfHost))];
  } else {
    constexpr Verb kRefusals[] = {Verb::refuse_pages, Verb::refuse_memory, Verb::refuse_insert, Verb::refuse_remap};
    again(kRefusals[random_.below(4)]);
  }
  draw_group(trial);
  operation_.count = 1 + random_.below(6);
}

}  // namespace canopy::check
