#pragma once

#include <canopy/feed/sink.h>
#include <canopy/loading/registry.h>
#include <canopy/types.h>
#include <canopy/config/yaml_document.h>
#include <canopy/config/yaml_options.h>

#include <span>
#include <string>
#include <vector>

namespace canopy {

/// A component an engine names, with what the user wrote for its options. In a file: `lru`, `{ lru: {} }` or
/// `{ slru: { protect_after: 3 } }`.
struct ComponentConfig {
  std::string name;
  YamlNode options;
  Mark mark;
};

struct GroupConfig {
  std::string name;
  Units reach = kWholePath;             ///< `path`, or a number of tokens
  Units every = 0;                      ///< tokens between two kept pages: recurrent states; 0: all pages are kept
  std::uint64_t capacity = kUnlimited;  ///< tokens, page_size of them a page; or `unlimited`
  std::uint64_t start = kUnlimited;     ///< tokens it takes memory for at once; kUnlimited: not said, see below
  ComponentConfig allocator, eviction;
  ComponentConfig store;  ///< without a name: the engine's
};

/// An engine as its file describes it, every name known and every option in range.
///
///   page_size: 16                    # tokens; the one key that must be there besides groups
///   key: token
///   index: { radix: { accounting: sglang } }
///   groups:
///     full: { reach: path, capacity: 3000000, allocator: free_list, eviction: lru }    # start: capacity, if it has
///     one state: { reach: 1, every: 1024, capacity: 8000, allocator: free_list, eviction: lru,
///              store: { host: { streams: { state: 4096 } } } }     # a state is one page: page_size rows
///   store: { host: { layers: 1, streams: { kv: 8 } } }     # or `none`: index and page numbers only
///   feed: { off: {} }                # or { heap: {} }, { shm: { name: serve-3 } }, { file: { path: run.feed } }
///   segment_pages: 65536             # how far a pool grows at a time
///   idle_segments: 0                 # empty segments that keep their memory when a pool has shrunk
///   insert_at_finish: true
struct EngineConfig {
  std::string file;
  Units page_size = 1;
  ComponentConfig key{"token", {}, {}};
  ComponentConfig index{"radix", {}, {}};
  std::vector<GroupConfig> groups;  ///< 1..kMaxGroups; figures of a run are those of the first
  ComponentConfig store{"none", {}, {}};
  FeedConfig feed;
  std::uint32_t segment_pages = 0;  ///< 0: the engine chooses
  std::uint32_t idle_segments = 0;
  /// Whether what a request computed becomes reusable when it finishes. Without, only what it committed on its way
  /// is: nothing that was decoded, so that no answer depends on another's.
  bool insert_at_finish = true;
};

/// The typed description of a parsed document; all that is wrong with it at once, a sentence a line.
Result<EngineConfig> read_engine_config(const YamlNode& document, const Registry& registry);

/// The file with `--set` assignments on top.
Result<EngineConfig> load_engine_config(const std::string& path, std::span<const std::string> assignments,
                                        const Registry& registry);

/// Rows of every group that has any go to the store called `name`, with the options they have; "none": page numbers
/// only.
void use_store(EngineConfig& config, const std::string& name);

/// The whole configuration with every option, as YAML that reads back to the same.
std::string dump_engine_config(const EngineConfig& config, const Registry& registry);

/// The component of an engine, made with its options.
template <class Interface>
Result<std::shared_ptr<Interface>> make_component(const ComponentConfig& config, const Registry& registry,
                                                  const typename Interface::Context& context) {
  Complaints complaints;
  YamlOptions options(config.options, config.name, complaints);
  auto made = registry.create<Interface>(config.name, options, context);
  if (made) options.finish();
  if (!complaints.empty()) return Error{complaints.front()};
  if (!made) return Error{config.mark.text() + ": " + config.name + ": " + made.error().text};
  return made;
}

}  // namespace canopy
