/// All keys of an engine's file, each once, and the functions that read, write, explain and check them.
#include <canopy/base/printable.h>
#include <canopy/base/yaml_options.h>
#include <canopy/engine/engine_file.h>
#include <canopy/eviction_strategy.h>
#include <canopy/key_codec.h>
#include <canopy/kv_store.h>
#include <canopy/page_storage.h>
#include <canopy/prefix_index.h>
#include <canopy/slot_allocator.h>
#include <fmt/format.h>

#include "engine_flaws.h"

namespace canopy {
namespace {

constexpr std::uint64_t kAnything = std::numeric_limits<std::uint64_t>::max();
/// Most bytes per second of a lane: a terabyte.
constexpr std::uint64_t kMostBandwidth = 1'000'000'000'000;
constexpr std::uint64_t kHourUs = 3'600'000'000;
constexpr const char* kEventKinds[] = {"off", "zmq"};

template <class Interface>
class Named final : public Component {
 public:
  explicit Named(ComponentConfig& config) : config_(config) {}
  const char* interface() const override { return Interface::kInterface; }
  const char* name() const override { return config_.name.c_str(); }
  const char* options() const override { return config_.options.c_str(); }
  void set(const char* name, const char* options, const char* where) override { config_ = {name, options, where}; }

 private:
  ComponentConfig& config_;
};

template <class Interface>
void component(Options& o, const char* name, ComponentConfig& config, const char* help,
               const char* otherwise = nullptr) {
  Named<Interface> named(config);
  o.component(name, named, help, otherwise);
}

void visit(Options& o, GroupConfig& group, Units page_size) {
  o.number_or_word("reach", group.reach, "path", kWholePath, 1, kWholePath - 1,
                   "trailing tokens of a prefix that must be resident, or `path` for all");
  o.optional("every", group.every, Units{0}, "every page is kept", 1, std::uint64_t{1} << 24,
             "tokens from one kept page to the next");
  o.required("capacity", "a number of tokens, or unlimited");
  o.number_or_word("capacity", group.capacity, "unlimited", kUnlimited, 1, kAnything,
                   "limit of the pool in tokens, or `unlimited`");
  o.optional("start", group.start, kUnlimited, "the capacity, or 0 if it is unlimited", 0, kAnything,
             "tokens for which the pool takes memory at the start; it grows to its capacity on demand");
  o.optional("max_per_path", group.max_per_path, std::uint32_t{0}, "any number", 1, std::uint64_t{1} << 24,
             "most pages that one path may keep, such as states; an insert frees those nearest to the root first");
  o.required("allocator", "the name of a slot allocator");
  component<SlotAllocator>(o, "allocator", group.allocator, "allocator of the pool's pages");
  o.required("eviction", "the name of an eviction strategy");
  component<EvictionStrategy>(o, "eviction", group.eviction, "eviction policy");
  component<KVStore>(o, "store", group.store, "store of this group's rows, in place of the engine's store",
                     "the engine's");
  o.rule(flaw(group, page_size));
}

class Groups final : public Entries {
 public:
  Groups(std::vector<GroupConfig>& groups, Units page_size) : groups_(groups), page_size_(page_size) {}
  std::size_t size() const override { return groups_.size(); }
  const char* key(std::size_t i) const override { return groups_[i].name.c_str(); }
  const char* add(const char* key) override {
    if (groups_.size() == kMaxGroups) return (why_ = fmt::format("an engine has at most {}", kMaxGroups)).c_str();
    if (!is_group_name(key)) return (why_ = fmt::format("it cannot name a group; expected {}", kGroupNames)).c_str();
    groups_.emplace_back().name = key;
    return nullptr;
  }
  void visit(std::size_t i, Options& options) override { canopy::visit(options, groups_[i], page_size_); }

 private:
  std::vector<GroupConfig>& groups_;
  Units page_size_;
  std::string why_;
};

void visit(Options& o, TenantConfig& tenant) {
  TenantShare& share = tenant.share;
  o.number("floor", share.floor, 0, kAnything - 1, "tokens of this tenant that no other tenant can evict");
  o.real("weight", share.weight, 0.001, 1e6,
         "weight above the floors: the tenant with the most tokens per weight loses first");
  o.optional("ceiling", share.ceiling, kUnlimited, "the whole pool", 1, kAnything - 1,
             "tokens above which the tenant evicts its own prefixes");
  o.optional("puts", share.puts, kUnlimited, "no limit", 0, kAnything - 1,
             "most tokens per minute that are put into the storage");
  o.number("pins", share.pins, 0, kAnything - 1, "most tokens that retention keeps; 0: none");
  component<EvictionStrategy>(o, "eviction", tenant.eviction, "eviction policy of this tenant's prefixes",
                              "that of the group");
  o.flag("together", tenant.together, "only for \"*\": all other tenants have one share together, not one each");
}

class TenantEntries final : public Entries {
 public:
  explicit TenantEntries(std::vector<TenantConfig>& tenants) : tenants_(tenants) {}
  std::size_t size() const override { return tenants_.size(); }
  const char* key(std::size_t i) const override { return tenants_[i].name.c_str(); }
  const char* add(const char* key) override {
    tenants_.emplace_back().name = key;
    return nullptr;
  }
  void visit(std::size_t i, Options& options) override { canopy::visit(options, tenants_[i]); }

 private:
  std::vector<TenantConfig>& tenants_;
};

void visit(Options& o, ModelConfig& model) {
  o.required("name", "the model's name");
  o.optional("name", model.name, "name of the model, a part of every key");
  o.required("revision", "the revision of its weights");
  o.optional("revision", model.revision, "revision of the weights");
  o.required("dtype", "the type of the rows");
  o.optional("dtype", model.dtype, "type of the rows, such as bf16");
  o.optional("extra", model.extra, "anything else that changes the rows: scales, the position encoding, a patch");
  o.number("rank", model.rank, 0, 65535, "number of this process among those that share the model");
  o.number("ranks", model.ranks, 1, 65536, "number of processes that share the model");
  o.flag("replicated", model.replicated, "all ranks have the same rows, so that only rank 0 puts records");
  o.rule(flaw(model));
}

void visit(Options& o, HostTierConfig& tier) {
  o.required("capacity", "a number of tokens");
  o.number("capacity", tier.capacity, 1, kAnything - 1,
           "limit of the first group in tokens; other groups have room in proportion to their pools");
  component<EvictionStrategy>(o, "eviction", tier.eviction, "eviction policy of the tier");
  o.choice("write", tier.write, all_names<WritePolicy>(),
           "prefixes to copy to the tier: each on its eviction, each on its insertion, or none");
  o.number("bandwidth", tier.lane.bytes_per_s, 0, kMostBandwidth,
           "bandwidth of each direction, in simulated time; 0: copies end at the next turn", Unit::bytes_per_s);
  o.number("latency", tier.lane.latency_us, 0, 1'000'000'000, "latency of each copy", Unit::us);
}

void visit(Options& o, StorageTierConfig& tier) {
  o.required("in", "the name of a storage");
  component<PageStorage>(o, "in", tier.in, "storage of the records");
  o.choice("write", tier.write, all_names<PutPolicy>(),
           "pages to put into the storage: each when it leaves the host tier, each when it arrives there, or none");
  o.number("least", tier.least_tokens, 0, std::uint64_t{1} << 31,
           "least tokens of a fetch; shorter prefixes are not fetched");
  o.number("bandwidth", tier.lane.bytes_per_s, 0, kMostBandwidth,
           "bandwidth of each direction, in simulated time; 0: calls run in real time", Unit::bytes_per_s);
  o.number("within", tier.call_limit_us, 1, kHourUs, "time allowed for a get or a put; a find has a hundredth of it",
           Unit::us);
}

void visit(Options& o, RecomputeConfig& recompute) {
  o.number("per_token", recompute.ns_per_token, 0, 1'000'000'000, "time to compute a token of a prompt", Unit::ns);
  o.number("per_token_depth", recompute.ps_per_token_depth, 0, 1'000'000,
           "more time to compute a token, for each token in front of it: attention", Unit::ps);
}

void visit(Options& o, PrefetchConfig& prefetch) {
  o.choice("policy", prefetch.policy, all_names<PrefetchPolicy>(),
           "wait of a request for its fetch: while fetching is faster than computing, until the fetch is complete, or "
           "none");
  o.number("max", prefetch.longest_us, 0, kHourUs, "longest wait of `worthwhile`", Unit::us);
}

/// `all`: the walk over the whole engine. A rule that compares with other parts is checked only if those are valid.
void visit_tiers(Options& o, EngineConfig& engine, const Options& all) {
  const auto rule = [&](Options& part, std::string (*flaw_of_part)(const EngineConfig&)) {
    if (all.ok()) part.rule(flaw_of_part(engine));
  };
  o.section("host", engine.host_tier.capacity > 0, nullptr,
            [&](Options& part) { visit(part, engine.host_tier), rule(part, flaw_of_host_tier); });
  o.section("storage", !engine.storage_tier.in.name.empty(), nullptr,
            [&](Options& part) { visit(part, engine.storage_tier), rule(part, flaw_of_storage); });
  o.section("recompute", true, nullptr, [&](Options& part) { visit(part, engine.recompute); });
  o.section("prefetch", true, nullptr, [&](Options& part) { visit(part, engine.prefetch); });
  rule(o, flaw_of_tiers);
}

void visit(Options& o, FeedConfig& feed) {
  using Kind = FeedConfig::Kind;
  if (feed.kind == Kind::off) return;
  const char* const name = feed.kind == Kind::shm ? "name" : feed.kind == Kind::file ? "path" : nullptr;
  if (name) {
    const char* const help =
        feed.kind == Kind::shm ? "the name to which an inspector attaches" : "the file to record to";
    o.required(name, help);
    o.optional(name, feed.name, help);
  }
  o.flag("tokens", feed.tokens, "send the tokens of prompts too");
  if (feed.kind != Kind::file) {
    o.flag("controls", feed.controls, "let a reader pause the engine, evict and change policies");
    o.optional("events", feed.events, std::uint64_t{0}, "by the pools' capacity", 1024, std::uint64_t{1} << 28,
               "events that the ring has room for, 32 bytes each");
  }
  if (const std::string why = name ? flaw_of_name(feed) : ""; !why.empty()) o.rule(name + why);
}

void visit(Options& o, KVEventsConfig& events) {
  if (!events.on) return;
  o.optional("publish", events.publish, "endpoint to which subscribers connect, tcp://HOST:PORT or ipc://PATH");
  o.optional("replay", events.replay, "endpoint that sends past batches on request; without it, none are sent");
  o.optional("topic", events.topic, "topic in front of each message, such as kv@pod-1@llama");
  o.choice("dialect", events.dialect, all_names<KVEventsConfig::Dialect>(),
           "form of events: maps, as new releases send, or arrays, for consumers that read no maps");
  o.choice("hashes", events.hashes, all_names<KVEventsConfig::Hashes>(),
           "names of blocks: SGLang's, or vLLM's with sha256_cbor");
  o.optional("seed", events.seed, "seed of vLLM's names: PYTHONHASHSEED of the servers beside this one");
  o.rule(flaw(events));
}

void visit(Options& o, EngineConfig& engine) {
  o.required("page_size", "the tokens of a page, 1..65536");
  o.number("page_size", engine.page_size, 1, 65536, "tokens in a page");
  component<KeyCodec>(o, "key", engine.key, "codec from tokens to the words of a key");
  component<PrefixIndex>(o, "index", engine.index, "index of the cached prefixes");
  o.required("groups", "a map of KV cache groups, { full: { reach: path, ... } }");
  Groups groups(engine.groups, engine.page_size);
  o.entries("groups", groups, "one to four KV cache groups; the figures of a run are those of the first");
  o.rule(flaw_of_groups(engine));
  TenantEntries tenants(engine.tenants);
  o.entries("tenants", tenants, "shares of the pools by tenant; \"*\": every other tenant");
  o.rule(flaw_of_tenants(engine));
  component<KVStore>(o, "store", engine.store, "store of the groups' rows; none: index and page numbers only", "none");
  o.section("model", !engine.model.name.empty(), "model of the rows; required with a storage",
            [&](Options& part) { visit(part, engine.model); });
  o.section("tiers", engine.host_tier.capacity > 0,
            "tiers below the pools: host, storage below it, recompute and prefetch",
            [&](Options& part) { visit_tiers(part, engine, o); });
  o.variant("feed", engine.feed.kind, all_names<FeedConfig::Kind>(), true, "destination of the engine's events",
            [&](Options& part) { visit(part, engine.feed); });
  o.variant("events", engine.events.on, kEventKinds, false, "KV events, as SGLang and vLLM publish them",
            [&](Options& part) { visit(part, engine.events); });
  o.number("segment_pages", engine.segment_pages, 0, kMaxPages, "pages by which a pool grows; 0: the engine chooses");
  o.number("idle_segments", engine.idle_segments, 0, kMaxPages,
           "empty segments that keep their memory after a pool has shrunk");
  o.flag("insert_at_finish", engine.insert_at_finish,
         "make all computed tokens of a request reusable when it finishes");
}

}  // namespace

Result<EngineConfig> read_engine_config(const YamlNode& document, const Registry& registry) {
  if (document.kind != YamlNode::Kind::map)
    return Error{document.mark.text() + ": an engine is described by a map, { page_size: ..., groups: ... }"};
  Complaints complaints;
  EngineConfig config;
  config.file = document.mark.source;
  config.page_size = 0;  // unknown until it is read
  YamlOptions reader(document, "an engine", complaints, &registry);
  reader.of_file();
  visit(reader, config);
  reader.finish();
  if (!complaints.empty()) return Error{fmt::format("{}", fmt::join(complaints, "\n"))};
  return config;
}

Result<EngineConfig> load_engine_config(const std::string& path, std::span<const std::string> assignments,
                                        const Registry& registry) {
  auto document = parse_yaml_file(path);
  if (!document) return document.error();
  for (const std::string& assignment : assignments)
    if (auto set = set_value(*document, assignment); !set) return set.error();
  return read_engine_config(*document, registry);
}

void use_store(YamlNode& document, const std::string& name) {
  const auto rename = [&](YamlNode* store) {
    if (store == nullptr) return;
    YamlNode* word =
        store->kind == YamlNode::Kind::map && store->entries.size() == 1 ? &store->entries[0].first : store;
    if (word->scalar == "none") return;
    if (name == "none") *(word = store) = {};
    word->kind = YamlNode::Kind::scalar;
    word->scalar = name;
    word->mark = {"--store " + name, 0, 0};
  };
  rename(document.find("store"));
  if (YamlNode* groups = document.find("groups"))
    for (YamlNode::Entry& group : groups->entries) rename(group.second.find("store"));
}

std::string dump_engine_config(const EngineConfig& config, const Registry& registry) {
  return dump_lines([copy = config](Options& o) mutable { visit(o, copy); }, &registry);
}

std::vector<OptionHelp> describe_engine_config(const Registry& registry) {
  return help_of([defaults = EngineConfig()](Options& o) mutable { visit(o, defaults); }, &registry);
}

std::string flaw_of(const EngineConfig& config) {
  const std::string why = flaw_of_options([copy = config](Options& o) mutable { visit(o, copy); });
  return why.empty() ? why : config.message(why);
}

}  // namespace canopy
