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
  std::uint32_t rest = 0;  // of the budget of 24 tokens
  world.serve("a", tokens(500, 13), {{.tokens = 12, .us = 10}}, &rest);
  CHECK(rest == 12);
  world.engine->turn(10);
  request.abort();
  CHECK(world.kept() == 0);
  check_settled(*world.engine);
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
