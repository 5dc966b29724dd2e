#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <support/folder.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <conformance/model/plugins.h>
#include "engine_texts.h"

using namespace canopy;
using namespace canopy::test;

namespace {

/// The lines that are sentences; a line of known names belongs to the one above it.
std::vector<std::string> sentences(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (!line.starts_with("  ")) out.push_back(line);
    begin = end + 1;
  }
  return out;
}

}  // namespace

TEST_CASE("engine config: all there is to say") {
  const EngineConfig config = good(kFull);
  CHECK(config.file == "t");
  CHECK(config.page_size == 16);
  CHECK(config.key.name == "bigram");
  CHECK(config.index.name == "radix");
  CHECK(config.index.where == "t:4:10");
  REQUIRE(config.groups.size() == 2);
  CHECK(config.groups[0].name == "full");
  CHECK(config.groups[0].reach == kWholePath);
  CHECK(config.groups[0].capacity == 3'000'000);
  CHECK(config.groups[0].allocator.name == "free_list");
  CHECK(config.groups[0].eviction.name == "lru");
  CHECK(config.groups[1].reach == 4096);
  CHECK(config.groups[1].capacity == kUnlimited);
  CHECK(config.groups[1].eviction.name == "slru");
  CHECK(config.groups[1].eviction.options == "{ protect_after: 3 }");
  CHECK(config.store.name == "host");
  CHECK(config.segment_pages == 65536);
}

TEST_CASE("engine config: what need not be said") {
  const EngineConfig config = good("page_size: 1\n" + kGroup);
  CHECK(config.key.name == "token");
  CHECK(config.index.name == "radix");
  CHECK(config.store.name == "none");
  CHECK(config.segment_pages == 0);
  REQUIRE(config.groups.size() == 1);
  CHECK(config.groups[0].reach == kWholePath);

  const auto with = [](const char* line) { return good("page_size: 1\n" + kGroup + line); };
  for (const char* line : {"store: none", "store: { none: {} }", "store: { none: }"})
    CHECK(with(line).store.name == "none");
  for (const char* line : {"feed: off", "feed: { off: {} }", "feed: { off }"}) CHECK_NOTHROW(with(line));
  for (const char* line : {"index: 'null'", "index: null", "index: { null: {} }"})
    CHECK(with(line).index.name == "null");
  for (const char* line : {"index: { radix: sglang }", "index: { radix: { accounting: sglang } }"})
    CHECK(dump_engine_config(with(line), plugins()).find("index: { radix: { accounting: sglang, ") !=
          std::string::npos);
}

TEST_CASE("engine config: what is refused, where and why") {
  struct Bad {
    std::string yaml;
    std::string_view sentence;
  };
  const auto with = [](const char* line) { return "page_size: 4\n" + kGroup + line; };
  const auto group = [](const char* text) { return fmt::format("page_size: 4\ngroups: {{ full: {{ {} }} }}\n", text); };
  const auto group_but = [&](const char* text) {
    return group(fmt::format("allocator: free_list, eviction: lru, {}", text).c_str());
  };
  const Bad kBad[] = {
      {"", "t:1:1: an engine is described by a map"},
      {"x", "t:1:1: an engine is described by a map"},
      {"[x]", "t:1:1: an engine is described by a map"},
      {kGroup, "t:1:1: an engine has no 'page_size'; expected the tokens of a page, 1..65536"},
      {"page_size: 4\n", "t:1:1: an engine has no 'groups'; expected a map of KV cache groups"},
      {with("pages: 4"), "t:3:1: an engine has no option 'pages'"},
      {with("insert_at_finish: maybe"), "t:3:19: insert_at_finish = 'maybe' is neither true nor false (make all"},
      {group_but("capacity: 64, reach: 1, every: 6"), "groups.full.every = 6 is not a multiple of the page size, 4"},
      {group_but("capacity: 64, every: 8"),
       "groups.full.every: a group that needs the whole path keeps every page; it wants a reach"},
      {group_but("capacity: 64, reach: 5, every: 8"),
       "groups.full.every = 8 keeps one page in 2, and a reach of 5 tokens needs more than the last one: nothing could "
       "be reused"},
      {group_but("capacity: 64, store: hots"), "no KV store is called 'hots'. Did you mean 'host'?"},
      {with("indx: radix"),
       "t:3:1: an engine has no option 'indx'. Did you mean 'index'?\n  known here: page_size key index"},
      {"page_size: 0\n" + kGroup, "t:1:12: page_size = 0 is outside 1..65536 (tokens in a page)"},
      {"page_size: 65537\n" + kGroup, "t:1:12: page_size = 65537 is outside"},
      {"page_size:\n" + kGroup, "t:1:1: page_size = nothing is not a whole number"},
      {"page_size: {}\n" + kGroup, "t:1:12: page_size = a map is not a whole number"},
      {with("segment_pages: -1"), "t:3:16: segment_pages = -1 is outside 0..4294967294"},
      // Groups.
      {"page_size: 4\ngroups:\n", "t:2:1: groups = nothing is not a map"},
      {"page_size: 4\ngroups: {}\n", "t:2:9: groups are 0; an engine has 1 to 4"},
      {"page_size: 4\ngroups: [full]\n", "t:2:9: groups = a list is not a map"},
      {"page_size: 4\ngroups: { full: }\n", "t:2:11: groups.full has no 'capacity'"},
      {"page_size: 4\ngroups: { full: lru }\n", "t:2:17: groups.full.reach = 'lru' is not a whole number"},
      {"page_size: 4\ngroups: { Full: { capacity: 64, allocator: free_list, eviction: lru } }\n",
       "t:2:11: groups cannot have 'Full': it cannot name a group"},
      {"page_size: 4\ngroups: { 1st: { capacity: 64, allocator: free_list, eviction: lru } }\n",
       "'1st': it cannot name a group"},
      {"page_size: 4\ngroups: { a.b: { capacity: 64, allocator: free_list, eviction: lru } }\n",
       "'a.b': it cannot name a group"},
      {"page_size: 4\ngroups: { '': { capacity: 64, allocator: free_list, eviction: lru } }\n",
       "'': it cannot name a group"},
      {"page_size: 4\ngroups: { a: 1, b: 1, c: 1, d: 1, e: 1 }\n",
       "t:2:35: groups cannot have 'e': an engine has at most 4"},
      {group("allocator: free_list, eviction: lru"),
       "t:2:17: groups.full has no 'capacity'; expected a number of tokens, or unlimited"},
      {group("capacity: 8, eviction: lru"),
       "t:2:17: groups.full has no 'allocator'; expected the name of a slot allocator"},
      {group("capacity: 8, allocator: free_list"),
       "t:2:17: groups.full has no 'eviction'; expected the name of an eviction strategy"},
      {group_but("capacity: 3"), "groups.full.capacity = 3 does not hold one page of 4 tokens"},
      {group_but("capacity: 0"), "groups.full.capacity = 0 is outside at least 1"},
      {group_but("capacity: none"),
       "groups.full.capacity = 'none' is not a whole number in decimal digits; expected at least 1 (limit of the pool "
       "in tokens, or "
       "`unlimited`)"},
      {group_but("capacity: 17179869180"),
       "groups.full.capacity = 17179869180 is more than 4294967294 pages of 4 tokens"},
      {group_but("capacity: 18446744073709551615"), "is more than 4294967294 pages"},
      {group_but("capacity: 8, start: 9"), "groups.full.start = 9 is more than its capacity, 8"},
      {group_but("capacity: 268435460"),
       "groups.full.start = the capacity, 268435460: 67,108,865 pages, whose books alone take 512.0 MiB of memory "
       "before "
       "the first request; `start: 268435456` is the most"},
      {group_but("capacity: 17179869176"), "4,294,967,294 pages, whose books alone take 32.0 GiB of memory"},
      {group_but("capacity: 17179869176, start: 4G"),
       "start = 4000000000: 1,000,000,000 pages, whose books alone take"},
      {group_but("capacity: unlimited, start: 4G"), "start = 4000000000: 1,000,000,000 pages, whose books alone take"},
      {group_but("capacity: 8, start: some"), "groups.full.start = 'some' is not a whole number"},
      {group_but("capacity: 8, reach: 0"), "groups.full.reach = 0 is outside 1..4294967294"},
      {group_but("capacity: 8, reach: 4294967295"), "groups.full.reach = 4294967295 is outside"},
      {group_but("capacity: 8, reach: full"), "groups.full.reach = 'full' is not a whole number"},
      {group_but("capacity: 8, policy: lru"), "groups.full has no option 'policy'"},
      {group_but("capacity: 8, reech: path"), "groups.full has no option 'reech'. Did you mean 'reach'?"},
      // Tiers.
      {with("tiers: { host: { capacity: 64, latency: 20 } }"),
       "t:3:41: tiers.host.latency = 20 has no unit, as in 20us; expected 0..1000s (latency of each copy)"},
      {with("tiers: { host: { capacity: 64, hit: 2 } }"),
       "tiers.host has no option 'hit'\n  known here: capacity eviction write bandwidth latency"},
      // Components.
      {with("key: tokn"), "t:3:6: no key codec is called 'tokn'. Did you mean 'token'?\n  known here: bigram token"},
      {with("index: { radx: {} }"), "t:3:10: no prefix index is called 'radx'. Did you mean 'radix'?"},
      {with("store: hsot"), "t:3:8: no KV store is called 'hsot'"},
      {with("store: lru"), "t:3:8: no KV store is called 'lru'; that is an eviction strategy\n  known here:"},
      {group("capacity: 8, allocator: lru, eviction: lru"),
       "t:2:43: no slot allocator is called 'lru'; that is an eviction strategy"},
      {group("capacity: 8, allocator: free_list, eviction: slur"),
       "t:2:64: no eviction strategy is called 'slur'. Did you mean 'slru'?\n  known here: "},
      {group("capacity: 8, allocator: free_list, eviction: { slru: { protect_after: 0 } }"),
       "t:2:89: slru.protect_after = 0 is outside 1..64 (hits that protect a prefix)"},
      {group("capacity: 8, allocator: free_list, eviction: { slru: { protect: 1 } }"),
       "t:2:74: slru has no option 'protect'"},
      {group("capacity: 8, allocator: free_list, eviction: { slru: 65 }"),
       "t:2:72: slru.protect_after = 65 is outside 1..64"},
      {group("capacity: 8, allocator: free_list, eviction: { lru: 3 }"), "t:2:71: lru takes no options, but has 3"},
      {group("capacity: 8, allocator: free_list, eviction: { lru: [] }"),
       "t:2:71: lru has a list; expected its options as a map"},
      {group("capacity: 8, allocator: free_list, eviction: { lru: {}, lfu: {} }"),
       "t:2:75: groups.full.eviction names both 'lru' and 'lfu'; expected an eviction strategy: a name, or { name: { "
       "options } }"},
      {group("capacity: 8, allocator: free_list, eviction: [lru]"),
       "t:2:64: groups.full.eviction is a list; expected an eviction strategy"},
      {group("capacity: 8, allocator: free_list, eviction: {}"),
       "t:2:64: groups.full.eviction is empty; expected an eviction strategy"},
      {group("capacity: 8, allocator: free_list, eviction: "), "groups.full.eviction is empty"},
      {group("capacity: 8, allocator: free_list, eviction: ~"), "groups.full.eviction is empty"},
      {with("index: { radix: { accounting: sglng } }"), "t:3:31: radix.accounting = 'sglng' is not a choice"},
      {with("index:"), "t:3:1: index is empty; expected a prefix index"},
      {with("index: { radix: { keep_free: 101 } }"), "radix.keep_free = 101 is outside 0..100 ("},
      {with("store: { host: { layers: 0 } }"), "t:3:26: host.layers = 0 is outside 1..4096 (model layers)"},
      {with("store: { host: { streams: { kv: -8 } } }"), "t:3:33: host.streams.kv.row_bytes = -8 is outside"},
      {with("store: { host: { streams: { kv: { dtype: bf17 } } } }"), "host.streams.kv.dtype = 'bf17' is not a choice"},
      {with("store: { host: { streams: 8 } }"), "host.streams = 8 is not a map"},
      {with("store: { host: { streams: { a: 1, b: 1, c: 1, d: 1, e: 1 } } }"),
       "t:3:53: host.streams cannot have 'e': a store keeps at most four"},
      {with("store: { none: { layers: 1 } }"), "no KV store is called 'none'"},
      {with("feed: ring"),
       "t:3:7: feed = 'ring' is not a choice (destination of the engine's events)\n  known here: off heap shm file"},
      {with("feed: { ring: {} }"), "t:3:9: feed = 'ring' is not a choice"},
      {with("feed: { off: { x: 1 } }"), "t:3:16: feed.off takes no options, but has 'x'"},
      {with("feed: { off: 3 }"), "t:3:14: feed.off takes no options, but has 3"},
      {with("feed: [off]"), "t:3:7: feed is expected to be one of off, heap, shm, file: a name"},
      {with("feed:"), "t:3:1: feed is expected to be one of off, heap, shm, file: a name"},
      {with("feed: { shm: {} }"), "t:3:14: feed.shm has no 'name'; expected the name to which an inspector attaches"},
      {with("feed: { shm: { name: a/b } }"), "t:3:22: feed.shm.name is 'a/b'; expected a name for inspectors"},
      {with("feed: { shm: { name: a, eventz: 9 } }"), "feed.shm has no option 'eventz'. Did you mean 'events'?"},
      {with("feed: { file: { controls: true } }"), "feed.file has no option 'controls'"},
      {with("feed: { file: {} }"), "t:3:15: feed.file has no 'path'; expected the file to record to"},
      {with("feed: { heap: { tokens: maybe } }"), "feed.heap.tokens = 'maybe' is neither true nor false"},
  };
  for (const Bad& bad : kBad) {
    CAPTURE(bad.yaml);
    const std::string error = wrong(bad.yaml);
    CAPTURE(error);
    CHECK(error.starts_with("t:"));
    CHECK(error.find(bad.sentence) != std::string::npos);
  }
}

TEST_CASE("engine config: all that is wrong at once, in the order of the file") {
  const std::string error = wrong(R"(key: tokn
store: { host: { streams: { kv: x }, layers: 0 } }
page_size: 0
groups:
  full: { reach: 0, typo: 1, capacity: x, allocator: nothing, eviction: { slru: { protect_after: 0 } } }
index: none
)");
  const std::string_view kPlaces[] = {"t:1:6: ",  "t:2:33: ", "t:2:46: ", "t:3:12: ", "t:5:18: ",
                                      "t:5:21: ", "t:5:40: ", "t:5:54: ", "t:5:98: ", "t:6:8: "};
  const auto found = sentences(error);
  CAPTURE(error);
  REQUIRE(found.size() == std::size(kPlaces));
  for (std::size_t i = 0; i < found.size(); ++i) CHECK_MESSAGE(found[i].starts_with(kPlaces[i]), found[i]);
}

TEST_CASE("engine config: names that refused plugins may have had") {
  Registry registry;
  registry.add("no_such_plugin.so", Trust::as_ourselves);
  REQUIRE(registry.refusals().size() == 1);
  const auto document = parse_yaml("page_size: 4\n" + kGroup, "t");
  const auto config = read_engine_config(*document, registry);
  REQUIRE(!config);
  CAPTURE(config.error().text);
  CHECK(
      config.error().text.find(
          "no eviction strategy is called 'lru'\n  known here: none   (1 plugin was refused, see `canopy plugins`)") !=
      std::string::npos);
  CHECK(config.error().text.find(
            "t:1:1: no prefix index is called 'radix', the default of an engine without 'index'") != std::string::npos);
}

TEST_CASE("engine config: assignments on top") {
  const std::string base = "page_size: 16\ngroups: { full: { capacity: 64, allocator: free_list, eviction: slru } }\n";
  CHECK(good(base, {"groups.full.eviction=lfu"}).groups[0].eviction.name == "lfu");
  CHECK(good(base, {"groups.full.capacity=1M", "page_size=1"}).groups[0].capacity == 1'000'000);
  CHECK(good(base, {"index=null"}).index.name == "null");
  CHECK(good(base, {"store.host.streams.kv=8"}).store.name == "host");
  const EngineConfig slru = good(base, {"groups.full.eviction.slru.protect_after=3"});
  CHECK(dump_engine_config(slru, plugins()).find("eviction: { slru: { protect_after: 3 } }") != std::string::npos);
  // An assignment takes the place of another component that the file wrote out.
  const std::string dumped = dump_engine_config(slru, plugins());
  CHECK(good(dumped, {"groups.full.eviction.lru={}"}).groups[0].eviction.name == "lru");
  CHECK(good(dumped, {"store.host.streams.kv=8"}).store.name == "host");

  CHECK(wrong(base, {"groups.full.eviction.slru.protect_after=0"})
            .starts_with("--set groups.full.eviction.slru.protect_after: slru.protect_after = 0 is outside 1..64"));
  CHECK(wrong(base, {"groups.full.eviction=lur"})
            .starts_with("--set groups.full.eviction: no eviction strategy is called 'lur'. Did you mean 'lru'?"));
  CHECK(wrong(base, {"groups.ful.eviction=lru"}).find("--set groups.ful.eviction: groups.ful has no 'capacity'") !=
        std::string::npos);
}

TEST_CASE("engine config: a file with assignments") {
  const Folder folder;
  const std::string path = folder.file("engine.yaml", kFull);
  const std::vector<std::string> assignments{"groups.full.eviction=lfu"};
  const auto config = load_engine_config(path, assignments, plugins());
  REQUIRE(config);
  CHECK(config->file == path);
  CHECK(config->groups[0].eviction.name == "lfu");
  const std::vector<std::string> typo{"page_sice=1"};
  CHECK(load_engine_config(path, typo, plugins())
            .error()
            .text.starts_with("--set page_sice: an engine has no option 'page_sice'. Did you mean 'page_size'?"));
  CHECK(load_engine_config(folder.at("none.yaml"), {}, plugins()).error().text ==
        folder.at("none.yaml") + ": there is no such file");
}

TEST_CASE("engine config: cut off at any byte it is wrong with a place, or fine") {
  std::size_t fine = 0;
  for (std::size_t length = 0; length <= kFull.size(); ++length) {
    CAPTURE(length);
    const auto config = read(std::string_view(kFull).substr(0, length));
    if (config) {
      ++fine;
      CHECK(!config->groups.empty());
      continue;
    }
    for (const std::string& sentence : sentences(config.error().text)) {
      CAPTURE(sentence);
      CHECK(sentence.starts_with("t:"));
      CHECK(sentence.find_first_not_of("0123456789:", 2) == sentence.find(' '));
    }
  }
  CHECK(fine > 0);
}

TEST_CASE("engine config: with any one byte changed it is wrong with a place, or fine") {
  for (std::size_t at = 0; at < kFull.size(); ++at) {
    for (const char c : {'\0', '\t', '\n', ' ', '"', '\'', '#', '&', '*', '!',   '-',
                         ':',  ',',  '{',  '}', '[', ']',  '|', '0', 'x', '\xFF'}) {
      std::string changed = kFull;
      changed[at] = c;
      const auto config = read(changed);
      if (config) continue;
      CAPTURE(changed);
      CHECK_MESSAGE(config.error().text.starts_with("t:"), config.error().text);
    }
  }
}

TEST_CASE("engine config: the store of a file is replaced where there is one") {
  const std::string base = "page_size: 4\n" + kGroup;
  const auto with = [&](const std::string& yaml, const char* store) {
    auto document = parse_yaml(yaml, "t");
    use_store(*document, store);
    const auto config = read_engine_config(*document, plugins());
    return config ? config->store.name + config->store.options + " " + config->groups[0].store.name
                  : config.error().text;
  };
  CHECK(with(base, "host") == "none ");
  CHECK(with(base + "store: none", "host") == "none ");
  CHECK(with(base + "store: { host: { streams: { kv: 8 } } }", "none") == "none ");
  CHECK(with(base + "store: { hots: { streams: { kv: 8 } } }", "host") == "host{ streams: { kv: 8 } } ");
  CHECK(with(base + "store: cuda", "host") == "host ");
  CHECK(with("page_size: 4\ngroups: { full: { capacity: 64, allocator: free_list, eviction: lru, store: hots } }",
             "host") == "none host");
  CHECK(with(base + "store: host", "hots")
            .starts_with("--store hots: no KV store is called 'hots'. Did you mean 'host'?"));
  CHECK(with("[]", "host").starts_with("t:1:1: an engine is described by a map"));
}
