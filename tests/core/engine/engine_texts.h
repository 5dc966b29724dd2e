#pragma once

#include <canopy/engine/engine_file.h>
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace canopy::test {

inline const std::string kFull = R"(# An engine with all there is to say.
page_size: 16
key: bigram
index: { radix: { accounting: sglang } }
groups:
  full: { reach: path, capacity: 3_000k, allocator: free_list, eviction: lru }
  window:
    reach: 4096
    capacity: unlimited
    allocator: { free_list: {} }
    eviction: { slru: { protect_after: 3 } }
store: { host: { layers: 2, streams: { k: 8, "v's": { heads: 2, head_dim: 16, dtype: fp8 } }, populate: false, huge_pages: false, lock: false, share: false, addresses: 16384GiB } }
feed: { off: {} }
segment_pages: 64Ki
)";

inline const std::string kGroup = "groups: { full: { capacity: 64, allocator: free_list, eviction: lru } }\n";

inline Result<EngineConfig> read(std::string_view yaml, const std::vector<std::string>& assignments = {}) {
  auto document = parse_yaml(yaml, "t");
  if (!document) return document.error();
  for (const std::string& assignment : assignments)
    if (auto set = set_value(*document, assignment); !set) return set.error();
  return read_engine_config(*document, plugins());
}

inline EngineConfig good(std::string_view yaml, const std::vector<std::string>& assignments = {}) {
  auto config = read(yaml, assignments);
  REQUIRE_MESSAGE(config, (config ? std::string() : config.error().text));
  return *config;
}

inline std::string wrong(std::string_view yaml, const std::vector<std::string>& assignments = {}) {
  const auto config = read(yaml, assignments);
  REQUIRE(!config);
  return config.error().text;
}

}  // namespace canopy::test
