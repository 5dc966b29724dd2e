#include "index.h"

#include <canopy/config/yaml_document.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "spaces.h"

namespace canopy::python {
namespace {

FeedConfig feed_of(nb::handle feed) {
  FeedConfig config;
  if (feed.is_none()) return config;
  if (nb::isinstance<nb::str>(feed)) {
    config.kind = FeedConfig::Kind::shm;
    config.name = nb::str(feed).c_str();
  } else if (nb::hasattr(feed, "__fspath__")) {
    config.kind = FeedConfig::Kind::file;
    config.name = nb::str(feed.attr("__fspath__")()).c_str();
  } else {
    throw nb::type_error("feed: a name under which an inspector attaches, or a pathlib.Path to record to");
  }
  return config;
}

}  // namespace

Index::Index(const Settings& settings) {
  if (settings.page_size == 0) throw nb::value_error("page_size must be at least 1 token");
  if (settings.capacity == std::uint64_t{0}) throw nb::value_error("capacity must be at least 1 token, or None");
  if (settings.slots_a_page == 0) throw nb::value_error("slots_a_page must be at least 1");
  policy_ = make_policy(settings.policy);
  slots_a_page_ = settings.slots_a_page;
  state_.page_size = settings.page_size;
  state_.overlap = settings.overlap;
  state_.groups = {{"full", kWholePath, policy_.name, policy_.strategy.get()}};
  if (settings.changes) changes_ = std::make_unique<Changes>();
  if (changes_ || !settings.feed.is_none())
    publisher_ =
        take(Publisher::open(feed_of(settings.feed), state_, {"made by canopy.Index\n", {}, {}}, changes_.get()));
  const Group groups[] = {{"full", kWholePath, settings.capacity.value_or(kUnlimited), policy_.strategy.get()}};
  const PrefixIndex::Context context{state_.page_size, state_.overlap, groups,
                                     publisher_ ? &publisher_->writer() : nullptr};
  state_.index =
      take(registry().make<PrefixIndex>("radix", context, "{accounting: " + to_yaml(settings.accounting) + "}"));
  if (publisher_ && publisher_->on()) publisher_->keyframe();  // a recording asks for none
}

Index::Step::Step(Index& index, Operation operation) : index_(index), operation_(operation) {
  if (index.busy_) {
    PyErr_SetString(PyExc_RuntimeError,
                    "this index is in a call already: a policy may not call the index that calls it");
    throw nb::python_error();
  }
  index.busy_ = true;
}

Index::Step::~Step() {
  index_.turn(operation_);
  while (!index_.late_.empty()) {
    const Lock lock = index_.late_.back();
    index_.late_.pop_back();
    index_.state_.index->release(lock);
    index_.turn(Operation::release);
  }
  index_.busy_ = false;
}

void Index::turn(Operation operation) {
  if (operation == Operation::none) return;
  ++state_.operations;
  if (!publisher_) return;
  state_.elapsed_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - state_.began).count());
  publisher_->turn(operation);
}

void Index::release(const Lock& lock) noexcept {
  late_.push_back(lock);
  if (!busy_) {
    const Step step(*this, Operation::none);
  }
}

NamespaceId Index::space_of(nb::handle space) {
  const std::size_t had = state_.spaces.size();
  const NamespaceId id = python::space_of(space, [&](const Space& parts) { return state_.spaces.intern(parts); });
  if (state_.spaces.size() > had) {
    if (changes_) changes_->name(id, nb::borrow(space));
    if (publisher_) publisher_->space(id);
  }
  return id;
}

void Index::use_policy(nb::handle policy) {
  Policy next = make_policy(policy);
  {
    const Step step(*this, Operation::policy);
    state_.index->use_policy(0, next.strategy.get());
    std::swap(policy_, next);
    state_.groups[0].policy = policy_.name;
    state_.groups[0].eviction = policy_.strategy.get();
    if (publisher_) publisher_->policy(0);
  }
  raise_failure();
}

nb::list Index::take_changes() {
  if (!changes_) throw nb::value_error("take_changes: this index was made without changes=True");
  return changes_->take();
}

void Index::poll() {
  if (publisher_ && !busy_) publisher_->serve_waiting_readers();
}

void Index::callers_pool(std::uint64_t pages, std::uint64_t free) {
  if (free > pages) throw nb::value_error("callers_pool: more pages are free than there are");
  const EngineState::CallersPool now{pages, free};
  if (!publisher_ || !publisher_->has_feed() || state_.callers_pool == now) return;
  state_.callers_pool = now;
  const Step step(*this, Operation::reserve);
  publisher_->callers_pool();
}

std::uint64_t Index::request_begun(NamespaceId space, std::uint32_t prompt, std::uint32_t matched) {
  if (!publisher_ || !publisher_->has_feed()) return 0;
  auto request = std::make_unique<RequestState>();
  request->id = ++last_request_;
  request->space = space;
  request->prompt = prompt;
  request->matched = request->computed = matched;
  request->tokens.resize(prompt);  // the feed tells how many there are, and a keyframe whether the row is empty
  request->rows[0] = {0};
  request->live_at = state_.live.size();
  state_.live.push_back(request.get());
  {
    const Step step(*this, Operation::begin);
    publisher_->request_begun(*request);
  }
  requests_.emplace(last_request_, std::move(request));
  return last_request_;
}

void Index::request_progress(std::uint64_t id, const std::string& phase, std::uint32_t computed,
                             std::uint32_t committed, std::uint32_t tokens) {
  constexpr std::array<std::string_view, 6> kPhases = {"running", "committed", "finished",
                                                       "aborted", "retracted", "resumed"};
  const auto named = std::ranges::find(kPhases, phase);
  if (named == kPhases.end()) throw nb::value_error(("request_progress: no phase is called '" + phase + "'").c_str());
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  RequestState& request = *found->second;
  const auto now = static_cast<RequestPhase>(named - kPhases.begin());
  request.computed = computed;
  request.own_from = committed / page();
  request.tokens.resize(tokens);
  request.rows[0].resize(now == RequestPhase::retracted ? 0 : 1);
  {
    const Step step(*this, now == RequestPhase::retracted ? Operation::retract : Operation::advance);
    publisher_->progress(request, now);
  }
  if (now != RequestPhase::finished && now != RequestPhase::aborted) return;
  state_.live.back()->live_at = request.live_at;
  state_.live[request.live_at] = state_.live.back();
  state_.live.pop_back();
  requests_.erase(found);
}

}  // namespace canopy::python
