#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/eviction_strategy.h>
#include <canopy/key_codec.h>
#include <canopy/kv_store.h>
#include <canopy/page_storage.h>
#include <canopy/prefix_index.h>
#include <canopy/slot_allocator.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

// Every key of an engine, once. The walkers that read a file, write one, explain the keys and check a configuration are
// in this folder. Beside the options of a component (canopy/options.h) they know:
//   required(name, expected)   the key must be there; `expected` is said if it is not
//   number_or_word             a number, or a word that stands for one value
//   number_if_given            a number; one value means that it was not given, `otherwise` says what holds then
//   text, component, groups, model, tiers, feed, events
//   word                       a text that has a default
//   rule(name, why)            what is wrong with the key's value beside the others, " = 6 is ..."; empty: nothing
namespace canopy {

inline constexpr std::uint64_t kMaxPages = std::numeric_limits<Page>::max() - 1;  // page 0 is never handed out
/// Pages that a pool without a `start` may take at once: 512 MiB of books, and a second or two to write them.
inline constexpr std::uint64_t kMaxStartPages = std::uint64_t{1} << 26;
/// Bytes a second of a lane at most: a terabyte.
inline constexpr std::uint64_t kMostBandwidth = 1'000'000'000'000;
inline constexpr const char* kFeedKinds[] = {"off", "heap", "shm", "file"};
inline constexpr const char* kDialects[] = {"maps", "arrays"};
inline constexpr const char* kHashes[] = {"sglang", "vllm"};
inline constexpr const char* kGroupNames = "a small letter, then small letters, digits and '_'";

bool is_group_name(std::string_view name);
// For `rule`. A page size of 0 is one that is not known.
std::string flaw_of_every(const GroupConfig& group, Units page_size);
std::string flaw_of_max_per_path(const GroupConfig& group);
std::string flaw_of_capacity(const GroupConfig& group, Units page_size);
std::string flaw_of_start(const GroupConfig& group, Units page_size);
std::string flaw_of_publish(const KvEventsConfig& events);
std::string flaw_of_replay(const KvEventsConfig& events);
std::string flaw_of_topic(const KvEventsConfig& events);
std::string flaw_of_tier(const EngineConfig& engine);
std::string flaw_of_storage(const EngineConfig& engine);
std::string flaw_of_rank(const ModelConfig& model);
/// Pages of a group in the host tier: as many tokens as configured for the first group, and for each other group as
/// many times its pool.
std::uint64_t host_tier_pages(const EngineConfig& engine, std::size_t group);
inline constexpr const char* kPutPolicies[] = {"on_evict", "through", "none"};
inline constexpr const char* kPrefetchPolicies[] = {"worthwhile", "wait_complete", "timeout", "best_effort"};
inline constexpr const char* kWritePolicies[] = {"write_back", "write_through", "write_through_selective", "none"};

template <class Walker>
void visit_feed(Walker& o, FeedConfig& feed) {
  using Kind = FeedConfig::Kind;
  if (const char* name = feed.kind == Kind::shm ? "name" : feed.kind == Kind::file ? "path" : nullptr) {
    o.text(name, feed.name, feed.kind == Kind::shm ? "what an inspector attaches to" : "the file to record to");
    o.rule(name, flaw_of_name(feed));
  }
  o.flag("tokens", feed.tokens, "whether tokens leave the process");
  if (feed.kind == Kind::file) return;
  o.flag("controls", feed.controls, "whether a reader may pause the engine, evict and change policies");
  o.number_if_given("events", feed.events, std::uint64_t{0}, "by the pools' capacity", 1024, std::uint64_t{1} << 28,
                    "events of the ring, 32 bytes each");
}

template <class Walker>
void visit_events(Walker& o, KvEventsConfig& events) {
  o.word("publish", events.publish, "the endpoint that subscribers connect to, tcp://HOST:PORT or ipc://PATH");
  o.rule("publish", flaw_of_publish(events));
  o.word("replay", events.replay, "the endpoint that is asked for past batches; without it there are none");
  o.rule("replay", flaw_of_replay(events));
  o.word("topic", events.topic, "in front of each message, such as kv@pod-1@llama");
  o.rule("topic", flaw_of_topic(events));
  o.choice("dialect", events.dialect, kDialects,
           "maps, as new releases send, or arrays, for consumers that read no maps");
  o.choice("hashes", events.hashes, kHashes, "the names of blocks: SGLang's, or vLLM's with sha256_cbor");
  o.word("seed", events.seed, "of vLLM's names: PYTHONHASHSEED of the servers beside this one");
}

template <class Walker>
void visit_group(Walker& o, GroupConfig& group, Units page_size) {
  constexpr std::uint64_t kAnything = std::numeric_limits<std::uint64_t>::max();
  o.number_or_word("reach", group.reach, "path", kWholePath, 1, kWholePath - 1,
                   "`path`, or how many trailing tokens must be resident");
  o.number_if_given("every", group.every, Units{0}, "every page is kept", 1, std::uint64_t{1} << 24,
                    "tokens between two pages that are kept");
  o.rule("every", flaw_of_every(group, page_size));
  o.required("capacity", "a number of tokens, or unlimited");
  o.number_or_word("capacity", group.capacity, "unlimited", kUnlimited, 1, kAnything, "tokens, or `unlimited`");
  o.rule("capacity", flaw_of_capacity(group, page_size));
  o.number_if_given("start", group.start, kUnlimited, "the capacity, or 0 if it is unlimited", 0, kAnything,
                    "tokens a pool takes memory for at once; it grows to its capacity as it needs");
  o.rule("start", flaw_of_start(group, page_size));
  o.number_if_given("max_per_path", group.max_per_path, std::uint32_t{0}, "any number", 1, std::uint64_t{1} << 24,
                    "pages that one path may keep, such as states; an insert gives up those nearest the root");
  o.rule("max_per_path", flaw_of_max_per_path(group));
  o.required("allocator", "the name of a slot allocator");
  o.component("allocator", SlotAllocator::kInterface, group.allocator, "hands out the pages of the pool");
  o.required("eviction", "the name of an eviction strategy");
  o.component("eviction", EvictionStrategy::kInterface, group.eviction, "chooses what is evicted");
  o.component("store", KVStore::kInterface, group.store,
              "keeps the rows of this group, in place of the engine's store");
}

template <class Walker>
void visit_host_tier(Walker& o, HostTierConfig& tier, const std::string& flaw) {
  constexpr std::uint64_t kAnything = std::numeric_limits<std::uint64_t>::max() - 1;
  o.required("capacity", "a number of tokens");
  o.number("capacity", tier.capacity, 1, kAnything,
           "tokens of the first group; the others in proportion to their pools");
  o.rule("capacity", flaw);
  o.component("eviction", EvictionStrategy::kInterface, tier.eviction, "chooses what leaves the tier");
  o.choice("write", tier.write, kWritePolicies,
           "what is copied to the tier: prefixes when they are evicted, when they are inserted, when they have been "
           "matched `hits` times, or none");
  o.number("hits", tier.hits, 1, 1'000'000, "matches of a prefix before write_through_selective copies it");
  o.number("ahead", tier.ahead, 0, 50, "percent of the pools that is kept free by evicting early, at each turn");
  o.number("least", tier.least, 0, std::uint64_t{1} << 31, "tokens; what is shorter is computed, not fetched");
  o.number("in_flight", tier.in_flight, 1, kAnything,
           "bytes on their way to the tier at most; what is more is dropped");
  o.number("bandwidth", tier.lane.bandwidth, 0, kMostBandwidth,
           "bytes a second in each direction, in simulated time; 0: copies end at the next turn");
  o.number("latency", tier.lane.latency, 0, 1'000'000'000, "microseconds that each copy takes besides");
  o.number("kv_bytes", tier.kv_bytes, 0, std::uint64_t{1} << 30,
           "bytes that a token counts for in simulated lanes, those of a storage too; 0: as many as the stores keep");
}

template <class Walker>
void visit_recompute(Walker& o, RecomputeConfig& recompute) {
  o.number("fixed", recompute.fixed, 0, 1'000'000'000, "microseconds that computing any part of a prompt takes");
  o.number("per_token", recompute.per_token, 0, 1'000'000'000, "nanoseconds for each token of it besides");
  o.number("per_token_depth", recompute.per_token_depth, 0, 1'000'000,
           "picoseconds for each token of it and each token in front of that one: attention");
  o.number("margin", recompute.margin, 1, 10'000, "percent of that time that a fetch may take");
  o.flag("learn", recompute.learn, "whether the times that Engine::computed is told correct these figures");
}

template <class Walker>
void visit_prefetch(Walker& o, PrefetchConfig& prefetch) {
  constexpr std::uint64_t kHour = 3'600'000'000;
  o.choice("policy", prefetch.policy, kPrefetchPolicies,
           "how long a request waits for what comes for it: while that is faster than computing it, until it is "
           "there, for a time, or not at all");
  o.number("base", prefetch.base, 0, kHour, "microseconds that `timeout` waits");
  o.number("per_1k", prefetch.per_1k, 0, kHour, "microseconds that it waits besides for each 1,024 tokens");
  o.number("max", prefetch.max, 0, kHour, "microseconds that `timeout` and `worthwhile` wait at most");
  o.number("share", prefetch.share, 1, 100,
           "percent of the host tier that may be on its way from a storage; one fetch alone may be more");
}

template <class Walker>
void visit_storage_tier(Walker& o, StorageTierConfig& tier, const std::string& flaw) {
  constexpr std::uint64_t kAnything = std::numeric_limits<std::uint64_t>::max() - 1;
  constexpr std::uint64_t kHour = 3'600'000'000;
  o.required("in", "the name of a storage");
  o.component("in", PageStorage::kInterface, tier.in, "keeps the records");
  o.rule("in", flaw);
  o.choice("write", tier.write, kPutPolicies,
           "what is put into the storage: pages when they leave the host tier, pages when they come to it, or none");
  o.number("ahead", tier.ahead, 0, 50,
           "percent of the host tier that is kept free by evicting early, at each turn; what is evicted for room is "
           "not put");
  o.number("least", tier.least, 0, std::uint64_t{1} << 31, "tokens; what is shorter is not asked for");
  o.number("in_flight", tier.in_flight, 1, kAnything,
           "bytes on their way to the storage, and from it, at most; more waits, or is not fetched");
  o.number("budget", tier.budget, 0, kMostBandwidth, "bytes put a second at most; what is more is dropped; 0: any");
  o.number("keep", tier.keep, 0, std::numeric_limits<std::uint32_t>::max(),
           "seconds that records are kept; 0: as long as there is room");
  o.number(
      "bandwidth", tier.lane.bandwidth, 0, kMostBandwidth,
      "bytes a second in each direction, in simulated time: a turn waits for the storage; 0: what has ended counts");
  o.number("latency", tier.lane.latency, 0, 1'000'000'000, "microseconds that each call takes besides, if simulated");
  o.number("find_within", tier.find_within, 1, kHour, "microseconds until an answer is late");
  o.number("within", tier.within, 1, kHour, "microseconds until records that come or go are late");
  o.number("trust_again", tier.trust_again, 0, 1'000'000'000,
           "seconds without the storage after three damaged records; 0: for ever");
}

template <class Walker>
void visit_model(Walker& o, ModelConfig& model) {
  o.required("name", "the model's name");
  o.text("name", model.name, "in every key");
  o.required("revision", "the revision of its weights");
  o.text("revision", model.revision, "of the weights");
  o.required("dtype", "the type of the rows");
  o.text("dtype", model.dtype, "of the rows, such as bf16");
  o.word("extra", model.extra, "what else changes the rows: scales, the position encoding, a patch");
  o.number("rank", model.rank, 0, 65535, "of this process among those that have the model together");
  o.number("ranks", model.ranks, 1, 65536, "processes that have the model together");
  o.rule("rank", flaw_of_rank(model));
  o.flag("replicated", model.replicated, "whether all ranks have the same rows: rank 0 puts their records");
}

template <class Walker>
void visit_engine(Walker& o, EngineConfig& engine) {
  o.required("page_size", "the tokens of a page, 1..65536");
  o.number("page_size", engine.page_size, 1, 65536, "tokens a page");
  o.component("key", KeyCodec::kInterface, engine.key, "makes the words of a key from tokens");
  o.component("index", PrefixIndex::kInterface, engine.index, "finds the cached prefix of a key");
  o.required("groups", "a map of KV cache groups, { full: { reach: path, ... } }");
  o.groups("groups", engine.groups, engine.page_size, "KV cache groups; the figures of a run are those of the first");
  o.component("store", KVStore::kInterface, engine.store,
              "keeps the rows of the groups; none: index and page numbers only");
  o.model("model", engine.model, "what the rows are of; needed with a storage");
  o.tiers("tiers", engine, "tiers below the pools");
  o.feed("feed", engine.feed, "where the events of the engine go");
  o.events("events", engine.events, "KV events, as SGLang and vLLM publish them");
  o.number("segment_pages", engine.segment_pages, 0, kMaxPages, "pages a pool grows by; 0: the engine chooses");
  o.number("idle_segments", engine.idle_segments, 0, kMaxPages,
           "empty segments that keep their memory when a pool has shrunk");
  o.flag("insert_at_finish", engine.insert_at_finish, "whether a finished request's answer becomes reusable");
}

}  // namespace canopy
