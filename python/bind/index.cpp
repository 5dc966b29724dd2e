#include "index.h"

#include <canopy/base/yaml_document.h>
#include <canopy/engine/engine.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "feed_exit.h"
#include "spaces.h"

namespace canopy::python {
namespace {

FeedConfig feed_of(nb::handle feed) {
  FeedConfig config;
  if (feed.is_none()) return config;
  if (nb::isinstance<nb::str>(feed)) {
    config.kind = FeedConfig::Kind::shm;
    config.name = for_system(nb::cast<std::string>(feed));
  } else if (nb::hasattr(feed, "__fspath__")) {
    config.kind = FeedConfig::Kind::file;
    config.name = for_system(nb::cast<std::string>(nb::str(feed.attr("__fspath__")())));
  } else {
    throw nb::type_error("feed: expected a name under which an inspector attaches, or the pathlib.Path of a recording");
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
  if (settings.changes) changes_ = std::make_unique<Changes>();
  IndexSession::Config config;
  config.page_size = settings.page_size;
  config.overlap = settings.overlap;
  config.capacity = settings.capacity.value_or(kUnlimited);
  config.options = "{accounting: " + to_yaml(settings.accounting) + "}";
  config.policy = policy_.strategy;
  config.policy_name = policy_.name;
  groups_ += settings.reaches.size();
  for (IndexSession::Reach reach : settings.reaches) {
    const Policy lru = make_policy(nb::str("lru"));
    reach.policy = lru.strategy;
    reach.policy_name = lru.name;
    config.reaches.push_back(std::move(reach));
  }
  config.feed = feed_of(settings.feed);
  config.text = "made by canopy.Index\n";
  if (settings.on_policy_failure.is_valid() && !settings.on_policy_failure.is_none()) {
    if (!PyCallable_Check(settings.on_policy_failure.ptr()))
      throw nb::type_error("on_policy_failure: expected a callable of one text, or None");
    on_policy_failure_ = nb::borrow(settings.on_policy_failure);
    lru_ = make_policy(nb::str("lru"));
  }
  const FeedConfig feed = config.feed;
  session_ = take(IndexSession::open(std::move(config), registry(), changes_.get()));
  remove_at_exit(feed);
}

Index::Step::Step(Index& index, Operation operation) : index_(index), operation_(operation) {
  if (index.busy_) {
    PyErr_SetString(PyExc_RuntimeError,
                    "this index is already in a call: a policy may not call the index that calls it");
    throw nb::python_error();
  }
  index.busy_ = true;
}

/// Publishes the operation. Without memory for its events, readers of the feed get them with a later one.
void Index::publish(Operation operation) noexcept {
  try {
    session_->end_operation(operation);
  } catch (const std::exception&) {
  }
}

void Index::end(Operation operation) noexcept {
  if (operation == Operation::insert && inserter_) {
    const Inserter by = *std::exchange(inserter_, std::nullopt);
    try {
      session_->progress(by.request, RequestPhase::committed, by.computed, by.committed, by.tokens);
    } catch (const std::exception&) {  // no memory: the request's next progress says it
    }
  }
  if (operation != Operation::none) publish(operation);
  while (!late_.empty()) {
    const Lock lock = late_.back();
    late_.pop_back();
    keep(tree().release(lock));
    publish(Operation::release);
  }
  busy_ = false;
}

void Index::release(const Lock& lock) noexcept {
  late_.push_back(lock);
  if (!busy_) {
    busy_ = true;
    end(Operation::none);
  }
}

void Index::make_room(std::size_t pages) {
  for (std::size_t g = 0; g < groups_; ++g) {
    const Sizes has = tree().sizes(g);
    left_[g].make_room((has.evictable + has.protected_) / page() + pages);
  }
}

void Index::raise_failure(const nb::object& result) {
  if (!failed()) return;
  if (!on_policy_failure_.is_valid()) return policy_.in_python->raise_failure(result);
  const std::string why = policy_.in_python->take_failure(result);
  // The call has succeeded: its result must not be lost for want of memory.
  try {
    {
      const Step step(*this, Operation::policy);
      take(session_->use_policy(lru_.strategy, lru_.name));
    }
    const std::string name = std::exchange(policy_, lru_).name;
    on_policy_failure_("the policy '" + name + "' raised " + why + "; the order is that of lru from now on");
  } catch (nb::python_error& error) {
    error.discard_as_unraisable(on_policy_failure_);
  } catch (const std::bad_alloc&) {  // the policy fails again, or only its order shows the failure
  }
}

void Index::need_one_group() const {
  if (groups_ > 1)
    throw nb::type_error("this index has groups with a reach: use insert, evict and clear of GroupIndex");
}

std::optional<Index::SpaceUse> Index::find(nb::handle space) {
  const auto found = with_space(space, [&](const Space& parts) { return session_->find(parts); });
  return found ? std::optional<SpaceUse>(std::in_place, *this, *found) : std::nullopt;
}

Index::SpaceUse Index::intern(nb::handle space) {
  if (const auto known = find(space)) return *known;
  if (session_->spaces() >= forget_at_) forget_spaces();
  if (uses_.size() == uses_.capacity()) uses_.reserve(2 * uses_.size());
  if (changes_) changes_->make_room(uses_.capacity());
  bool is_new = false;
  const NamespaceId id = with_space(space, [&](const Space& parts) { return session_->intern(parts, is_new); });
  if (uses_.size() <= static_cast<std::size_t>(id)) uses_.push_back(0);
  if (changes_) changes_->name(id, nb::borrow(space));
  return {*this, id};
}

/// Forgets the namespaces that nothing needs: a client may make up any number of salts.
void Index::forget_spaces() {
  if (changes_ && changes_->any()) return;  // they have numbers of namespaces
  session_->forget_spaces([&](NamespaceId space) { return uses(space) > 0; });
  forget_at_ = std::max(kFewSpaces, 2 * session_->spaces());
}

void Index::use_policy(nb::handle policy) {
  Policy next = make_policy(policy);
  {
    const Step step(*this, Operation::policy);
    take(session_->use_policy(next.strategy, next.name));
    std::swap(policy_, next);
  }
  raise_failure();
}

nb::list Index::take_changes() {
  if (!changes_) throw nb::value_error("take_changes: this index was made without changes=True");
  return changes_->take();
}

void Index::poll() {
  if (!busy_) session_->poll();
}

void Index::callers_pool(std::uint64_t pages, std::uint64_t free) {
  if (free > pages) throw nb::value_error("callers_pool: more pages are free than there are");
  if (!session_->feed()) return;
  Step step(*this, Operation::none);
  if (session_->set_pool(pages, free)) step.becomes(Operation::reserve);
}

std::uint64_t Index::request_begun(NamespaceId space, std::uint32_t prompt, std::uint32_t matched, NodeId node) {
  if (!session_->feed()) return 0;
  const Step step(*this, Operation::begin);
  return session_->begin_request(space, prompt, matched, node);
}

void Index::request_progress(std::uint64_t id, const std::string& phase, std::uint32_t computed,
                             std::uint32_t committed, std::uint32_t tokens) {
  constexpr std::array<std::string_view, 6> kPhases = {"running", "committed", "finished",
                                                       "aborted", "retracted", "resumed"};
  const auto named = std::ranges::find(kPhases, phase);
  if (named == kPhases.end()) throw nb::value_error(("request_progress: no phase is called '" + phase + "'").c_str());
  const auto now = static_cast<RequestPhase>(named - kPhases.begin());
  if (inserter_ && inserter_->request == id) inserter_.reset();  // the insert that it announced has not come
  Step step(*this, Operation::none);
  if (session_->progress(id, now, computed, committed, tokens))
    step.becomes(now == RequestPhase::retracted ? Operation::retract : Operation::advance);
}

}  // namespace canopy::python
