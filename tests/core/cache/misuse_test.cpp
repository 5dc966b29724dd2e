/// Calls that break a REQUIRES of Engine and Request: each changes nothing and becomes a violation with a sentence.
#include <canopy/engine/page_table.h>
#include <support/engines.h>

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>

using namespace canopy;
using namespace canopy::test;

namespace {

/// One layer's rows for `count` tokens of the small engine: streams of 8 and 12 bytes.
struct SomeRows {
  explicit SomeRows(std::size_t count) : k(count * 8), v(count * 12) { rows.streams = {k.data(), v.data()}; }
  std::vector<std::byte> k, v;
  Rows rows;
};

/// Expects that one misuse left exactly one new sentence in the ledger, which contains `words`. The engine goes on, and
/// every page has its owner.
void check_violation(Engine& engine, std::uint64_t violations, const std::string& words) {
  REQUIRE(engine.ledger().violations() == violations + 1);
  const std::string& sentence = engine.ledger().reports().back();
  CHECK_MESSAGE(sentence.find(words) != std::string::npos, sentence);
  engine.audit();
  CHECK(engine.ledger().violations() == violations + 1);
}

/// An engine in which one request of 16 tokens has committed 8 and reserved all.
struct Half {
  std::unique_ptr<Engine> engine = engine_of(kSmall);
  Request request = engine->begin(arrival(tokens(1, 16)));
  std::uint64_t digest = 0;

  Half() {
    REQUIRE(request.reserve(16));
    request.commit(8);
    digest = engine->digest();
  }
  void violates(const std::string& words) {
    check_violation(*engine, 0, words);
    CHECK(engine->digest() == digest);
  }
};

}  // namespace

TEST_CASE("a request has at most 2^31 tokens, whatever is reserved or appended") {
  const auto engine = engine_of(kSmall, {"page_size=65536", "groups.full.capacity=unlimited", "store=none"});
  Request request = engine->begin(arrival(tokens(1, 16)));
  const std::vector<Token> one(1);
  CHECK_FALSE(request.reserve(~std::uint32_t{0}));
  check_violation(*engine, 0, "Request::reserve of 4294967295 tokens: a request has at most 2147483648");
  CHECK(request.reserved() == 0);
  request.append({one.data(), std::size_t{1} << 31});  // it is refused before it is read
  check_violation(*engine, 1, "Request::append of 2147483648 tokens to 16: a request has at most 2147483648");
  CHECK(request.tokens().size() == 16);
}

TEST_CASE("a namespace that was never interned is not flushed, with a storage or without") {
  for (const char* const tiers :
       {"",
        "tiers: { host: { capacity: 64 }, storage: { in: { sim_storage: { capacity: 1MiB } } } }\n"
        "model: { name: m, revision: r, dtype: bf16 }\n"}) {
    const auto engine = engine_of(std::string(kSmall) + tiers);
    leave(*engine, tokens(1, 17));
    CHECK(engine->flush(NamespaceId{1'000'000}) == 0);
    check_violation(*engine, 0, "Engine::flush of namespace 1000000, which was never interned");
    CHECK(engine->index().sizes(0).evictable == 16);
  }
}

TEST_CASE("rows are not written where the index owns the pages and not beyond the pages a request has") {
  SomeRows rows(64);
  SUBCASE("shared pages") {
    Half half;
    half.request.write(0, 4, 8, rows.rows);
    half.violates("tokens before 8 lie in pages of the index");
  }
  SUBCASE("beyond the row") {
    Half half;
    half.request.write(0, 12, 8, rows.rows);
    half.violates("it has no page for token 16");
  }
  SUBCASE("a sum that wraps") {
    Half half;
    half.request.write(0, 12, ~std::uint32_t{0} - 4, rows.rows);
    half.violates("it has no page for token 16");
  }
  SUBCASE("a layer that is not there") {
    Half half;
    half.request.write(2, 8, 4, rows.rows);
    half.violates("there are 2 layers");
  }
  SUBCASE("a group that is not there") {
    Half half;
    half.request.read(0, 0, 4, rows.rows, 1);
    half.violates("there are 1 groups");
  }
  SUBCASE("reading what was not reserved") {
    Half half;
    half.request.read(1, 16, 1, rows.rows);
    half.violates("it has no page for token 16");
  }
}

TEST_CASE("without a store no row is written") {
  const auto engine = engine_of(kSmall, {"store=none"});
  Request request = engine->begin(arrival(tokens(1, 8)));
  REQUIRE(request.reserve(8));
  SomeRows rows(8);
  request.write(0, 0, 8, rows.rows);
  check_violation(*engine, 0, "the group has no store");
}

TEST_CASE("more tokens than exist or have pages are not computed") {
  SUBCASE("advance") {
    Half half;
    half.request.advance(17);
    half.violates("Request::advance of 17 tokens, but it has 16, and pages for 16 of them");
    CHECK(half.request.computed() == 8);
  }
  SUBCASE("commit") {
    Half half;
    CHECK(half.request.commit(500) == 0);
    half.violates("Request::commit of 500 tokens");
    CHECK(half.request.committed() == 8);
  }
  SUBCASE("finish ends the request all the same") {
    Half half;
    half.request.finish(500);
    CHECK(half.request.ended());
    check_violation(*half.engine, 0, "Request::finish of 500 tokens");
    CHECK(half.engine->live_requests() == 0);
    CHECK(half.engine->index().sizes(0).evictable == 8);  // the tokens committed before
  }
  SUBCASE("tokens with no page") {
    const auto engine = engine_of(kSmall);
    Request request = engine->begin(arrival(tokens(1, 16)));
    REQUIRE(request.reserve(4));
    request.finish(16);
    check_violation(*engine, 0, "it has 16, and pages for 4 of them");
  }
}

TEST_CASE("a namespace that was never interned serves no request") {
  const auto engine = engine_of(kSmall);
  const auto prompt = tokens(1, 16);
  RequestSpec spec = arrival(prompt);
  spec.space = static_cast<NamespaceId>(7);
  const Admission admission = engine->admits(spec);
  CHECK(admission.verdict == Admission::Verdict::never);
  CHECK(admission.reason.find("namespace 7 was never interned") != std::string::npos);
  Request request = engine->begin(spec);
  CHECK(request.ended());
  CHECK_FALSE(request.reserve(16));
  check_violation(*engine, 0, "Engine::begin: namespace 7 was never interned");
  CHECK(engine->name_of(spec.space) == "(unknown)");
  CHECK(engine->counters().requests == 0);
}

TEST_CASE("a request that has ended does nothing") {
  using Call = std::function<void(Request&)>;
  SomeRows rows(16);
  const std::pair<const char*, Call> calls[] = {
      {"append", [](Request& r) { r.append(1); }},
      {"reserve", [](Request& r) { CHECK_FALSE(r.reserve(32)); }},
      {"advance", [](Request& r) { r.advance(8); }},
      {"commit", [](Request& r) { CHECK(r.commit(8) == 0); }},
      {"finish", [](Request& r) { r.finish(8); }},
      {"retract", [](Request& r) { r.retract(); }},
      {"resume", [](Request& r) { CHECK(r.resume() == 0); }},
      {"write", [&](Request& r) { r.write(0, 8, 4, rows.rows); }},
      {"read", [&](Request& r) { r.read(0, 8, 4, rows.rows); }},
      {"row", [](Request& r) { CHECK(r.row().empty()); }},
      {"first_page", [](Request& r) { CHECK(r.first_page() == 0); }},
  };
  for (const auto& [name, call] : calls) {
    CAPTURE(name);
    Half half;
    half.request.finish(12);
    half.digest = half.engine->digest();
    CHECK(half.request.tokens().size() == 16);
    CHECK(half.request.committed() == 0);
    CHECK(half.request.reserved() == 0);
    half.request.abort();  // once more is no misuse: the destructor does it
    call(half.request);
    half.violates(std::string("Request::") + name + " after its end");
  }
}

TEST_CASE("storage of ended requests is used again only after they are destroyed") {
  const auto engine = engine_of(kSmall);
  std::optional<Request> first = engine->begin(arrival(tokens(1, 16)));
  const std::uint64_t id = first->id();
  first->abort();
  Request second = engine->begin(arrival(tokens(50, 8)));
  CHECK(first->id() == id);
  CHECK(first->tokens().size() == 16);
  first.reset();
  Request third = engine->begin(arrival(tokens(80, 4)));
  CHECK(second.tokens().size() == 8);
  CHECK(third.tokens().size() == 4);
  second = std::move(third);
  CHECK(second.tokens().size() == 4);
}

TEST_CASE("a retracted request resumes before it reserves") {
  SUBCASE("reserve") {
    Half half;
    half.request.retract();
    CHECK_FALSE(half.request.reserve(16));
    check_violation(*half.engine, 0, "it has to resume first");
    CHECK(half.request.resume() == 8);
    CHECK(half.request.reserve(16));
  }
  SUBCASE("retract twice") {
    Half half;
    half.request.retract();
    half.request.retract();
    check_violation(*half.engine, 0, "Request::retract twice");
    CHECK(half.engine->counters().retracted == 1);
  }
  SUBCASE("resume without a retraction") {
    Half half;
    half.request.resume();
    half.violates("it was not retracted");
  }
}

TEST_CASE("groups and limits that cannot be are refused") {
  SUBCASE("row of a group") {
    Half half;
    CHECK(half.request.row(3).empty());
    half.violates("Request::row of group 3 of 1");
  }
  SUBCASE("pool") {
    Half half;
    CHECK_THROWS_AS(half.engine->pool(1), std::out_of_range);
    CHECK_THROWS_AS(static_cast<void>(half.engine->store(1)), std::out_of_range);
  }
  SUBCASE("make_free") {
    Half half;
    CHECK_FALSE(half.engine->make_free(1, 1));
    half.violates("Engine::make_free of group 1, but there are 1");
  }
  SUBCASE("resize to nothing") {
    Half half;
    half.engine->resize(0, 0);
    half.violates("Engine::resize to 0 pages");
  }
  SUBCASE("no policy") {
    Half half;
    CHECK_FALSE(half.engine->use_policy(0, nullptr));
    half.violates("Engine::use_policy without a policy");
  }
}

TEST_CASE("a request may outlive its engine and does nothing from then on") {
  std::optional<Request> live, ended;
  {
    const auto engine = engine_of(kSmall);
    live = engine->begin(arrival(tokens(1, 16)));
    REQUIRE(live->reserve(16));
    ended = engine->begin(arrival(tokens(50, 16)));
    ended->abort();
  }
  CHECK(live->ended());
  CHECK(live->tokens().size() == 16);
  CHECK_FALSE(live->reserve(20));
  live->finish(16);
  CHECK(ended->id() == 2);
  Request moved = std::move(*live);
  CHECK(live->ended());
  CHECK(moved.tokens().size() == 16);
}

TEST_CASE("a table of an ended request is empty and the ledger says so") {
  Half half;
  half.request.abort();
  PageTable table;
  const Request* const requests[] = {&half.request};
  table.fill(*half.engine, requests, PageTable::Entry::page);
  CHECK(half.engine->ledger().violations() > 0);
}

TEST_CASE("a second thread is refused while a call is running") {
  // The policy holds the first call inside the engine until the second thread has tried each call.
  struct Gate final : EvictionStrategy {
    std::atomic<bool> armed{false}, inside{false}, open{false};
    Rank rank(const NodeFacts&) override {
      if (armed.exchange(false)) {
        inside = true;
        while (!open) std::this_thread::yield();
      }
      return {};
    }
  };
  Half half;
  const auto gate = std::make_shared<Gate>();
  REQUIRE(half.engine->use_policy(0, gate));
  Request second = half.engine->begin(arrival(tokens(200, 8)));
  const std::uint64_t had = half.engine->ledger().violations();
  gate->armed = true;
  std::thread other([&] {
    while (!gate->inside) std::this_thread::yield();
    CHECK_FALSE(second.reserve(8));
    CHECK(half.engine->begin(arrival(tokens(1, 16))).ended());
    CHECK(half.engine->admits(arrival(tokens(1, 16))).verdict == Admission::Verdict::wait);
    CHECK_FALSE(half.engine->name_of(half.engine->intern({"tenant", "", ""})) == "shared");
    gate->open = true;
  });
  half.request.finish(16);
  other.join();
  check_violation(*half.engine, had, "Engine::intern was called while Request::finish was running");
  CHECK(half.engine->spaces() == 1);
  CHECK(second.reserve(8));
  second.abort();
}

TEST_CASE("a policy may not call the engine that calls it") {
  struct Caller final : EvictionStrategy {
    Engine* engine = nullptr;
    Rank rank(const NodeFacts&) override {
      if (engine) engine->make_free(0, 64);
      return {};
    }
  };
  Half half;
  const auto caller = std::make_shared<Caller>();
  REQUIRE(half.engine->use_policy(0, caller));
  caller->engine = half.engine.get();
  half.request.finish(16);
  check_violation(*half.engine, 0, "Engine::make_free was called while Request::finish was running");
  caller->engine = nullptr;
}
