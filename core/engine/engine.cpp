#include <canopy/engine/engine.h>

#include "audit.h"
#include "parts.h"

namespace canopy {

Engine::Engine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Engine::~Engine() = default;

const EngineState& Engine::state() const { return parts_->state; }
Pool& Engine::pool(std::size_t group) { return parts_->state.pools[group]; }

NamespaceId Engine::intern(const Space& space) {
  const std::size_t had = spaces();
  const NamespaceId id = parts_->state.spaces.intern(space);
  if (spaces() > had && parts_->publisher) parts_->publisher->space(id);
  return id;
}

Admission Engine::admits(const RequestSpec& spec) const { return parts_->requests.admits(spec); }
Request Engine::begin(const RequestSpec& spec) { return Request(parts_->requests.begin(spec)); }

void Engine::use_policy(std::size_t group, std::shared_ptr<EvictionStrategy> policy, std::string_view name) {
  parts_->pages.use_policy(group, std::move(policy), name);
}
bool Engine::make_free(std::size_t group, std::uint64_t pages) { return parts_->pages.make_free(group, pages); }
std::uint64_t Engine::flush(NamespaceId space) { return parts_->pages.flush(space); }
void Engine::resize(std::size_t group, std::uint64_t pages) { parts_->drainer.resize(group, pages); }
std::vector<Blocker> Engine::blockers(std::size_t group) const { return parts_->drainer.blockers(group); }
bool Engine::pin(NodeId node) { return parts_->pins.pin(node); }
bool Engine::unpin(NodeId node) { return parts_->pins.unpin(node); }

bool Engine::poll() {
  parts_->drainer.go_on();
  return parts_->control.poll();
}
FeedSink* Engine::feed() { return parts_->publisher ? &parts_->publisher->sink() : nullptr; }

void Engine::audit() { canopy::audit(parts_->state); }

std::uint64_t Engine::digest() const {
  const Counters& counters = state().counters;
  const Sizes sizes = index().sizes(0);
  const std::uint64_t words[] = {
      parts_->pages.digest().value(), counters.requests,       counters.prompt_tokens, counters.hit_tokens,
      counters.evict_calls,           counters.evicted_tokens, counters.finished,      counters.aborted,
      counters.repointed_pages,       sizes.evictable,         sizes.protected_};
  return XXH3_64bits(words, sizeof(words));
}

}  // namespace canopy
