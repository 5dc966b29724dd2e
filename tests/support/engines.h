#pragma once

#include <cache/guard/index_port.h>
#include <cache/guard/ports.h>
#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>
#include <engine/state_of.h>

#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace canopy::test {

/// Sets what no key of a file sets.
using Tune = std::function<void(EngineConfig&)>;

/// Returns the components of plugin files and those of a test. REQUIRES: `own` outlives it.
inline Registry registry_with(std::span<const CanopyComponent> own) {
  static std::deque<CanopyPlugin> plugins;  // a registry keeps their addresses
  plugins.push_back({kPluginMagic, sizeof(CanopyPlugin), CANOPY_TOOLCHAIN, "0.1.0", own.data(), sizeof(CanopyComponent),
                     static_cast<std::uint32_t>(own.size())});
  Registry all;
  all.scan(own_plugin_folder(), Trust::as_ourselves);
  all.add(plugins.back(), "this test");
  return all;
}

/// An engine from YAML text with assignments on top.
inline std::unique_ptr<Engine> engine_of(const std::string& yaml, const std::vector<std::string>& assignments = {},
                                         TreeListener* listener = nullptr, const Tune& tune = {}) {
  auto document = parse_yaml(yaml, "test");
  REQUIRE_MESSAGE(document, (document ? "" : document.error().text));
  for (const std::string& assignment : assignments) REQUIRE(set_value(*document, assignment));
  auto config = read_engine_config(*document, plugins());
  REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
  if (tune) tune(*config);
  auto engine = Engine::create(*config, plugins(), listener);
  REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
  return std::move(*engine);
}

inline const char* const kSmall = R"(
page_size: 4
index: radix
groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }
store: { host: { layers: 2, streams: { k: 8, v: 12 } } }
)";

/// Full attention and a window, and a feed in the process.
inline const char* const kTwoGroups =
    "page_size: 4\nindex: radix\n"
    "groups:\n"
    "  full: { reach: path, capacity: 400, allocator: free_list, eviction: lru }\n"
    "  window: { reach: 10, capacity: 200, allocator: free_list, eviction: lru }\n"
    "feed: { heap: { events: 65536 } }\n";

/// count tokens from first on, each different.
inline std::vector<Token> tokens(Token first, std::size_t count) {
  std::vector<Token> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

inline RequestSpec arrival(const std::vector<Token>& prompt, std::uint32_t leave = 1) {
  RequestSpec arrival;
  arrival.prompt = prompt;
  arrival.min_uncached = leave;
  return arrival;
}

/// Computes all of a prompt, and leaves it in the pools.
inline void leave(Engine& engine, const std::vector<Token>& prompt) {
  Request request = engine.begin(arrival(prompt));
  REQUIRE(request.reserve(static_cast<std::uint32_t>(prompt.size())));
  request.finish(static_cast<std::uint32_t>(prompt.size()));
}

/// Nothing is held, and every page has its one owner.
inline void check_settled(Engine& engine) {
  engine.audit();
  CHECK(engine.live_requests() == 0);
  CHECK(engine.index().sizes(0).protected_ == 0);
  CHECK_MESSAGE(engine.ledger().violations() == 0,
                (engine.ledger().reports().empty() ? "" : engine.ledger().reports()[0]));
}

}  // namespace canopy::test
