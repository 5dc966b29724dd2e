#include <canopy/engine/engine.h>

#include <cstdio>
#include <numeric>

/// usage: one_request PLUGIN_FOLDER... : the same prompt twice through an engine that uses the stranger's policy.
int main(int argc, char** argv) {
  canopy::Registry registry;
  for (int i = 1; i < argc; ++i) registry.scan(argv[i], canopy::Trust::as_ourselves);
  canopy::EngineConfig config;
  config.page_size = 4;
  config.groups = {
      {.name = "full", .capacity = 64, .allocator = {"free_list"}, .eviction = {"two_hits", "{ protect_after: 3 }"}}};
  auto engine = canopy::Engine::create(config, registry);
  if (!engine) return std::puts(engine.error().text.c_str()), 1;

  std::vector<canopy::Token> prompt(12);
  std::iota(prompt.begin(), prompt.end(), 100U);
  std::uint32_t matched = 0;
  for (int turn = 0; turn < 2; ++turn) {
    canopy::Arrival arrival;
    arrival.prompt = prompt;
    canopy::Request request = (*engine)->begin(arrival);
    matched = request.matched();
    if (!request.reserve(12)) return 1;
    request.finish(12);
  }
  std::printf("matched %u, violations %llu\n", matched,
              static_cast<unsigned long long>((*engine)->ledger().violations()));
  return matched == 8 && (*engine)->ledger().violations() == 0 ? 0 : 1;
}
