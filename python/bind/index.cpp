#include "index.h"

#include <canopy/base/yaml_document.h>
#include <canopy/engine/engine.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

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
  session_ = take(IndexSession::open(std::move(config), registry(), changes_.get()));
}

Index::Step::Step(Index& index, Operation operation) : index_(index), operation_(operation) {
  if (index.busy_) {
    PyErr_SetString(PyExc_RuntimeError,
                    "this index is already in a call: a policy may not call the index that calls it");
    throw nb::python_error();
  }
  index.busy_ = true;
}

Index::Step::~Step() {
  if (operation_ == Operation::insert && index_.inserter_) {
    const Inserter by = *std::exchange(index_.inserter_, std::nullopt);
    index_.session_->progress(by.request, RequestPhase::committed, by.computed, by.committed, by.tokens);
  }
  if (operation_ != Operation::none) index_.session_->end_operation(operation_);
  while (!index_.late_.empty()) {
    const Lock lock = index_.late_.back();
    index_.late_.pop_back();
    const GroupPages freed = index_.tree().release(lock);
    for (std::size_t g = 0; g < index_.groups_; ++g)
      index_.left_[g].insert(index_.left_[g].end(), freed[g].begin(), freed[g].end());
    index_.session_->end_operation(Operation::release);
  }
  index_.busy_ = false;
}

void Index::release(const Lock& lock) noexcept {
  late_.push_back(lock);
  if (!busy_) {
    const Step step(*this, Operation::none);
  }
}

void Index::need_one_group() const {
  if (groups_ > 1)
    throw nb::type_error("this index has groups with a reach: use insert, evict and clear of GroupIndex");
}

NamespaceId Index::space_of(nb::handle space) {
  bool is_new = false;
  const NamespaceId id = python::space_of(space, [&](const Space& parts) { return session_->intern(parts, is_new); });
  if (is_new && changes_) changes_->name(id, nb::borrow(space));
  return id;
}

void Index::use_policy(nb::handle policy) {
  Policy next = make_policy(policy);
  {
    const Step step(*this, Operation::policy);
    if (!session_->use_policy(next.strategy, next.name))
      throw nb::value_error((next.name + ": " + Engine::kOtherOrder).c_str());
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
