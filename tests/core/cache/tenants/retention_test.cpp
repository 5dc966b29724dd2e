#include <canopy/base/random.h>
#include <support/engines.h>

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr const char* kFile = R"(
page_size: 4
index: radix
groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }
tenants: { a: { pins: 24 }, b: { weight: 1000 } }
)";

struct World {
  std::unique_ptr<Engine> engine = engine_of(kFile);
  /// Runs a prompt of a tenant to its end, and returns what it found. `kept`: what was promised.
  std::uint32_t serve(const char* tenant, const std::vector<Token>& prompt, std::vector<Retention> retention = {},
                      std::uint32_t* kept = nullptr) {
    RequestSpec spec = arrival(prompt);
    spec.space = engine->intern({.tenant = tenant});
    spec.retention = retention;
    Request request = engine->begin(spec);
    if (kept) *kept = request.retained();
    REQUIRE(request.reserve(static_cast<std::uint32_t>(prompt.size())));
    request.finish(static_cast<std::uint32_t>(prompt.size()));
    return request.matched();
  }
  void flood() {
    for (Token first = 10'000; first < 20'000; first += 1'000) serve("b", tokens(first, 33));
  }
  std::uint64_t kept() { return engine->tenants()[1].kept; }
};

}  // namespace

TEST_CASE("retention: a prefix stays through a flood for the promised time, and no longer") {
  World world;
  world.engine->turn(1'000);
  std::uint32_t kept = 0;
  world.serve("a", tokens(1, 25), {{.tokens = 18, .us = 5'000}}, &kept);
  CHECK(kept == 16);
  CHECK(world.kept() == 16);
  CHECK(world.engine->tenants()[1].locked == 16);
  world.flood();
  CHECK(world.serve("a", tokens(1, 25)) == 16);
  world.engine->turn(5'999);
  CHECK(world.kept() == 16);
  world.engine->turn(6'000);
  CHECK(world.kept() == 0);
  world.flood();
  CHECK(world.serve("a", tokens(1, 25)) == 0);
  check_settled(*world.engine);
}

TEST_CASE("retention: what exceeds the budget is refused at once, and a shared path is charged once") {
  World world;
  std::uint32_t kept = 0;
  world.serve("a", tokens(1, 33), {{.tokens = 32, .us = 10}}, &kept);
  CHECK(kept == 0);
  CHECK(world.engine->tenants()[1].refused_pins == 32);
  auto other = tokens(1, 16);
  other.resize(21, 7);
  world.serve("a", tokens(1, 17), {{.tokens = 16, .us = 10}}, &kept);
  CHECK(kept == 16);
  world.serve("a", other, {{.tokens = 20, .us = 10}}, &kept);  // 4 more
  CHECK(kept == 20);
  CHECK(world.kept() == 20);
  world.serve("a", tokens(500, 9), {{.tokens = 8, .us = 10}}, &kept);
  CHECK(kept == 0);
  world.serve("a", tokens(500, 9), {{.tokens = 4, .us = 10}}, &kept);
  CHECK(kept == 4);
  CHECK(world.kept() == 24);
  world.serve("b", tokens(1, 9), {{.tokens = 8, .us = 10}}, &kept);  // no budget
  CHECK(kept == 0);
  world.engine->turn(10);
  CHECK(world.kept() == 0);
  check_settled(*world.engine);
}

TEST_CASE("retention: each range has its own time, a longer one stays, and policies see the highest priority") {
  World world;
  std::uint32_t kept = 0;
  world.serve(
      "a", tokens(1, 33),
      {{.tokens = 32, .us = 9, .priority = 1}, {.tokens = 8, .us = 20, .priority = 5}, {.tokens = 16, .us = 10}},
      &kept);
  CHECK(kept == 16);
  CHECK(world.kept() == 16);
  world.engine->turn(10);
  CHECK(world.kept() == 8);
  world.serve("a", tokens(1, 33), {{.tokens = 8, .us = 1}});  // does not shorten it
  world.engine->turn(19);
  CHECK(world.kept() == 8);
  world.engine->turn(20);
  CHECK(world.kept() == 0);
  struct Highest final : NodeVisitor {
    std::int32_t priority = 0;
    void node(const NodeView& node) override { priority = std::max(priority, node.facts.priority); }
  } highest;
  world.engine->index().visit(highest);
  CHECK(highest.priority == 5);
  check_settled(*world.engine);
}

TEST_CASE("retention: a promise counts while its request runs, and ends with an abort or a retraction") {
  World world;
  const auto prompt = tokens(1, 25), other = tokens(100, 9);
  const std::vector<Retention> retention{{.tokens = 24, .us = 10}}, small{{.tokens = 8, .us = 10}};
  RequestSpec spec = arrival(prompt);
  spec.space = world.engine->intern({.tenant = "a"});
  spec.retention = retention;
  for (const bool retracts : {false, true}) {
    Request request = world.engine->begin(spec);
    CHECK(request.retained() == 24);
    RequestSpec second = arrival(other);
    second.space = spec.space;
    second.retention = small;
    Request refused = world.engine->begin(second);
    CHECK(refused.retained() == 0);
    refused.abort();
    if (retracts) {
      request.retract();
      CHECK(request.retained() == 0);
      request.resume();
      CHECK(request.retained() == 0);
    }
    request.abort();
  }
  CHECK(world.kept() == 0);
  world.serve("a", prompt, {{.tokens = 24, .us = 10}});
  CHECK(world.kept() == 24);
  world.serve("a", prompt, {{.tokens = 24, .us = 30}});  // prolongs it
  world.engine->turn(20);
  CHECK(world.kept() == 24);
  CHECK(world.engine->flush(spec.space) == 24);
  CHECK(world.kept() == 0);
  check_settled(*world.engine);
}

TEST_CASE("retention: a wish without a length keeps nothing, whatever the size of a page") {
  const auto engine = engine_of(kFile, {"page_size=1"});
  const auto prompt = tokens(1, 9);
  const std::vector<Retention> retention{{.us = 10}};
  RequestSpec spec = arrival(prompt);
  spec.space = engine->intern({.tenant = "a"});
  spec.retention = retention;
  Request request = engine->begin(spec);
  CHECK(request.retained() == 0);
  request.abort();
}

TEST_CASE("retention: a length that is no boundary of all groups is kept up to the boundary before") {
  World world{engine_of(kFile, {"groups.state.reach=1", "groups.state.every=8", "groups.state.capacity=64",
                                "groups.state.allocator=free_list", "groups.state.eviction=lru"})};
  std::uint32_t kept = 0;
  world.serve("a", tokens(1, 33), {{.tokens = 7, .us = 10}}, &kept);
  CHECK(kept == 0);
  world.serve("a", tokens(1, 33), {{.tokens = 12, .us = 10}}, &kept);
  CHECK(kept == 8);
  CHECK(world.kept() == 8);
  world.flood();
  CHECK(world.serve("a", tokens(1, 33)) == 8);
  world.engine->turn(10);
  CHECK(world.kept() == 0);
  check_settled(*world.engine);
}

TEST_CASE("retention: of pairs of tokens a length has one less") {
  World world{engine_of(kFile, {"key=bigram"})};
  std::uint32_t kept = 0;
  world.serve("a", tokens(1, 33), {{.tokens = 16, .us = 10}}, &kept);
  CHECK(kept == 12);
  CHECK(world.kept() == 12);
  world.serve("a", tokens(100, 5), {{.tokens = 5, .us = 10}}, &kept);
  CHECK(kept == 4);
  CHECK(world.kept() == 16);
}

TEST_CASE("retention: what is kept counts where a request is admitted") {
  World world;
  world.serve("a", tokens(1, 25), {{.tokens = 24, .us = 10}});
  REQUIRE(world.kept() == 24);
  const auto fits = tokens(500, 40), more = tokens(500, 44);
  CHECK(world.engine->admits(arrival(fits)).verdict == Admission::Verdict::now);
  CHECK(world.engine->admits(arrival(more)).verdict != Admission::Verdict::now);
  world.engine->turn(10);
  CHECK(world.engine->admits(arrival(more)).verdict == Admission::Verdict::now);
  check_settled(*world.engine);
}

TEST_CASE("retention: the part that is resident is kept from the begin of the request on") {
  World world;
  const auto prompt = tokens(1, 25);
  world.serve("a", prompt);
  const std::vector<Retention> retention{{.tokens = 14, .us = 10}};
  RequestSpec spec = arrival(prompt);
  spec.space = world.engine->intern({.tenant = "a"});
  spec.retention = retention;
  Request request = world.engine->begin(spec);
  CHECK(world.kept() == 12);
  std::uint32_t rest = 0;  // rest of the budget of 24 tokens
  world.serve("a", tokens(500, 13), {{.tokens = 12, .us = 10}}, &rest);
  CHECK(rest == 12);
  world.engine->turn(10);
  request.abort();
  CHECK(world.kept() == 0);
  check_settled(*world.engine);
}

namespace {

/// Runs a prompt of tenant a in chunks, with a promise of 32 tokens, and commits each, or all at its end. Returns what
/// is left of the promise then.
std::uint32_t serve_in_chunks(Engine& engine, const std::vector<Token>& prompt, std::uint32_t chunk,
                              bool commits = true) {
  const std::vector<Retention> retention{{.tokens = 32, .us = 1'000}};
  RequestSpec spec = arrival(prompt);
  spec.space = engine.intern({.tenant = "a"});
  spec.retention = retention;
  spec.chunk = chunk;
  REQUIRE(engine.admits(spec).verdict == Admission::Verdict::now);
  Request request = engine.begin(spec);
  CHECK(request.retained() == 32);
  const auto size = static_cast<std::uint32_t>(prompt.size());
  for (std::uint32_t done = 0; done < size;) {
    done = std::min(done + chunk, size);
    REQUIRE(request.reserve(size, done));
    if (commits) request.commit(done);
    else request.advance(done);
  }
  request.finish(size);
  return request.retained();
}

/// Leaves the first 32 tokens of a prompt in the cache.
void leave_start(Engine& engine, const std::vector<Token>& prompt) {
  const std::vector<Token> start(prompt.begin(), prompt.begin() + 33);
  RequestSpec spec = arrival(start);
  spec.space = engine.intern({.tenant = "a"});
  Request request = engine.begin(spec);
  for (const std::uint32_t done : {16U, 32U, 33U}) {
    REQUIRE(request.reserve(33, done));
    request.commit(done);
  }
  request.finish(33);
}

std::unique_ptr<Engine> windowed(std::uint32_t window) {
  return engine_of(kFile, {"groups.full.capacity=512", "tenants.a.pins=64", "groups.window.reach=8",
                           "groups.window.capacity=" + std::to_string(window), "groups.window.allocator=free_list",
                           "groups.window.eviction=lru"});
}

/// Begins a request of tenant a whose first tokens are to stay for 1,000 us after its end.
Request begin_keeping(Engine& engine, const std::vector<Token>& prompt, std::uint32_t keeps) {
  const Retention wanted{keeps, 1'000};
  RequestSpec spec = arrival(prompt);
  spec.space = engine.intern({.tenant = "a"});
  spec.retention = {&wanted, 1};
  return engine.begin(spec);
}

}  // namespace

TEST_CASE("retention: the window at the end of a promise stays though the request's own window moves on") {
  for (const std::uint32_t window : {40U, 64U, 512U})
    for (const std::size_t length : {65U, 129U, 257U}) {
      CAPTURE(window);
      CAPTURE(length);
      const auto engine = windowed(window);
      CHECK(serve_in_chunks(*engine, tokens(1, length), 16) == 32);
      CHECK(engine->tenants()[1].locked == 32);
      RequestSpec again = arrival(tokens(1, 33));
      const auto prompt = tokens(1, 33);
      again.prompt = prompt;
      again.space = engine->intern({.tenant = "a"});
      CHECK(engine->begin(again).matched() == 32);
      engine->turn(2'000);
      check_settled(*engine);
    }
}

TEST_CASE("retention: a window that is gone when its tokens are committed takes the promise back, and it is counted") {
  const auto engine = windowed(40);
  CHECK(serve_in_chunks(*engine, tokens(1, 65), 16, false) == 0);
  CHECK(engine->tenants()[1].refused_pins == 32);
  CHECK(engine->tenants()[1].locked == 0);
  engine->turn(2'000);
  check_settled(*engine);
}

TEST_CASE("retention: a request that ends before its promise, where the window has left, keeps nothing and says so") {
  const auto engine = windowed(512);
  const auto prompt = tokens(1, 65);
  Request request = begin_keeping(*engine, prompt, 32);
  REQUIRE(request.reserve(65));
  request.advance(65);
  request.commit(16);
  CHECK(request.retained() == 32);
  request.finish(16);
  CHECK(request.retained() == 0);
  CHECK(engine->tenants()[1].locked == 0);
  CHECK(engine->tenants()[1].refused_pins == 32);
  check_settled(*engine);
}

TEST_CASE("retention: a match that ends beyond a promise whose window has left takes the promise back") {
  const auto engine = windowed(40);
  const auto prompt = tokens(1, 65);
  const Retention wanted{32, 1'000};
  RequestSpec spec = arrival(prompt);
  spec.space = engine->intern({.tenant = "a"});
  Request first = engine->begin(spec);
  for (std::uint32_t done = 16; done <= 64; done += 16) {
    REQUIRE(first.reserve(64, done));
    first.commit(done);
  }
  engine->make_free(1, 10);
  spec.retention = {&wanted, 1};
  {
    const Request tried = engine->begin(spec);
    CHECK(tried.retained() == 0);
  }
  CHECK(engine->tenants()[1].refused_pins == 0);  // it counts with the request
  Request second = engine->begin(spec);
  CHECK(second.matched() == 64);
  CHECK(second.retained() == 0);
  REQUIRE(second.reserve(65, 65));
  CHECK(engine->tenants()[1].refused_pins == 32);
}

TEST_CASE("retention: a request that finds room only without the window that it keeps goes on without it") {
  const auto engine = windowed(24);  // a window, a chunk, and no page more
  CHECK(serve_in_chunks(*engine, tokens(1, 129), 16) == 0);
  CHECK(engine->tenants()[1].refused_pins == 32);
  CHECK(engine->tenants()[1].locked == 0);
  check_settled(*engine);
}

TEST_CASE("retention: a rematch that passes a promise keeps the window at its end") {
  const auto engine = windowed(64);
  const auto prompt = tokens(1, 65);
  Request request = begin_keeping(*engine, prompt, 32);
  leave_start(*engine, prompt);
  CHECK(request.rematch() == 32);
  REQUIRE(request.reserve(65));
  request.advance(65);  // its own window moves on
  engine->make_free(1, 64 / 4);
  request.finish(65);
  CHECK(request.retained() == 32);
  CHECK(engine->tenants()[1].locked == 32);
  engine->turn(2'000);
  check_settled(*engine);
}

TEST_CASE("retention: a request that has to wait for pages that its promise does not hold keeps the promise") {
  const auto engine =
      engine_of(kFile, {"groups.full.capacity=64", "groups.window.reach=8", "groups.window.capacity=512",
                        "groups.window.allocator=free_list", "groups.window.eviction=lru"});
  const auto prompt = tokens(1, 33), other = tokens(900, 28);
  Request request = begin_keeping(*engine, prompt, 24);
  REQUIRE(request.reserve(33));
  request.commit(33);
  Request beside = engine->begin(arrival(other));
  REQUIRE(beside.reserve(28));
  for (Token more = 50; more < 54; ++more) request.append(more);
  CHECK_FALSE(request.reserve(37));  // the pool of whole paths has no page
  CHECK(request.retained() == 24);
  CHECK(engine->tenants()[1].refused_pins == 0);
  beside.abort();
  REQUIRE(request.reserve(37));
  request.finish(37);
  CHECK(engine->tenants()[1].locked == 24);
  engine->turn(2'000);
  check_settled(*engine);
}

TEST_CASE("retention: a request that finds room only without the window of what it found goes on without it") {
  const auto engine = windowed(24);
  const auto prompt = tokens(1, 129);
  leave_start(*engine, prompt);
  CHECK(serve_in_chunks(*engine, prompt, 16) == 0);
  CHECK(engine->tenants()[1].refused_pins == 32);
  CHECK(engine->tenants()[1].kept == 0);
  check_settled(*engine);
}

TEST_CASE("retention: a promise that is taken back is credited once, to the tenant that was charged") {
  const auto engine = engine_of(
      kFile, {"groups.full.capacity=512", "tenants={ \"*\": { together: true, pins: 24 } }", "groups.window.reach=8",
              "groups.window.capacity=40", "groups.window.allocator=free_list", "groups.window.eviction=lru"});
  const auto prompt = tokens(1, 65), other = tokens(500, 25);
  RequestSpec spec = arrival(prompt);
  spec.space = engine->intern({.tenant = "b"});
  const Retention wanted{24, 100}, some{8, 100};
  spec.retention = {&wanted, 1};
  {
    Request request = engine->begin(spec);
    REQUIRE(request.retained() == 24);
    for (std::uint32_t done = 16; done <= 64; done += 16) {
      REQUIRE(request.reserve(65, done));
      request.advance(done);
    }
    request.commit(64);
    REQUIRE(request.retained() == 0);
    REQUIRE(engine->set_share("b", {.pins = 8}));
  }
  spec = arrival(other);
  spec.space = engine->intern({.tenant = "c"});
  spec.retention = {&some, 1};
  CHECK(engine->begin(spec).retained() == 8);
}

TEST_CASE("retention: what a request was promised and lost may be promised to others while it runs") {
  const auto engine = windowed(40);  // pins: 64 tokens
  const auto prompt = tokens(1, 65), other = tokens(500, 65);
  const Retention wanted{32, 100}, all{64, 100};
  RequestSpec spec = arrival(prompt);
  spec.space = engine->intern({.tenant = "a"});
  spec.retention = {&wanted, 1};
  Request request = engine->begin(spec);
  REQUIRE(request.retained() == 32);
  const auto another = [&] {
    RequestSpec second = spec;
    second.prompt = other;
    second.retention = {&all, 1};
    return engine->begin(second).retained();
  };
  CHECK(another() == 0);
  for (std::uint32_t done = 16; done <= 64; done += 16) {
    REQUIRE(request.reserve(65, done));
    request.advance(done);
  }
  request.commit(64);  // the window at 32 has left before
  REQUIRE(request.retained() == 0);
  CHECK(another() == 64);
}

TEST_CASE("retention: of two promises the one that is left is charged whole when the other is taken back") {
  const auto engine = windowed(24);
  const auto prompt = tokens(1, 129), other = tokens(500, 65);
  leave_start(*engine, prompt);
  const std::vector<Retention> wanted{{32, 100}, {64, 100}};
  RequestSpec spec = arrival(prompt);
  spec.space = engine->intern({.tenant = "a"});
  spec.chunk = 16;
  spec.retention = wanted;
  Request request = engine->begin(spec);
  REQUIRE(request.retained() == 64);
  REQUIRE(engine->tenants()[1].kept == 32);
  REQUIRE(request.reserve(129, 48));
  request.commit(48);
  REQUIRE(request.reserve(129, 64));
  REQUIRE(engine->tenants()[1].kept == 0);  // the window of what it found had to go
  REQUIRE(request.retained() == 64);
  RequestSpec second = spec;
  second.prompt = other;
  CHECK(engine->begin(second).retained() == 0);  // its 64 tokens are promised
}

TEST_CASE("retention: a tenant of the others that gets a share of its own takes its charges along") {
  const auto engine = engine_of(kFile, {"tenants={ \"*\": { together: true, pins: 24 } }"});
  const auto prompt = tokens(1, 25), second = tokens(500, 25);
  const std::vector<Retention> retention{{.tokens = 24, .us = 100}};
  const auto begin = [&](const char* tenant, const std::vector<Token>& tokens) {
    RequestSpec spec = arrival(tokens);
    spec.space = engine->intern({.tenant = tenant});
    spec.retention = retention;
    return engine->begin(spec);
  };
  const auto finish = [&](Request request) {
    REQUIRE(request.reserve(25));
    request.finish(25);
  };
  const auto use = [&](const std::string& tenant) {
    for (const TenantUse& one : engine->tenants())
      if (one.name == tenant) return one;
    return TenantUse{};
  };
  engine->turn(1);
  SUBCASE("what is kept") {
    finish(begin("b", prompt));
    REQUIRE(use("*").kept == 24);
    REQUIRE(engine->set_share("b", {.pins = 8}));
  }
  SUBCASE("what is promised") {
    Request request = begin("b", prompt);
    for (int more = 0; more < 6; ++more) REQUIRE(engine->set_share("t" + std::to_string(more), {}));
    REQUIRE(engine->set_share("b", {.pins = 8}));
    CHECK(begin("c", second).retained() == 24);  // the others have their budget back
    finish(std::move(request));
  }
  SUBCASE("what is kept for a running request") {
    finish(begin("b", prompt));
    const Request request = begin("b", prompt);
    REQUIRE(engine->set_share("b", {.pins = 8}));
    CHECK(use("b").kept == 24);  // both retentions share it
  }
  CHECK(use("*").kept == 0);
  CHECK(use("b").kept == 24);
  CHECK(use("b").locked == 24);
  CHECK(begin("b", second).retained() == 0);
  engine->turn(1'000);
  CHECK(use("b").kept == 0);
  CHECK(begin("c", second).retained() == 24);
  check_settled(*engine);
}

TEST_CASE("retention: a policy sees one priority of a request, the highest that its retention asks for") {
  struct Seen final : EvictionStrategy {
    Rank rank(const NodeFacts& node) override { return {0, node.last_access}; }
    void arrived(const RequestFacts& request) override { priorities.push_back(request.priority); }
    void ended(const RequestFacts& request, Path&) override { priorities.push_back(request.priority); }
    std::vector<std::int32_t> priorities;
  };
  World world;
  const auto seen = std::make_shared<Seen>();
  REQUIRE(world.engine->use_policy(0, seen, "seen"));
  world.serve("a", tokens(1, 25), {{.tokens = 24, .us = 10, .priority = 5}, {.tokens = 8, .us = 1, .priority = 2}});
  CHECK(seen->priorities == std::vector<std::int32_t>{5, 5});
}

TEST_CASE("retention: random requests never exceed the budget, and all pages come back") {
  Random random(7);
  for (int round = 0; round < 20; ++round) {
    World world;
    std::vector<Request> running;
    std::uint64_t now = 0;
    for (int i = 0; i < 300; ++i) {
      const auto kind = random.below(4);
      if (kind < 2 && running.size() < 3) {
        auto prompt = tokens(1 + random.below(3) * 100, 5 + random.below(20));
        if (random.below(2)) prompt.back() = 5000 + random.below(3);
        const std::vector<Retention> retention{{.tokens = random.below(30), .us = random.below(20)},
                                               {.tokens = random.below(30), .us = random.below(20), .priority = 1}};
        RequestSpec spec = arrival(prompt);
        spec.space = world.engine->intern({.tenant = "a"});
        spec.retention = retention;
        Request request = world.engine->begin(spec);
        if (request.reserve(static_cast<std::uint32_t>(prompt.size()))) running.push_back(std::move(request));
        else request.abort();
      } else if (!running.empty() && kind == 2) {
        Request request = std::move(running.back());
        running.pop_back();
        if (random.below(4) == 0) request.abort();
        else request.finish(static_cast<std::uint32_t>(request.tokens().size()));
      } else {
        world.engine->turn(now += random.below(6));
      }
      REQUIRE(world.kept() <= 24);
      REQUIRE(world.kept() <= world.engine->tenants()[1].locked);
    }
    running.clear();
    world.engine->turn(now + 100);
    CHECK(world.kept() == 0);
    check_settled(*world.engine);
  }
}
