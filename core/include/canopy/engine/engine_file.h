#pragma once

#include <canopy/base/option_walkers.h>
#include <canopy/base/registry.h>
#include <canopy/base/yaml_document.h>
#include <canopy/engine/engine_config.h>

#include <span>
#include <string>
#include <vector>

namespace canopy {

// An engine's file is a map. A component is a name, `lru`, or a name with options, `{ slru: { protect_after: 3 } }`.
//
//   page_size: 16                    # tokens; required, as is groups
//   key: token
//   index: { radix: { accounting: sglang } }
//   groups:
//     full: { reach: path, capacity: 3000000, allocator: free_list, eviction: lru }   # start: capacity, if limited
//     state: { reach: 1, every: 1024, capacity: 8000, allocator: free_list, eviction: lru,
//              store: { host: { streams: { state: 4096 } } } }     # a state is one page: page_size rows
//   store: { host: { layers: 1, streams: { kv: 8 } } }     # or `none`: index and page numbers only
//   tiers: { host: { capacity: 6000000, write: write_back } }        # none, unless they are given
//   feed: { off: {} }                # or { heap: {} }, { shm: { name: serve-3 } }, { file: { path: run.feed } }
//   events: off                      # or { zmq: { publish: tcp://127.0.0.1:5557, replay: tcp://127.0.0.1:5558 } }
//   segment_pages: 65536
//   idle_segments: 0
//   insert_at_finish: true

/// Reads a configuration from a document: every name must be known and every option in range. The error lists all
/// mistakes, one message per line, in the order of the document. Rules between the keys of one map are checked only if
/// the keys themselves are valid.
Result<EngineConfig> read_engine_config(const YamlNode& document, const Registry& registry);

/// Reads a configuration from a file, with the `--set` assignments applied to it.
Result<EngineConfig> load_engine_config(const std::string& path, std::span<const std::string> assignments,
                                        const Registry& registry);

/// Replaces every store of a document, that of the engine and those of groups, by the store `name` with the same
/// options. "none" removes the stores.
void use_store(YamlNode& document, const std::string& name);

/// Returns the whole configuration with every option, as YAML from which the same configuration can be read.
std::string dump_engine_config(const EngineConfig& config, const Registry& registry);

/// Returns every key of an engine's file, in the order of a dump. The registry supplies the names of components.
std::vector<OptionHelp> describe_engine_config(const Registry& registry);

}  // namespace canopy
