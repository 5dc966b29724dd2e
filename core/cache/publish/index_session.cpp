#include <canopy/engine/index_session.h>

#include <fmt/format.h>

#include <unordered_map>

#include <cache/cache_state.h>
#include <cache/guard/index_port.h>
#include "publisher.h"

namespace canopy {

struct IndexSession::Impl {
  std::shared_ptr<EvictionStrategy> policy;  // it, those of the reaches and the publisher outlive the index
  std::vector<Reach> reaches;
  std::unique_ptr<Publisher> publisher;  ///< May be null (no feed and no listener).
  CacheState state;
  std::unordered_map<std::uint64_t, std::unique_ptr<RequestState>> requests;
  std::uint64_t last_request = 0;
};

IndexSession::IndexSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
IndexSession::~IndexSession() = default;

Result<std::unique_ptr<IndexSession>> IndexSession::open(Config config, const Registry& registry,
                                                         TreeListener* listener) {
  auto impl = std::make_unique<Impl>();
  CacheState& state = impl->state;
  impl->policy = std::move(config.policy);
  state.page_size = config.page_size;
  state.overlap = config.overlap;
  state.groups = {{"full", kWholePath, config.policy_name, impl->policy.get()}};
  std::vector<Group> groups = {{"full", kWholePath, config.capacity, impl->policy.get()}};
  impl->reaches = std::move(config.reaches);
  for (const Reach& one : impl->reaches) {
    state.groups.push_back({one.name, one.reach, one.policy_name, one.policy.get()});
    groups.push_back({one.name.c_str(), one.reach, one.capacity, one.policy.get(), one.max_per_path});
  }
  if (listener || config.feed.kind != FeedConfig::Kind::off) {
    auto publisher = Publisher::open(config.feed, state, {config.text, {}, {}}, listener);
    if (!publisher) return publisher.error();
    impl->publisher = std::move(*publisher);
  }
  FeedWriter* const feed = impl->publisher ? &impl->publisher->writer() : nullptr;
  auto index =
      registry.make<PrefixIndex>(config.index, {config.page_size, config.overlap, groups, feed}, config.options);
  if (!index) return index.error();
  state.index =
      std::make_shared<IndexPort>(std::move(*index), registry.component(PrefixIndex::kInterface, config.index), state);
  if (impl->publisher && impl->publisher->on()) impl->publisher->keyframe();  // a recording requests none
  return std::unique_ptr<IndexSession>(new IndexSession(std::move(impl)));
}

PrefixIndex& IndexSession::index() const { return impl_->state.index->component(); }
Units IndexSession::page_size() const { return impl_->state.page_size; }
Units IndexSession::overlap() const { return impl_->state.overlap; }
std::size_t IndexSession::whole_pages(std::size_t tokens) const {
  return impl_->state.whole_pages(tokens) / page_size();
}
const std::string& IndexSession::policy() const { return impl_->state.groups[0].policy; }
const std::string& IndexSession::name_of(NamespaceId space) const { return impl_->state.spaces.name_of(space); }
FeedSink* IndexSession::feed() const {
  return impl_->publisher && impl_->publisher->has_feed() ? &impl_->publisher->sink() : nullptr;
}

Result<std::monostate> IndexSession::use_policy(std::shared_ptr<EvictionStrategy> policy, std::string_view name) {
  std::string own(name);  // takes its memory before the index has the policy
  if (!index().use_policy(0, policy.get())) return Error{fmt::format("{}: {}", name, IndexPort::kOtherOrder)};
  impl_->state.groups[0].policy = std::move(own);
  impl_->state.groups[0].eviction = policy.get();
  impl_->policy = std::move(policy);
  if (impl_->publisher) impl_->publisher->policy(0);
  return std::monostate{};
}

NamespaceId IndexSession::intern(const Space& space, bool& is_new) {
  const std::size_t had = impl_->state.spaces.count();
  const NamespaceId id = impl_->state.spaces.intern(space);
  is_new = impl_->state.spaces.count() > had;
  if (is_new && impl_->publisher) impl_->publisher->space(id);
  return id;
}

std::optional<NamespaceId> IndexSession::find(const Space& space) const { return impl_->state.spaces.find(space); }
std::size_t IndexSession::spaces() const { return impl_->state.spaces.count(); }

void IndexSession::forget_spaces(const std::function<bool(NamespaceId)>& in_use) {
  if (feed()) return;
  Spaces& spaces = impl_->state.spaces;
  std::vector<bool> used(spaces.size());
  for (std::size_t i = 0; i < used.size(); ++i) {
    const auto space = static_cast<NamespaceId>(i);
    used[i] = in_use(space);
    for (std::size_t g = 0; g < impl_->state.groups.size() && !used[i]; ++g) {
      const Sizes sizes = index().sizes(g, space);
      used[i] = sizes.evictable + sizes.protected_ > 0;
    }
  }
  spaces.forget_others(used);
}

void IndexSession::end_operation(Operation operation) {
  CacheState& state = impl_->state;
  ++state.operations;
  if (!impl_->publisher) return;
  state.elapsed_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - state.began).count());
  impl_->publisher->turn(operation);
}

void IndexSession::poll() {
  if (impl_->publisher) impl_->publisher->serve_waiting_readers();
}

bool IndexSession::set_pool(std::uint64_t pages, std::uint64_t free) {
  return feed() && impl_->publisher->callers_pool(pages, free);
}

std::uint64_t IndexSession::begin_request(NamespaceId space, std::uint32_t prompt, std::uint32_t matched, NodeId node) {
  if (!feed()) return 0;
  CacheState& state = impl_->state;
  auto request = std::make_unique<RequestState>();
  request->id = ++impl_->last_request;
  request->space = space;
  request->prompt = prompt;
  request->matched = request->computed = matched;
  request->admitted = true;
  request->tokens.resize(prompt);  // the feed sends their number, and a keyframe sends whether the row is empty
  request->rows[0] = {0};
  request->live_at = state.live.size();
  // The list takes its memory before the table has the request.
  if (state.live.size() == state.live.capacity()) state.live.reserve(2 * state.live.size() + 1);
  RequestState& begun = *impl_->requests.emplace(impl_->last_request, std::move(request)).first->second;
  state.live.push_back(&begun);
  impl_->publisher->request_begun(begun, node);
  return impl_->last_request;
}

bool IndexSession::progress(std::uint64_t id, RequestPhase phase, std::uint32_t computed, std::uint32_t committed,
                            std::uint32_t tokens) {
  const auto found = impl_->requests.find(id);
  if (found == impl_->requests.end()) return false;
  RequestState& request = *found->second;
  request.computed = computed;
  request.own_from = committed / page_size();
  request.tokens.resize(tokens);
  request.rows[0].resize(phase == RequestPhase::retracted ? 0 : 1);
  impl_->publisher->progress(request, phase);
  if (phase != RequestPhase::finished && phase != RequestPhase::aborted) return true;
  take_out(impl_->state.live, request);
  impl_->requests.erase(found);
  return true;
}

}  // namespace canopy
