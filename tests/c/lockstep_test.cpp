/// Random calls of the C interface and of the C++ engine side by side: the same answers and the same digest after each.
#include <canopy/base/random.h>
#include <canopy/c/canopy.h>
#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>
#include <canopy/engine/page_table.h>
#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace canopy;

constexpr std::size_t kOperations = 4000, kMostRequests = 12;

const char* const kEngines[] = {
    // One group with rows.
    "page_size: 4\n"
    "groups: { full: { reach: path, capacity: 400, allocator: free_list, eviction: slru } }\n"
    "store: { host: { layers: 1, streams: { kv: 8 } } }\n",
    // Three groups.
    "page_size: 4\n"
    "groups:\n"
    "  full: { reach: path, capacity: 400, allocator: free_list, eviction: lru }\n"
    "  window: { reach: 16, capacity: 240, allocator: free_list, eviction: lru }\n"
    "  state: { reach: 1, every: 8, capacity: 400, allocator: free_list, eviction: lru }\n",
    // A host tier, and bigrams.
    "page_size: 4\n"
    "key: bigram\n"
    "groups: { full: { reach: path, capacity: 200, allocator: contiguous, eviction: lru } }\n"
    "tiers: { host: { capacity: 600, bandwidth: 1MB/s, latency: 20us } }\n"
    "store: { host: { layers: 1, streams: { kv: 64 } } }\n",
};

canopy_rank rank_by_use(void*, const canopy_node_facts* node) { return {node->last_access, 0}; }

/// The same requests in an engine of C++ and in one of the C interface.
class Pair {
 public:
  Pair(const std::string& yaml, const std::string& c_yaml, canopy_registry* registry, std::uint64_t seed)
      : random_(seed) {
    plugins_.scan(own_plugin_folder(), Trust::as_ourselves);
    const auto document = parse_yaml(yaml, "engine");
    REQUIRE(document);
    const auto config = read_engine_config(*document, plugins_);
    REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
    auto made = Engine::create(*config, plugins_);
    REQUIRE(made);
    cpp_ = std::move(*made);
    canopy_engine_options options{sizeof options, c_yaml.c_str(), nullptr, registry, nullptr, nullptr};
    REQUIRE(canopy_engine_create(&options, &c_) == CANOPY_OK);
    for (const char* tenant : {"a", "b"}) {
      std::uint32_t space = 0;
      REQUIRE(canopy_engine_intern(c_, tenant, nullptr, nullptr, &space) == CANOPY_OK);
      REQUIRE(static_cast<std::uint32_t>(cpp_->intern({tenant, "", ""})) == space);
    }
  }
  ~Pair() {
    for (Both& both : running_) canopy_request_destroy(both.c);
    running_.clear();
    CHECK(canopy_engine_destroy(c_) == CANOPY_OK);
  }
  Pair(const Pair&) = delete;

  void step() {
    const std::uint32_t kind = below(16);
    if (kind < 3 && running_.size() < kMostRequests) begin();
    else if (kind == 3) turn();
    else if (kind == 4 && below(8) == 0) upkeep();
    else if (!running_.empty()) advance(running_[below(static_cast<std::uint32_t>(running_.size()))]);
    same();
  }
  std::uint64_t reused() const { return cpp_->counters().hit_tokens; }
  std::uint64_t no_rooms() const { return no_rooms_; }
  std::uint64_t fetched() const { return cpp_->tiers().counters()[Counter::loaded_tokens_host]; }

 private:
  struct Both {
    Request cpp;
    canopy_request* c = nullptr;
    bool retracted = false;
  };

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_.below(limit)); }

  void begin() {
    std::vector<Token> prompt(1 + below(60));
    const std::uint32_t family = below(4), split = below(static_cast<std::uint32_t>(prompt.size()) + 1);
    for (std::uint32_t i = 0; i < prompt.size(); ++i) prompt[i] = i < split ? 100 * family + i : 1000 + below(3);
    RequestSpec spec;
    spec.prompt = prompt;
    spec.space = NamespaceId{below(3)};
    spec.priority = static_cast<std::int32_t>(below(3));
    spec.min_uncached = below(2);
    spec.chunk = below(2) * 16;
    canopy_request_spec given = CANOPY_REQUEST_SPEC_INIT;
    given.prompt = prompt.data();
    given.prompt_tokens = prompt.size();
    given.space = static_cast<std::uint32_t>(spec.space);
    given.priority = spec.priority;
    given.min_uncached = spec.min_uncached;
    given.chunk = spec.chunk;
    std::int32_t verdict = -1;
    std::array<char, 400> reason{};
    REQUIRE(canopy_engine_admits(c_, &given, &verdict, reason.data(), reason.size()) == CANOPY_OK);
    const Admission answer = cpp_->admits(spec);
    CHECK(verdict == static_cast<std::int32_t>(answer.verdict));
    CHECK(std::string(reason.data()) == answer.reason);
    if (answer.verdict == Admission::Verdict::never) return;
    Fetch fetch = cpp_->tiers().fetch(spec);
    canopy_fetch* fetched = nullptr;
    REQUIRE(canopy_engine_fetch(c_, &given, &fetched) == CANOPY_OK);
    for (std::uint32_t turns = below(4); turns > 0; --turns) turn();
    canopy_fetch_state state{sizeof state, 0, 0, 0, 0, 0, 0, 0};
    REQUIRE(canopy_fetch_look(fetched, 0, &state) == CANOPY_OK);
    CHECK((state.done == fetch.done() && state.ready == fetch.ready() && state.tokens == fetch.tokens() &&
           state.ends_us == fetch.ends_us()));
    Both& both = running_.emplace_back();
    both.cpp = cpp_->begin(spec, std::move(fetch));
    REQUIRE(canopy_engine_begin(c_, &given, fetched, &both.c) == CANOPY_OK);
    canopy_fetch_destroy(fetched);
  }

  void turn() {
    now_us_ += below(2000);
    cpp_->turn(now_us_);
    REQUIRE(canopy_engine_turn(c_, now_us_) == CANOPY_OK);
  }

  void upkeep() {
    const std::uint32_t group = below(static_cast<std::uint32_t>(cpp_->groups()));
    if (below(2)) {
      const std::uint32_t pages = below(20);
      CHECK(canopy_engine_make_free(c_, group, pages) == (cpp_->make_free(group, pages) ? CANOPY_OK : CANOPY_NO_ROOM));
    } else {
      std::uint64_t freed = 0;
      const std::uint32_t space = below(3);
      REQUIRE(canopy_engine_flush(c_, space, &freed) == CANOPY_OK);
      CHECK(freed == cpp_->flush(NamespaceId{space}));
    }
  }

  void advance(Both& both) {
    std::uint32_t answer = 0;
    if (both.retracted) {
      REQUIRE(canopy_request_resume(both.c, &answer) == CANOPY_OK);
      CHECK(both.cpp.resume() == answer);
      both.retracted = false;
      return;
    }
    const auto length = static_cast<std::uint32_t>(both.cpp.tokens().size());
    switch (below(12)) {
      case 0:
        both.cpp.retract();
        REQUIRE(canopy_request_retract(both.c) == CANOPY_OK);
        both.retracted = true;
        return;
      case 1:
        REQUIRE(canopy_request_rematch(both.c, &answer) == CANOPY_OK);
        CHECK(both.cpp.rematch() == answer);
        return;
      case 2:
        both.cpp.abort();
        REQUIRE(canopy_request_abort(both.c) == CANOPY_OK);
        return end(both);
      case 3:
        if (both.cpp.computed() < length) return;
        both.cpp.finish(length);
        REQUIRE(canopy_request_finish(both.c, length) == CANOPY_OK);
        return end(both);
      default:
        return compute(both, length);
    }
  }

  /// Computes a chunk or a token.
  void compute(Both& both, std::uint32_t length) {
    const std::uint32_t computed = both.cpp.computed();
    const std::uint32_t to = computed < length ? computed + 1 + below(length - computed) : length + 1;
    const bool has = both.cpp.reserve(to);
    REQUIRE(canopy_request_reserve(both.c, to, ~std::uint32_t{0}) == (has ? CANOPY_OK : CANOPY_NO_ROOM));
    if (!has) return static_cast<void>(++no_rooms_);
    if (to > length) {
      const Token token = below(5);
      both.cpp.append(token);
      REQUIRE(canopy_request_append(both.c, &token, 1) == CANOPY_OK);
    }
    if (below(2)) {
      std::uint32_t replaced = 0;
      REQUIRE(canopy_request_commit(both.c, to, &replaced) == CANOPY_OK);
      CHECK(both.cpp.commit(to) == replaced);
    } else {
      both.cpp.advance(to);
      REQUIRE(canopy_request_advance(both.c, to) == CANOPY_OK);
    }
    const std::uint32_t group = below(static_cast<std::uint32_t>(cpp_->groups()));
    std::vector<Page> row(64);
    std::size_t pages = 0;
    REQUIRE(canopy_request_row(both.c, group, 0, row.data(), row.size(), &pages) == CANOPY_OK);
    row.resize(pages);
    const std::span<const Page> ours = both.cpp.row(group);
    CHECK(row == std::vector<Page>(ours.begin(), ours.end()));
    table(group);
  }

  /// Compares the page tables of all requests that run.
  void table(std::uint32_t group) {
    std::vector<const Request*> batch;
    std::vector<const canopy_request*> c_batch;
    for (const Both& both : running_)
      if (!both.retracted) batch.push_back(&both.cpp), c_batch.push_back(both.c);
    PageTable table;
    REQUIRE(table.fill(*cpp_, batch, PageTable::Entry::slot, group));
    std::vector<std::int32_t> entries(table.entries().size(), -1);
    std::size_t needed = 0;
    REQUIRE(canopy_engine_page_table(c_, c_batch.data(), c_batch.size(), group, CANOPY_ENTRY_SLOT, entries.data(),
                                     table.width(), &needed) == CANOPY_OK);
    CHECK(needed == table.width());
    CHECK(entries == std::vector<std::int32_t>(table.entries().begin(), table.entries().end()));
  }

  void end(Both& both) {
    canopy_request_destroy(both.c);
    std::swap(both, running_.back());
    running_.pop_back();
  }

  void same() {
    canopy_engine_state state{sizeof state, 0, 0, 0, 0, 0, 0, 0};
    REQUIRE(canopy_engine_look(c_, &state) == CANOPY_OK);
    REQUIRE(state.digest == cpp_->digest());
    REQUIRE(state.violations == 0);
    REQUIRE(cpp_->ledger().violations() == 0);
    CHECK(state.live_requests == cpp_->live_requests());
    for (const char* const counter : {"requests", "tries", "prompt_tokens", "hit_tokens", "finished", "aborted"}) {
      std::uint64_t count = 0;
      REQUIRE(canopy_engine_counter(c_, counter, 0, 0, &count) == CANOPY_OK);
      for_each_counter(cpp_->counters(), [&](const EngineCounterInfo& info, auto own) {
        if (info.name == std::string_view(counter)) CHECK(count == static_cast<std::uint64_t>(own));
      });
    }
    for (const Both& both : running_) {
      canopy_request_state own{sizeof own, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
      REQUIRE(canopy_request_look(both.c, &own) == CANOPY_OK);
      CHECK((own.matched == both.cpp.matched() && own.computed == both.cpp.computed() &&
             own.committed == both.cpp.committed() && own.reserved == both.cpp.reserved() &&
             own.full_length == both.cpp.full_length() && own.id == both.cpp.id() &&
             (own.admitted != 0) == both.cpp.admitted()));
    }
  }

  Registry plugins_;
  std::unique_ptr<Engine> cpp_;
  canopy_engine* c_ = nullptr;
  std::vector<Both> running_;
  Random random_;
  std::uint64_t now_us_ = 0, no_rooms_ = 0;
};

}  // namespace

TEST_CASE("random calls over the C interface decide as in C++") {
  for (const char* yaml : kEngines) {
    CAPTURE(yaml);
    std::uint64_t reused = 0, no_rooms = 0, fetched = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      Pair pair(yaml, yaml, nullptr, seed);
      for (std::size_t i = 0; i < kOperations; ++i) pair.step();
      reused += pair.reused(), no_rooms += pair.no_rooms(), fetched += pair.fetched();
    }
    CHECK(reused > 1000);
    CHECK(no_rooms > 0);
    if (std::string(yaml).find("tiers") != std::string::npos) CHECK(fetched > 0);
  }
}

TEST_CASE("a policy of C functions decides as the same policy in C++") {
  canopy_policy policy{};
  policy.size = sizeof policy;
  policy.name = "by_use";
  policy.summary = "the least recently used node is evicted first";
  policy.rank = rank_by_use;
  canopy_registry* registry = nullptr;
  REQUIRE(canopy_registry_create(nullptr, &registry) == CANOPY_OK);
  REQUIRE(canopy_registry_add_policy(registry, &policy) == CANOPY_OK);
  const std::string yaml =
      "page_size: 4\ngroups: { full: { reach: path, capacity: 200, allocator: free_list, eviction: ";
  {
    Pair pair(yaml + "lru } }", yaml + "by_use } }", registry, 7);
    for (std::size_t i = 0; i < kOperations; ++i) pair.step();
    CHECK(pair.reused() > 500);
  }
  canopy_registry_destroy(registry);
}
