#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <conformance/model/plugins.h>

using namespace canopy;
using canopy::test::plugins;

namespace {

const std::string kFull = R"(# An engine with all there is to say.
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
store: { host: { layers: 2, streams: { k: 8, "v's": { heads: 2, head_dim: 16, dtype: fp8 } }, populate: false, huge_pages: false, lock: false, share: false, addresses: 17592186044416 } }
feed: { off: {} }
segment_pages: 64Ki
)";

const std::string kGroup = "groups: { full: { capacity: 64, allocator: free_list, eviction: lru } }\n";

Result<EngineConfig> read(std::string_view yaml, const std::vector<std::string>& assignments = {}) {
  auto document = parse_yaml(yaml, "t");
  if (!document) return document.error();
  for (const std::string& assignment : assignments)
    if (auto set = set_value(*document, assignment); !set) return set.error();
  return read_engine_config(*document, plugins());
}

EngineConfig good(std::string_view yaml, const std::vector<std::string>& assignments = {}) {
  auto config = read(yaml, assignments);
  REQUIRE_MESSAGE(config, (config ? std::string() : config.error().text));
  return *config;
}

std::string wrong(std::string_view yaml, const std::vector<std::string>& assignments = {}) {
  const auto config = read(yaml, assignments);
  REQUIRE(!config);
  return config.error().text;
}

/// A policy that is linked into the test.
class NewestFirst final : public EvictionStrategy {
 public:
  struct Config {
    bool newest = false;
    void visit(Options& o) { o.flag("newest", newest, "whether the newest leaves first"); }
  };
  explicit NewestFirst(const Config& config) : newest_(config.newest) {}
  Rank rank(const NodeFacts& node) override { return {0, newest_ ? ~node.last_access : node.last_access}; }

 private:
  bool newest_;
};

constexpr CanopyComponent kOwn[] = {provide<EvictionStrategy, NewestFirst>("newest_first", "the newest leaves first")};
constexpr CanopyPlugin kOwnPlugin{kPluginMagic, sizeof(CanopyPlugin),    CANOPY_TOOLCHAIN, "0.1.0",
                                  kOwn,         sizeof(CanopyComponent), std::size(kOwn)};

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
      {"", "t:1:1: an engine is empty; expected a map"},
      {"x", "t:1:1: an engine is 'x'; expected a map"},
      {"[x]", "t:1:1: an engine is a list; expected a map"},
      {kGroup, "t:1:1: an engine has no 'page_size'; expected the tokens of a page, 1..65536"},
      {"page_size: 4\n", "t:1:1: an engine has no 'groups'; expected a map of KV cache groups"},
      {with("pages: 4"), "t:3:1: an engine knows no 'pages'"},
      {with("insert_at_finish: maybe"), "t:3:19: insert_at_finish = 'maybe' is neither true nor false (whether"},
      {group_but("capacity: 64, reach: 1, every: 6"), "groups.full.every = 6 is not a multiple of the page size, 4"},
      {group_but("capacity: 64, every: 8"),
       "groups.full.every: a group that needs the whole path keeps every page; it wants a reach"},
      {group_but("capacity: 64, reach: 5, every: 8"),
       "groups.full.every = 8 keeps one page in 2, and a reach of 5 tokens needs more than the last one: nothing could "
       "be reused"},
      {group_but("capacity: 64, store: hots"), "no KV store is called 'hots'. Did you mean 'host'?"},
      {with("indx: radix"),
       "t:3:1: an engine knows no 'indx'. Did you mean 'index'?\n  known here: page_size key index"},
      {"page_size: 0\n" + kGroup, "t:1:12: page_size = 0 is outside 1..65536 (tokens a page)"},
      {"page_size: 65537\n" + kGroup, "t:1:12: page_size = 65537 is outside"},
      {"page_size:\n" + kGroup, "t:1:1: page_size = nothing is not a whole number"},
      {"page_size: {}\n" + kGroup, "t:1:12: page_size = a map is not a whole number"},
      {with("segment_pages: -1"), "t:3:16: segment_pages = -1 is outside 0..4294967294"},
      // Groups.
      {"page_size: 4\ngroups:\n", "t:2:1: groups is empty; expected a map"},
      {"page_size: 4\ngroups: {}\n", "t:2:9: groups is empty; expected at least one"},
      {"page_size: 4\ngroups: [full]\n", "t:2:9: groups is a list; expected a map"},
      {"page_size: 4\ngroups: { full: }\n", "t:2:11: groups.full is empty; expected a map"},
      {"page_size: 4\ngroups: { full: lru }\n", "t:2:17: groups.full is 'lru'; expected a map"},
      {"page_size: 4\ngroups: { Full: { capacity: 64, allocator: free_list, eviction: lru } }\n",
       "t:2:11: 'Full' cannot name a group"},
      {"page_size: 4\ngroups: { 1st: { capacity: 64, allocator: free_list, eviction: lru } }\n",
       "'1st' cannot name a group"},
      {"page_size: 4\ngroups: { a.b: { capacity: 64, allocator: free_list, eviction: lru } }\n",
       "'a.b' cannot name a group"},
      {"page_size: 4\ngroups: { '': { capacity: 64, allocator: free_list, eviction: lru } }\n",
       "'' cannot name a group"},
      {"page_size: 4\ngroups: { a: 1, b: 1, c: 1, d: 1, e: 1 }\n",
       "t:2:35: group 'e' is one too many; an engine has at most 4"},
      {group("allocator: free_list, eviction: lru"),
       "t:2:17: groups.full has no 'capacity'; expected a number of tokens, or unlimited"},
      {group("capacity: 8, eviction: lru"),
       "t:2:17: groups.full has no 'allocator'; expected the name of a slot allocator"},
      {group("capacity: 8, allocator: free_list"),
       "t:2:17: groups.full has no 'eviction'; expected the name of an eviction strategy"},
      {group_but("capacity: 3"), "groups.full.capacity = 3 does not hold one page of 4 tokens"},
      {group_but("capacity: 0"), "groups.full.capacity = 0 is outside at least 1"},
      {group_but("capacity: none"),
       "groups.full.capacity = 'none' is not a whole number in decimal digits; expected at least 1 (tokens, or "
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
      {group_but("capacity: 8, policy: lru"), "groups.full knows no 'policy'"},
      {group_but("capacity: 8, reech: path"), "groups.full knows no 'reech'. Did you mean 'reach'?"},
      // Components.
      {with("key: tokn"), "t:3:6: no key codec is called 'tokn'. Did you mean 'token'?\n  known here: bigram token"},
      {with("index: { radx: {} }"), "t:3:10: no prefix index is called 'radx'. Did you mean 'radix'?"},
      {with("store: hsot"), "t:3:8: no KV store is called 'hsot'"},
      {with("store: lru"), "t:3:8: no KV store is called 'lru', that is an eviction strategy\n  known here:"},
      {group("capacity: 8, allocator: lru, eviction: lru"),
       "t:2:43: no slot allocator is called 'lru', that is an eviction strategy"},
      {group("capacity: 8, allocator: free_list, eviction: slur"),
       "t:2:64: no eviction strategy is called 'slur'. Did you mean 'slru'?\n  known here: "},
      {group("capacity: 8, allocator: free_list, eviction: { slru: { protect_after: 0 } }"),
       "t:2:89: slru.protect_after = 0 is outside 1..64 (hits that protect a prefix)"},
      {group("capacity: 8, allocator: free_list, eviction: { slru: { protect: 1 } }"),
       "t:2:74: slru has no option 'protect'"},
      {group("capacity: 8, allocator: free_list, eviction: { slru: 65 }"),
       "t:2:72: slru.protect_after = 65 is outside 1..64"},
      {group("capacity: 8, allocator: free_list, eviction: { lru: 3 }"), "t:2:71: lru takes no options, and has 3"},
      {group("capacity: 8, allocator: free_list, eviction: { lru: [] }"),
       "t:2:71: lru has a list; expected its options as a map"},
      {group("capacity: 8, allocator: free_list, eviction: { lru: {}, lfu: {} }"),
       "t:2:75: groups.full.eviction names 'lfu' beside 'lru'; expected an eviction strategy: a name, or { name: { "
       "options } }"},
      {group("capacity: 8, allocator: free_list, eviction: [lru]"),
       "t:2:64: groups.full.eviction is a list; expected an eviction strategy"},
      {group("capacity: 8, allocator: free_list, eviction: {}"),
       "t:2:64: groups.full.eviction is empty; expected an eviction strategy"},
      {group("capacity: 8, allocator: free_list, eviction: "), "groups.full.eviction is empty"},
      {group("capacity: 8, allocator: free_list, eviction: ~"), "groups.full.eviction is empty"},
      {with("index: { radix: { accounting: sglng } }"), "t:3:31: radix.accounting = 'sglng' is no choice"},
      {with("index:"), "t:3:1: index is empty; expected a prefix index"},
      {with("store: { host: { layers: 0 } }"), "t:3:26: host.layers = 0 is outside 1..4096 (model layers)"},
      {with("store: { host: { streams: { kv: -8 } } }"), "t:3:33: host.streams.kv.row_bytes = -8 is outside"},
      {with("store: { host: { streams: { kv: { dtype: bf17 } } } }"), "host.streams.kv.dtype = 'bf17' is no choice"},
      {with("store: { host: { streams: 8 } }"), "host.streams = 8 is not a map"},
      {with("store: { host: { streams: { a: 1, b: 1, c: 1, d: 1, e: 1 } } }"),
       "t:3:53: host.streams cannot have 'e': a store keeps at most four"},
      {with("store: { none: { layers: 1 } }"), "no KV store is called 'none'"},
      {with("feed: ring"), "t:3:7: no feed is called 'ring'\n  known here: off heap shm file"},
      {with("feed: { ring: {} }"), "t:3:9: no feed is called 'ring'"},
      {with("feed: { off: { x: 1 } }"), "t:3:14: the feed 'off' takes no options"},
      {with("feed: { off: 3 }"), "t:3:14: the feed 'off' takes no options"},
      {with("feed: [off]"), "t:3:7: feed is expected to be one of off, heap, shm and file"},
      {with("feed:"), "t:3:1: feed is expected to be one of off, heap, shm and file"},
      {with("feed: { shm: {} }"), "t:3:9: feed.shm.name is missing; expected what an inspector asks for"},
      {with("feed: { shm: { name: a/b } }"), "t:3:9: feed.shm.name is 'a/b'; expected what an inspector asks for"},
      {with("feed: { shm: { name: a, eventz: 9 } }"), "feed.shm knows no 'eventz'. Did you mean 'events'?"},
      {with("feed: { file: { controls: true } }"), "feed.file knows no 'controls'"},
      {with("feed: { file: {} }"), "t:3:9: feed.file.path is missing; expected the file to record to"},
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
  full: { reach: 0, typo: 1, capacity: x, allocator: nobody, eviction: { slru: { protect_after: 0 } } }
index: none
)");
  const std::string_view kPlaces[] = {"t:1:6: ",  "t:2:33: ", "t:2:46: ", "t:3:12: ", "t:5:18: ",
                                      "t:5:21: ", "t:5:40: ", "t:5:54: ", "t:5:97: ", "t:6:8: "};
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
  CHECK(config.error().text.find("t:1:1: no prefix index is called 'radix', which an engine without 'index' has") !=
        std::string::npos);
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
  std::string folder = (std::filesystem::temp_directory_path() / "canopy_config_XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/engine.yaml";
  std::ofstream(path) << kFull;
  const std::vector<std::string> assignments{"groups.full.eviction=lfu"};
  const auto config = load_engine_config(path, assignments, plugins());
  REQUIRE(config);
  CHECK(config->file == path);
  CHECK(config->groups[0].eviction.name == "lfu");
  const std::vector<std::string> typo{"page_sice=1"};
  CHECK(load_engine_config(path, typo, plugins())
            .error()
            .text.starts_with("--set page_sice: an engine knows no 'page_sice'. Did you mean 'page_size'?"));
  CHECK(load_engine_config(folder + "/none.yaml", {}, plugins()).error().text ==
        folder + "/none.yaml: there is no such file");
  std::filesystem::remove_all(folder);
}

TEST_CASE("engine config: a dump reads back to the same") {
  const std::string rare =
      "page_size: 65536\nindex: null\nstore: { host: { streams: { \"a\\n'\": 3 } } }\n"
      "groups: { w: { reach: 1, every: 131072, capacity: 65536, allocator: free_list, eviction: lfu,\n"
      "               store: { host: { streams: { state: 64 } } } } }\n"
      "insert_at_finish: false\n";
  const std::string told = "page_size: 1\n" + kGroup + "feed: { shm: { name: a.b-c, controls: true, events: 4096 } }\n";
  for (const std::string& yaml : {kFull, "page_size: 1\n" + kGroup, rare, told}) {
    CAPTURE(yaml);
    const EngineConfig first = good(yaml);
    const std::string dump = dump_engine_config(first, plugins());
    CAPTURE(dump);
    const EngineConfig again = good(dump);
    CHECK(dump_engine_config(again, plugins()) == dump);
    CHECK(again.page_size == first.page_size);
    CHECK(again.key.name == first.key.name);
    CHECK(again.index.name == first.index.name);
    CHECK(again.store.name == first.store.name);
    CHECK(again.segment_pages == first.segment_pages);
    CHECK(again.insert_at_finish == first.insert_at_finish);
    REQUIRE(again.groups.size() == first.groups.size());
    for (std::size_t i = 0; i < first.groups.size(); ++i) {
      CHECK(again.groups[i].name == first.groups[i].name);
      CHECK(again.groups[i].reach == first.groups[i].reach);
      CHECK(again.groups[i].every == first.groups[i].every);
      CHECK(again.groups[i].store.name == first.groups[i].store.name);
      CHECK(again.groups[i].capacity == first.groups[i].capacity);
      CHECK(again.groups[i].allocator.name == first.groups[i].allocator.name);
      CHECK(again.groups[i].eviction.name == first.groups[i].eviction.name);
    }
  }
  CHECK(dump_engine_config(good(kFull), plugins()) == R"(page_size: 16
key: bigram
index: { radix: { accounting: sglang, keep_free: 15, prefault: true } }
groups:
  full: { reach: path, capacity: 3000000, allocator: free_list, eviction: lru }
  window: { reach: 4096, capacity: unlimited, allocator: free_list, eviction: { slru: { protect_after: 3 } } }
store: { host: { layers: 2, streams: { k: { row_bytes: 8, heads: 0, head_dim: 0, dtype: bf16 }, "v's": { row_bytes: 0, heads: 2, head_dim: 16, dtype: fp8 } }, populate: false, huge_pages: false, lock: false, share: false, addresses: 17592186044416 } }
feed: { off: {} }
segment_pages: 65536
idle_segments: 0
insert_at_finish: true
)");
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

TEST_CASE("engine config: an engine is composed from C++, with a policy of the program's own") {
  Registry registry;
  registry.scan(own_plugin_folder(), Trust::as_ourselves);
  registry.add(kOwnPlugin, "this test");
  EngineConfig config;
  config.page_size = 4;
  config.groups = {
      {.name = "full", .capacity = 16, .allocator = {"free_list"}, .eviction = {"newest_first", "{ newest: true }"}}};
  auto engine = Engine::create(config, registry);
  REQUIRE_MESSAGE(engine, (engine ? std::string() : engine.error().text));
  // Three prompts of two pages, and room for four pages: the newest of the first two leaves for the third.
  const auto serve = [&](Token first) {
    std::vector<Token> prompt(8);
    std::iota(prompt.begin(), prompt.end(), first);
    RequestSpec arrival;
    arrival.prompt = prompt;
    arrival.min_uncached = 0;
    Request request = (*engine)->begin(arrival);
    const std::uint32_t matched = request.matched();
    REQUIRE(request.reserve(8));
    request.finish(8);
    return matched;
  };
  for (const Token first : {100U, 200U, 300U}) CHECK(serve(first) == 0);
  CHECK(serve(100) == 8);
  CHECK((*engine)->ledger().violations() == 0);
}

TEST_CASE("engine config: what C++ fills in wrongly is refused like a file") {
  const auto why = [](auto change) {
    EngineConfig config;
    config.page_size = 4;
    config.groups = {{.name = "full", .capacity = 64, .allocator = {"free_list"}, .eviction = {"lru"}}};
    change(config);
    const auto engine = Engine::create(config, plugins());
    return engine ? std::string("fine") : engine.error().text;
  };
  using C = EngineConfig&;
  CHECK(why([](C) {}) == "fine");
  CHECK(why([](C c) { c.page_size = 0; }) == "page_size = 0 is outside 1..65536 (tokens a page)");
  CHECK(why([](C c) { c.file = "my.cpp", c.page_size = 65537; }) ==
        "my.cpp: page_size = 65537 is outside 1..65536 (tokens a page)");
  CHECK(why([](C c) { c.groups.clear(); }) == "groups are 0; an engine has 1 to 4");
  CHECK(why([](C c) { c.groups.resize(5, c.groups[0]); }) == "groups are 5; an engine has 1 to 4");
  CHECK(why([](C c) { c.groups.resize(2, c.groups[0]); }) == "groups: 'full' is there twice");
  CHECK(why([](C c) { c.groups[0].name = "one state"; }).starts_with("groups: 'one state' cannot name a group"));
  CHECK(why([](C c) { c.groups[0].reach = 0; }).starts_with("groups.full.reach = 0 is outside 1..4294967294 ("));
  CHECK(why([](C c) { c.groups[0].capacity = 3; }) == "groups.full.capacity = 3 does not hold one page of 4 tokens");
  CHECK(why([](C c) { c.groups[0].start = 65; }) == "groups.full.start = 65 is more than its capacity, 64");
  CHECK(why([](C c) { c.groups[0].every = 8; }).starts_with("groups.full.every: a group that needs the whole path"));
  CHECK(why([](C c) { c.feed.kind = FeedConfig::Kind::shm; }).starts_with("feed.shm.name is missing; expected"));
  CHECK(why([](C c) {
          c.feed.kind = FeedConfig::Kind::heap, c.feed.events = 3;
        }).starts_with("feed.heap.events = 3 is outside 1024..268435456 ("));
  CHECK(why([](C c) {
          c.groups[0].eviction = {"lur"};
        }).starts_with("no eviction strategy is called 'lur'. Did you mean 'lru'?"));
  CHECK(why([](C c) { c.groups[0].eviction = {"slru", "{ protect_after: 0 }", "my policy"}; }) ==
        "my policy: slru:1:18: slru.protect_after = 0 is outside 1..64 (hits that protect a prefix)");
}

TEST_CASE("engine config: every key is described") {
  std::string names;
  for (const OptionHelp& option : describe_engine_config(plugins())) {
    CAPTURE(option.name);
    CHECK(!option.help.empty());
    CHECK(!option.range.empty());
    names += option.name + (option.value.empty() ? "! " : " ");
  }
  CHECK(names ==
        "page_size! key index groups! groups.<name>.reach groups.<name>.every groups.<name>.capacity! "
        "groups.<name>.start groups.<name>.max_per_path groups.<name>.allocator! groups.<name>.eviction! "
        "groups.<name>.store store model model.name! model.revision! model.dtype! model.extra model.rank model.ranks "
        "tiers tiers.host.capacity! tiers.host.eviction tiers.host.write tiers.host.hits "
        "tiers.host.ahead tiers.host.least tiers.host.in_flight tiers.host.bandwidth tiers.host.latency "
        "tiers.host.kv_bytes "
        "tiers.storage.in! tiers.storage.write tiers.storage.ahead tiers.storage.least tiers.storage.in_flight "
        "tiers.storage.budget tiers.storage.keep tiers.storage.bandwidth tiers.storage.latency "
        "tiers.storage.find_within tiers.storage.within tiers.storage.trust_again "
        "tiers.recompute.fixed tiers.recompute.per_token tiers.recompute.per_token_depth tiers.recompute.margin "
        "tiers.recompute.learn tiers.prefetch.policy tiers.prefetch.base tiers.prefetch.per_1k tiers.prefetch.max "
        "tiers.prefetch.share feed "
        "feed.heap.tokens feed.heap.controls feed.heap.events feed.shm.name! feed.shm.tokens feed.shm.controls "
        "feed.shm.events feed.file.path! feed.file.tokens events events.zmq.publish events.zmq.replay events.zmq.topic "
        "events.zmq.dialect events.zmq.hashes events.zmq.seed segment_pages idle_segments insert_at_finish ");
  const auto all = describe_engine_config(plugins());
  CHECK(all[1].range == "bigram or token");
  CHECK(all[1].value == "token");
  CHECK(all[4].range == "path or 1..4294967294");
  CHECK(all[7].value == "the capacity, or 0 if it is unlimited");
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
  CHECK(with("[]", "host").starts_with("t:1:1: an engine is a list"));
}
