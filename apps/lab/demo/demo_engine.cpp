#include "demo.h"

#include <canopy/engine/engine_file.h>

namespace canopy::demo {
namespace {

// The engine as a file would describe it; configs/engines/lru.yaml is the same with comments.
constexpr const char* kEngine = R"(
page_size: 16
key: token
index: radix
groups:
  full: { reach: path, capacity: 150000, allocator: free_list, eviction: lru }
store: { host: { layers: 2, streams: { k: { heads: 2, head_dim: 16, dtype: bf16 }, v: { heads: 2, head_dim: 16, dtype: bf16 } } } }
)";

}  // namespace

Result<std::unique_ptr<Engine>> make_engine(const Registry& registry, std::span<const std::string> settings,
                                            const std::string& store) {
  auto document = parse_yaml(kEngine, "demo");
  if (!document) return document.error();
  for (const std::string& setting : settings)
    if (auto set = set_value(*document, setting); !set) return set.error();
  use_store(*document, store);
  auto config = read_engine_config(*document, registry);
  if (!config) return config.error();
  return Engine::create(*config, registry);
}

replay::Options options() {
  replay::Options options;
  options.mode = replay::Mode::timed;
  options.running = 48;
  options.prefill_tokens = 4096;
  return options;
}

}  // namespace canopy::demo
