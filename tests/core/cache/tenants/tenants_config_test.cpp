#include <support/engines.h>

using namespace canopy;
using namespace canopy::test;

namespace {

std::string file_with(const std::string& tenants, const std::string& index = "radix") {
  return "page_size: 4\nindex: " + index +
         "\ngroups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\ntenants: " + tenants +
         "\n";
}

std::string error_of(const std::string& tenants, const std::string& index = "radix") {
  const auto document = parse_yaml(file_with(tenants, index), "test");
  REQUIRE(document);
  const auto config = read_engine_config(*document, plugins());
  if (!config) return config.error().text;
  const auto engine = Engine::create(*config, plugins());
  return engine ? "" : engine.error().text;
}

/// Runs a prompt of `count` tokens of a tenant to its end.
void leave_for(Engine& engine, const char* tenant, Token first, std::uint32_t count) {
  const auto prompt = tokens(first, count);
  RequestSpec spec = arrival(prompt);
  spec.space = engine.intern({.tenant = tenant});
  Request request = engine.begin(spec);
  REQUIRE(request.reserve(count));
  request.finish(count);
}

}  // namespace

TEST_CASE("tenants: promises must fit, and an error names the one that does not") {
  CHECK(error_of("{ a: { floor: 32 }, b: { floor: 32 } }").empty());
  CHECK(error_of("{ a: 32, b: 32, \"*\": { weight: 0.5 } }").empty());
  const auto refuses = [](const std::string& tenants, const std::string& what) {
    const std::string error = error_of(tenants);
    CHECK_MESSAGE(error.find(what) != std::string::npos, error);
  };
  refuses("{ a: { floor: 40 }, b: { pins: 32 } }",
          "tenants: floors and pins promise 72 tokens, and the pool of group 'full' has 64");
  refuses("{ a: { floor: 8, ceiling: 4 } }", "tenants.'a': ceiling = 4 is below its floor, 8");
  refuses("{ a: { pins: 8, ceiling: 4 } }", "what retention keeps must fit below its ceiling, 4");
  refuses("{ a: { weight: 0 } }", "weight");
  refuses("{ a: { ceiling: 9000000000000000000 } }", "expected at most 72057594037927936 tokens");
  refuses("{ a: { flor: 8 } }", "floor");
  refuses("{ a: { together: true } }", "together is for \"*\"");
  refuses("{ \"*\": { floor: 8 } }", "no floor can be given to each of the other tenants");
  refuses("{ \"*\": { pins: 8 } }", "no pins can be given to each of the other tenants");
  refuses("{ \"*\": { eviction: fifo } }", "no eviction can be given to each of the other tenants");
  CHECK(error_of("{ \"*\": { floor: 8, eviction: fifo, together: true } }").empty());
  const std::string error = error_of("{ a: { floor: 8 } }", "null");
  CHECK_MESSAGE(error.find("keeps no tenants apart; expected index: radix") != std::string::npos, error);
}

TEST_CASE("tenants: a configuration reads back as it was written, and without tenants has no word about them") {
  const auto read = [](const std::string& text) {
    const auto document = parse_yaml(text, "test");
    REQUIRE(document);
    const auto config = read_engine_config(*document, plugins());
    REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
    return *config;
  };
  const EngineConfig config =
      read(file_with("{ acme: { floor: 8, weight: 2, ceiling: 32, pins: 4, eviction: fifo } }"));
  const std::string text = dump_engine_config(config, plugins());
  CHECK_MESSAGE(text.find("acme: { floor: 8, weight: 2, ceiling: 32, pins: 4, eviction: fifo") != std::string::npos,
                text);
  CHECK(dump_engine_config(read(text), plugins()) == text);
  CHECK(dump_engine_config(read(kSmall), plugins()).find("tenant") == std::string::npos);
}

TEST_CASE("tenants: floors whose sum wraps are refused") {
  std::string tenants;
  for (int i = 0; i < 256; ++i)
    tenants += fmt::format("{}t{}: {{ floor: {} }}", i ? ", " : "", i, std::uint64_t{1} << 56);
  CHECK(error_of("{ " + tenants + " }").ends_with("floors and pins promise more tokens than 64 bits can count"));
}

TEST_CASE("tenants: shares change while the engine runs") {
  const auto engine = engine_of(file_with("{ a: { floor: 32 } }"));
  const NamespaceId b = engine->intern({.tenant = "b"});
  const auto prompt = tokens(1, 17);
  RequestSpec spec = arrival(prompt);
  spec.space = b;
  {
    Request request = engine->begin(spec);
    REQUIRE(request.reserve(17));
    request.finish(17);
  }
  REQUIRE(engine->tenants().size() == 3);
  CHECK(engine->tenants()[2].name == "b");
  CHECK(engine->tenants()[2].cached == 16);
  CHECK(engine->set_share("b", {.floor = 40}).error().text ==
        "tenant 'b': floor = 40: the floors of all tenants would be 72 tokens, and the pool has 64");
  CHECK(engine->set_share("b", {.pins = 40}).error().text ==
        "tenant 'b': pins = 40: floors and pins of all tenants would promise 72 tokens, and the pool has 64");
  CHECK(engine->set_share("b", {.floor = 8, .ceiling = 4}).error().text ==
        "tenant 'b': ceiling = 4 is below its floor, 8");
  CHECK(engine->set_share("*", {}).error().text == "'*' is no tenant's name");
  constexpr std::uint64_t kMost = std::uint64_t{1} << 56;
  CHECK(engine->set_share("b", {.floor = kMost}).error().text.find("the pool has 64") != std::string::npos);
  CHECK(engine->set_share("b", {.floor = kMost + 1}).error().text.find("expected at most") != std::string::npos);
  const std::uint64_t checks = engine->ledger().checks();
  REQUIRE(engine->set_share("b", {.ceiling = 8}));
  CHECK(engine->ledger().checks() > checks);
  {
    Request request = engine->begin(spec);
    CHECK(request.matched() == 16);
    request.abort();
  }
  CHECK(engine->tenants()[2].cached == 8);
  check_settled(*engine);
  CHECK(engine->set_share("b", {.ceiling = 0}).error().text == "tenant 'b': ceiling = 0 is below its floor, 0");
  CHECK(engine->set_share("b", {.ceiling = 1}));
  CHECK(!engine_of(kSmall)->set_share("a", {}));
}

TEST_CASE("tenants: a pool whose limit has more tokens than can be counted has room for any floor") {
  const auto engine = engine_of(file_with("{ a: { floor: 32 } }"));
  leave_for(*engine, "a", 1, 33);
  engine->resize(0, std::uint64_t{1} << 62);  // pages of 4 tokens: 2^64 tokens, which wrap to 0
  CHECK(engine->pool(0).limit() == kUnlimited);
  CHECK(engine->set_share("b", {.floor = 1'000'000}));
  CHECK(engine->tenants()[1].cached == 32);
  check_settled(*engine);
}

TEST_CASE("tenants: a lower limit lowers the floors at once") {
  const auto engine = engine_of(file_with("{ a: { floor: 48 }, b: { floor: 16 } }"));
  leave_for(*engine, "a", 1, 48);
  engine->resize(0, 12);  // three quarters: floors of 36 and 12
  leave_for(*engine, "b", 100, 8);
  leave_for(*engine, "b", 200, 4);
  auto figures = engine->tenants();
  CHECK(figures[1].below_floor == 0);
  CHECK(figures[1].cached == 36);
  CHECK(figures[2].cached == 12);
  check_settled(*engine);

  // Also where it evicts.
  const auto full = engine_of(file_with("{ a: { floor: 48 }, b: { floor: 16 } }"));
  leave_for(*full, "a", 1, 48);
  leave_for(*full, "b", 100, 16);
  full->resize(0, 12);
  figures = full->tenants();
  CHECK(figures[1].below_floor + figures[2].below_floor == 0);
  CHECK(figures[1].cached == 36);
  CHECK(figures[2].cached == 12);
  check_settled(*full);
}

TEST_CASE("tenants: one at its ceiling loses a page of its own, also where the ceiling is no number of pages") {
  const auto engine = engine_of(file_with("{ a: { ceiling: 10 } }"));
  leave_for(*engine, "b", 100, 56);
  leave_for(*engine, "a", 500, 8);
  REQUIRE(engine->pool(0).free_pages() == 0);
  leave_for(*engine, "a", 600, 4);
  CHECK(engine->tenants()[2].name == "b");
  CHECK(engine->tenants()[2].cached == 56);
  CHECK(engine->tenants()[1].cached == 8);
  check_settled(*engine);
}

TEST_CASE("tenants: others that are together have one share, and one of them may get its own") {
  const auto engine = engine_of(file_with("{ a: { floor: 16 }, \"*\": { floor: 32, together: true } }"));
  leave_for(*engine, "b", 1, 17);
  leave_for(*engine, "c", 100, 17);
  leave_for(*engine, "", 200, 9);
  REQUIRE(engine->tenants().size() == 2);
  CHECK(engine->tenants()[0].name == "*");
  CHECK(engine->tenants()[0].cached == 40);
  leave_for(*engine, "a", 300, 29);  // takes what is free and what "*" has above its floor
  CHECK(engine->tenants()[0].cached == 32);
  REQUIRE(engine->set_share("c", {.floor = 8}));
  const auto figures = engine->tenants();
  REQUIRE(figures.size() == 3);
  CHECK(figures[2].name == "c");
  CHECK(figures[2].cached == 16);
  CHECK(figures[0].cached == 16);
  check_settled(*engine);
}

TEST_CASE("tenants: each loses by its own policy") {
  const auto engine = engine_of(file_with("{ a: { eviction: mru }, b: {} }"));
  const auto leave_for = [&](const char* tenant, Token first) {
    const auto prompt = tokens(first, 8);
    RequestSpec spec = arrival(prompt, 0);
    spec.space = engine->intern({.tenant = tenant});
    Request request = engine->begin(spec);
    const bool fits = request.reserve(8);
    request.finish(fits ? 8 : 0);
    return request.matched();
  };
  for (const Token first : {100U, 200U, 300U, 400U}) leave_for("a", first), leave_for("b", first);
  leave_for("b", 500);  // b has the most after its insert, or a: both have 32; the first named loses
  leave_for("b", 600);
  CHECK(leave_for("a", 100) == 8);  // mru lost the last
  CHECK(leave_for("b", 100) == 0);  // lru lost the first
  check_settled(*engine);
}

TEST_CASE("tenants: a policy that throws costs only its own order, also that of all others") {
  struct Throws final : EvictionStrategy {
    Rank rank(const NodeFacts& node) override {
      if (node.begin == 0 && ++ranked > 4) throw std::runtime_error("no rank");
      return {0, ~node.last_access};  // as mru
    }
    int ranked = 0;
  };
  static constexpr CanopyComponent kOwn[] = {provide<EvictionStrategy, Throws>("throws", "throws at the fifth node")};
  const Registry registry = registry_with(kOwn);
  for (const std::string thrower : {"'*'", "a"}) {
    CAPTURE(thrower);
    const std::string share = thrower == "a" ? "" : ", together: true";
    const auto document =
        parse_yaml(file_with("{ " + thrower + ": { eviction: throws" + share + " }, b: { eviction: mru } }"), "test");
    REQUIRE(document);
    const auto config = read_engine_config(*document, registry);
    REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
    const auto engine = Engine::create(*config, registry);
    REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
    const auto leave_for = [&](const char* tenant, Token first) {
      const auto prompt = tokens(first, 8);
      RequestSpec spec = arrival(prompt, 0);
      spec.space = (*engine)->intern({.tenant = tenant});
      Request request = (*engine)->begin(spec);
      REQUIRE(request.reserve(8));
      request.finish(8);
      return request.matched();
    };
    const char* const tenant = thrower == "a" ? "a" : "";
    for (const Token first : {100U, 200U, 300U, 400U}) leave_for(tenant, first), leave_for("b", first);
    for (const Token first : {500U, 600U}) leave_for(tenant, first);
    CHECK(leave_for(tenant, 100) == 0);  // lru in the place of its policy lost the first
    CHECK(leave_for("b", 100) == 8);
    (*engine)->audit();
    REQUIRE((*engine)->ledger().violations() == 1);
    CHECK((*engine)->ledger().reports()[0] == "eviction strategy 'throws' (this test), rank: it threw: no rank");
  }
}

TEST_CASE("tenants: after a policy threw, a ceiling evicts by lru as well, and not by ranks of both") {
  /// Evicts the newest first, and fails when the test sets it.
  struct Newest final : EvictionStrategy {
    bool fails = false;
    Rank rank(const NodeFacts& node) override {
      if (fails) throw std::runtime_error("no rank");
      return {0, ~node.last_access};
    }
  };
  const auto engine = engine_of(kSmall, {"tenants={ a: { ceiling: 32 } }"});
  const auto newest = std::make_shared<Newest>();
  REQUIRE(engine->use_policy(0, newest, "newest"));
  const NamespaceId space = engine->intern({.tenant = "a"});
  const auto prompt_of = [](Token number) { return tokens(1'000 * number, 8); };
  const auto serve = [&](Token number) {
    const auto prompt = prompt_of(number);
    RequestSpec spec = arrival(prompt, 0);
    spec.space = space;
    Request request = engine->begin(spec);
    REQUIRE(request.reserve(8));
    request.finish(8);
  };
  const auto resident = [&](Token number) {
    const auto prompt = prompt_of(number);
    RequestSpec spec = arrival(prompt, 0);
    spec.space = space;
    return engine->find(spec).length == 8;
  };
  for (const Token number : {1U, 2U, 3U}) serve(number);
  newest->fails = true;
  for (const Token number : {4U, 5U}) serve(number);
  CHECK_FALSE(resident(1));  // the oldest; ranks of both policies say 4
  for (const Token number : {2U, 3U, 4U, 5U}) CHECK(resident(number));
  CHECK(engine->policy(0) == "lru");
  CHECK(engine->doubts().size() == 1);
}
