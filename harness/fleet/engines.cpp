#include "engines.h"

#include <fmt/format.h>

#include <algorithm>

namespace canopy::fleet {

Result<std::unique_ptr<EngineCaches>> EngineCaches::create(const EngineConfig& config, const Registry& registry,
                                                           std::size_t workers) {
  std::unique_ptr<EngineCaches> caches(new EngineCaches);
  for (std::size_t worker = 0; worker < workers; ++worker) {
    auto engine = Engine::create(config, registry);
    if (!engine) return engine.error();
    caches->engines_.push_back(std::move(*engine));
  }
  return caches;
}

void EngineCaches::look(const workload::ClientRequest& client, std::vector<scheduling::RouteWorker>& workers) {
  for (std::size_t at = 0; at < engines_.size(); ++at) {
    Engine& engine = *engines_[at];
    const Key key{engine.intern({client.space, {}, {}}), engine.state().codec->encode(client.prompt, words_)};
    const Units page = engine.page_size();
    const Sizes sizes = engine.index().sizes(0);
    workers[at].overlap = {engine.index().peek(key).length / page, 0, 0};
    workers[at].tree_blocks = (sizes.evictable + sizes.protected_) / page;
  }
}

std::optional<std::uint32_t> EngineCaches::serve(std::size_t worker, const workload::ClientRequest& client) {
  Engine& engine = *engines_[worker];
  const NamespaceId space = engine.intern({client.space, {}, {}});
  Request request = engine.begin({client.prompt, space, client.priority, client.hints, 0, 0, 0});
  const std::uint32_t matched = request.matched(), whole = engine.whole_pages(client.prompt.size());
  if (!request.reserve(whole)) {
    engine.make_free(0, (whole - matched) / engine.page_size());
    request.abort();
    return std::nullopt;
  }
  answer_.resize(std::max<std::size_t>(answer_.size(), client.output_tokens));
  request.append(std::span<const Token>(answer_).first(client.output_tokens));
  request.finish(whole);
  return matched;
}

std::uint64_t EngineCaches::violations() const {
  std::uint64_t sum = 0;
  for (const auto& engine : engines_) {
    engine->audit();
    sum += engine->ledger().violations();
  }
  return sum;
}

std::vector<std::string> EngineCaches::reports() const {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < engines_.size(); ++at)
    for (const std::string& report : engines_[at]->ledger().reports())
      all.push_back(fmt::format("worker {}: {}", at, report));
  return all;
}

}  // namespace canopy::fleet
