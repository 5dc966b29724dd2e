#include <support/engines.h>
#include <support/flipped_codec.h>
#include <support/scripted_index.h>

using namespace canopy;
using namespace canopy::test;

namespace {

/// Four prompts of 16 tokens, from 100, 200, 300 and 400 on, in that order: all of the small pool.
void fill(Engine& engine) {
  for (const Token first : {100U, 200U, 300U, 400U}) {
    const auto prompt = tokens(first, 16);
    Request request = engine.begin(arrival(prompt));
    REQUIRE(request.reserve(16));
    request.finish(16);
  }
}

}  // namespace

TEST_CASE("a token of a request is encoded once, in however many steps it is computed") {
  EngineConfig config;
  config.page_size = 4;
  config.key.name = "flipped";
  config.groups = {{.name = "full", .capacity = 4096, .allocator = {"free_list"}, .eviction = {"lru"}}};
  const Registry registry = registry_with(kFlipped);
  const auto made = Engine::create(config, registry);
  REQUIRE_MESSAGE(made, (made ? "" : made.error().text));
  const auto& engine = *made;
  const auto prompt = tokens(1, 400);
  const auto serve = [&](const std::vector<Token>& wanted) {
    Flipped::encoded = 0;
    Request request = engine->begin(arrival(wanted));
    const std::uint32_t matched = request.matched();
    for (std::uint32_t at = matched; at < 400; at += std::min(50U, 400 - at)) {
      const std::uint32_t until = std::min(at + 50U, 400U);
      REQUIRE(request.reserve(until));
      request.commit(until);
    }
    for (std::uint32_t at = 401; at <= 440; ++at) {
      request.append(tokens(5'000 + at, 1));
      REQUIRE(request.reserve(at));
      request.advance(at);
    }
    request.retract();
    CHECK(request.resume() >= 396);  // with the answer, where an earlier request has left it
    REQUIRE(request.reserve(440));
    request.finish(440);
    CHECK(Flipped::encoded == 440);
    return matched;
  };
  CHECK(serve(prompt) == 0);
  CHECK(serve(prompt) == 396);  // the unit of the last token needs the one behind it
  auto other = prompt;
  other[200] = 9'999;
  CHECK(serve(other) == 196);  // the unit of token 199 has the next token, too
  check_settled(*engine);
}

TEST_CASE("the next request does not compute what one request has computed") {
  const auto engine = engine_of(kSmall);
  const auto prompt = tokens(1, 18);
  {
    Request first = engine->begin(arrival(prompt));
    CHECK(first.matched() == 0);
    REQUIRE(first.reserve(18));
    CHECK(first.row().size() == 5);
    first.finish(18);
    CHECK(first.ended());
  }
  Request second = engine->begin(arrival(prompt));
  CHECK(second.matched() == 16);
  CHECK(second.committed() == 16);
  REQUIRE(second.reserve(18));
  second.abort();
  check_settled(*engine);
  CHECK(engine->counters().hit_tokens == 16);
}

TEST_CASE("an exception of a visitor reaches its caller, and the index is not blamed") {
  const auto engine = engine_of(kSmall);
  fill(*engine);
  struct Throws final : NodeVisitor, QueueVisitor {
    int calls = 0;
    void node(const NodeView&) override { throw ++calls; }
    void waiting(const NodeFacts&, Rank) override { throw ++calls; }
  } nodes, queue;
  CHECK_THROWS_AS(engine->index().visit(nodes), int);
  CHECK_THROWS_AS(engine->index().waiting(0, queue), int);
  CHECK(nodes.calls == 1);
  CHECK(queue.calls == 1);
  CHECK(engine->ledger().violations() == 0);
}

TEST_CASE("a request that finds no room six times counts once, with what it had when it was admitted") {
  const auto engine = engine_of(kSmall);
  const auto first = tokens(1, 40);
  auto second = tokens(1, 40);
  for (std::size_t i = 20; i < second.size(); ++i) second[i] += 500;
  Request runs = engine->begin(arrival(first));
  REQUIRE(runs.reserve(40));
  runs.commit(40);
  const auto serve = [&] {
    Request request = engine->begin(arrival(second));
    if (!request.reserve(50)) return CHECK_FALSE(request.admitted()), false;
    CHECK(request.admitted());
    request.finish(40);
    CHECK(request.admitted());
    return true;
  };
  const Counters& counters = engine->counters();
  for (std::uint64_t tries = 1; tries <= 5; ++tries) {
    CHECK_FALSE(serve());
    CHECK(counters.tries == tries);
  }
  CHECK(counters.requests == 1);
  CHECK(counters.prompt_tokens == 40);
  CHECK(counters.hit_tokens == 0);
  runs.finish(40);
  CHECK(serve());
  CHECK(counters.requests == 2);
  CHECK(counters.prompt_tokens == 80);
  CHECK(counters.hit_tokens == 20);
  CHECK(counters.tries == 5);
  CHECK(counters.finished == 2);
  CHECK(counters.aborted == 0);
  check_settled(*engine);
}

TEST_CASE("a request counts with its last match: after a rematch or a retraction that came before it had pages") {
  const auto engine = engine_of(kSmall);
  const Counters& counters = engine->counters();
  const auto prompt = tokens(1, 18);
  Request first = engine->begin(arrival(prompt)), waits = engine->begin(arrival(prompt)),
          returns = engine->begin(arrival(prompt));
  REQUIRE(first.reserve(18));
  returns.retract();
  first.commit(12);
  CHECK(waits.rematch() == 12);
  CHECK(counters.hit_tokens == 0);
  CHECK(returns.resume() == 12);
  CHECK(counters.requests == 1);
  REQUIRE(waits.reserve(18));
  CHECK(counters.requests == 2);
  CHECK(counters.hit_tokens == 12);
  first.commit(18);
  CHECK(waits.rematch() == 4);
  CHECK(counters.hit_tokens == 16);  // a rematch of an admitted request counts at once
  REQUIRE(returns.reserve(18));
  CHECK(counters.hit_tokens == 28);
  for (int times = 0; times < 2; ++times) {
    returns.retract();
    returns.resume();
    REQUIRE(returns.reserve(18));
  }
  CHECK(counters.requests == 3);  // it comes back as the same request
  CHECK(counters.prompt_tokens == 54);
  CHECK(counters.hit_tokens == 28);
  returns.abort();
  CHECK(counters.aborted == 1);
  CHECK(counters.tries == 0);
}

TEST_CASE("a request that reserves nothing counts when its first token is marked as computed, or never") {
  const auto engine = engine_of(kSmall);
  const Counters& counters = engine->counters();
  const auto prompt = tokens(1, 16);
  Request first = engine->begin(arrival(prompt));
  REQUIRE(first.reserve(16));
  first.finish(16);
  CHECK(counters.requests == 1);
  Request found = engine->begin(arrival(prompt, 0));
  found.finish(16);
  CHECK(counters.requests == 2);
  CHECK(counters.hit_tokens == 16);
  Request moves = engine->begin(arrival(prompt, 0));
  moves.advance(0);
  CHECK_FALSE(moves.admitted());
  moves.advance(8);
  CHECK(moves.admitted());
  Request commits = engine->begin(arrival(prompt, 0));
  commits.commit(16);
  CHECK(counters.requests == 4);
  Request looks = engine->begin(arrival(prompt, 0));
  looks.finish(0);
  CHECK(counters.requests == 4);
  CHECK(counters.tries == 1);
  CHECK(counters.finished == 2);
  Request has_all = engine->begin(arrival(prompt, 0));
  CHECK(has_all.reserve(16));  // without a page more
  CHECK(counters.requests == 5);
}

TEST_CASE("an engine that has served nothing has counted nothing") {
  const auto engine = engine_of(kSmall);
  const Counters& counters = engine->counters();
  for (const std::uint64_t count :
       {counters.requests, counters.prompt_tokens, counters.hit_tokens, counters.evict_calls, counters.evicted_tokens,
        counters.tries, counters.finished, counters.aborted, counters.retracted, counters.repointed_pages,
        counters.resizes, counters.relocated_pages})
    CHECK(count == 0);
  CHECK(counters.index_seconds == 0);
}

TEST_CASE("at least one token is left to compute, and with pages that means a page") {
  const auto engine = engine_of(kSmall);
  const auto prompt = tokens(1, 16);
  Request first = engine->begin(arrival(prompt));
  REQUIRE(first.reserve(16));
  first.finish(16);
  CHECK(engine->begin(arrival(prompt)).matched() == 12);
  CHECK(engine->begin(arrival(prompt, 0)).matched() == 16);
  check_settled(*engine);
}

TEST_CASE("eviction frees exactly what is missing, in whole nodes") {
  const auto engine = engine_of(kSmall);
  fill(*engine);
  CHECK(engine->counters().evict_calls == 0);
  const auto prompt = tokens(500, 12);
  Request request = engine->begin(arrival(prompt));
  REQUIRE(request.reserve(12));
  CHECK(engine->counters().evict_calls == 1);
  CHECK(engine->counters().evicted_tokens == 16);  // one node: the oldest
  request.abort();
  CHECK(engine->begin(arrival(tokens(100, 16), 0)).matched() == 0);
  CHECK(engine->begin(arrival(tokens(200, 16), 0)).matched() == 16);
  check_settled(*engine);
}

TEST_CASE("dedup: a request whose prefix another inserted first reads the other's pages, unless the index keeps both") {
  for (const bool keeps_both : {false, true}) {
    CAPTURE(keeps_both);
    const auto engine = engine_of(kSmall, {keeps_both ? "index=hash_chain" : "index=radix"});
    const auto prompt = tokens(1, 12);
    Request fast = engine->begin(arrival(prompt));
    Request slow = engine->begin(arrival(prompt));
    REQUIRE(fast.reserve(12));
    REQUIRE(slow.reserve(12));
    const std::vector<Page> own(slow.row().begin(), slow.row().end());
    CHECK(fast.commit(12) == 0);
    CHECK(slow.commit(12) == (keeps_both ? 0 : 12));
    CHECK(std::ranges::equal(slow.row(), keeps_both ? std::span<const Page>(own) : fast.row()));
    for (const Page page : own) CHECK(engine->pool(0).is_out(page) == keeps_both);
    CHECK(engine->counters().repointed_pages == (keeps_both ? 0 : 3));
    fast.finish(12);
    slow.finish(12);
    check_settled(*engine);
  }
}

TEST_CASE("rematch: a request takes over what another one committed while it waited for its next step") {
  const auto engine = engine_of(kSmall);
  const auto prompt = tokens(1, 18);
  Request first = engine->begin(arrival(prompt)), second = engine->begin(arrival(prompt));
  REQUIRE(first.reserve(12));
  REQUIRE(second.reserve(12));
  second.advance(4);
  first.commit(4);
  CHECK(second.rematch() == 0);  // no more than it has computed itself
  CHECK(second.committed() == 0);
  first.commit(12);
  const std::uint64_t free = engine->pool(0).free_pages();
  CHECK(second.rematch() == 8);
  CHECK(second.computed() == 12);
  CHECK(second.committed() == 12);
  CHECK(engine->counters().hit_tokens == 8);
  CHECK(engine->pool(0).free_pages() == free + 3);
  CHECK(std::ranges::equal(first.row(), second.row()));
  CHECK(second.rematch() == 0);
  first.abort();
  REQUIRE(second.reserve(18));
  second.finish(18);
  check_settled(*engine);
}

TEST_CASE("rematch: the tokens of the answer that it finds are no hits") {
  const auto engine = engine_of(kSmall);
  const auto prompt = tokens(1, 9);
  const auto whole = tokens(1, 18);
  Request waits = engine->begin(arrival(prompt)), other = engine->begin(arrival(whole));
  REQUIRE(waits.reserve(9));
  waits.advance(9);
  waits.append(std::span(whole).subspan(9));
  REQUIRE(other.reserve(18));
  other.commit(16);
  CHECK(waits.rematch() == 7);
  CHECK(engine->counters().hit_tokens == 0);
  Request late = engine->begin(arrival(tokens(1, 17)));
  REQUIRE(late.reserve(17));
  CHECK(engine->counters().hit_tokens == 16);
  for (Request* request : {&waits, &other, &late}) request->abort();
  check_settled(*engine);
}

TEST_CASE("rematch: of what it finds on both sides of the prompt's end, only the prompt's tokens are hits") {
  const auto engine = engine_of(kSmall);
  const auto whole = tokens(1, 18);
  Request waits = engine->begin(arrival(tokens(1, 9))), other = engine->begin(arrival(whole));
  REQUIRE(waits.reserve(9));
  waits.append(std::span(whole).subspan(9));
  REQUIRE(other.reserve(18));
  other.commit(16);
  CHECK(waits.rematch() == 16);
  CHECK(engine->counters().hit_tokens == 9);
  waits.abort();
  other.abort();
  check_settled(*engine);
}

TEST_CASE("dedup: only the part that another request inserted first is re-pointed") {
  const auto engine = engine_of(kSmall);
  auto long_prompt = tokens(1, 20);
  const auto short_prompt = tokens(1, 9);
  Request fast = engine->begin(arrival(short_prompt));
  Request slow = engine->begin(arrival(long_prompt));
  REQUIRE(fast.reserve(9));
  REQUIRE(slow.reserve(20));
  const std::vector<Page> own(slow.row().begin(), slow.row().end());
  fast.commit(9);
  CHECK(slow.commit(20) == 8);
  CHECK(slow.committed() == 20);
  for (std::size_t i = 0; i < 5; ++i) CHECK((slow.row()[i] == own[i]) == (i >= 2));
  slow.finish(20);
  fast.finish(9);
  check_settled(*engine);
}

TEST_CASE("a locked prefix survives every eviction") {
  const auto engine = engine_of(kSmall);
  const auto prompt = tokens(1, 40);
  Request running = engine->begin(arrival(prompt));
  REQUIRE(running.reserve(40));
  running.commit(40);
  for (Token first = 1000; first < 3000; first += 100) {
    const auto other = tokens(first, 24);
    Request request = engine->begin(arrival(other));
    REQUIRE(request.reserve(24));
    request.finish(24);
  }
  const auto too_much = tokens(5000, 28);
  Request request = engine->begin(arrival(too_much));
  CHECK_FALSE(request.reserve(28));  // 10 pages are held, 6 can be taken
  CHECK(request.reserve(24));
  request.abort();
  CHECK(engine->begin(arrival(prompt, 0)).matched() == 40);
  running.finish(40);
  check_settled(*engine);
}

TEST_CASE("admission: never for a request that cannot fit, wait for one that does not fit now") {
  const auto engine = engine_of(kSmall);
  RequestSpec huge = arrival({});
  const auto prompt = tokens(1, 60), other = tokens(1000, 32);
  huge.prompt = prompt;
  huge.output_limit = 5;
  const Admission never = engine->admits(huge);
  CHECK(never.verdict == Admission::Verdict::never);
  CHECK(never.reason ==
        "the request needs 17 pages of group 'full' for 60 prompt and up to 5 output tokens, and the pool has 16");
  huge.output_limit = 4;
  CHECK(engine->admits(huge).verdict == Admission::Verdict::now);

  Request running = engine->begin(arrival(other));
  REQUIRE(running.reserve(32));
  const Admission wait = engine->admits(huge);
  CHECK(wait.verdict == Admission::Verdict::wait);
  CHECK(wait.reason ==
        "the request needs 16 more pages of group 'full', and 8 are free, evictable or available from the system");
  running.finish(32);
  CHECK(engine->admits(huge).verdict == Admission::Verdict::now);
  check_settled(*engine);
}

TEST_CASE("admission counts the pages that a pool may still grow by") {
  const std::string yaml =
      "page_size: 4\ngroups: { full: { reach: path, capacity: CAPACITY, start: 0, allocator: free_list, eviction: lru "
      "} }\n"
      "segment_pages: 2\n";
  for (const char* capacity : {"64", "unlimited"}) {
    CAPTURE(std::string(capacity));
    const auto engine = engine_of(std::string(yaml).replace(yaml.find("CAPACITY"), 8, capacity));
    CHECK(engine->admits(arrival(tokens(1, 64))).verdict == Admission::Verdict::now);
    CHECK((engine->admits(arrival(tokens(1, 65))).verdict == Admission::Verdict::never) ==
          (std::string(capacity) == "64"));
    // A part of it is taken: the rest is free, or still to come.
    Request first = engine->begin(arrival(tokens(1, 30)));
    REQUIRE(first.reserve(30));
    CHECK(engine->admits(arrival(tokens(100, 32))).verdict == Admission::Verdict::now);
    CHECK((engine->admits(arrival(tokens(100, 36))).verdict == Admission::Verdict::wait) ==
          (std::string(capacity) == "64"));
    first.abort();
    check_settled(*engine);
  }
}

TEST_CASE("admission counts the prefix that a request will lock as not evictable") {
  const auto engine = engine_of(kSmall);
  const auto cached = tokens(1, 32), held = tokens(500, 24);
  Request first = engine->begin(arrival(cached));
  REQUIRE(first.reserve(32));
  first.finish(32);
  Request running = engine->begin(arrival(held));
  REQUIRE(running.reserve(24));
  // Free 2, evictable 8 pages. A prompt on the cached prefix reuses those 8 and so cannot have them evicted.
  const auto more = tokens(1, 41), just = tokens(1, 40);
  CHECK(engine->admits(arrival(more)).verdict == Admission::Verdict::wait);
  CHECK(engine->admits(arrival(just)).verdict == Admission::Verdict::now);
  Request request = engine->begin(arrival(just));
  CHECK(request.reserve(40));
  request.finish(40);
  running.abort();
  check_settled(*engine);
}

TEST_CASE("a query changes nothing, neither the next victim nor the digest") {
  const auto engine = engine_of(kSmall);
  fill(*engine);
  const std::uint64_t digest = engine->digest();
  for (int i = 0; i < 10; ++i) engine->admits(arrival(tokens(100, 9)));
  CHECK(engine->digest() == digest);
  const auto prompt = tokens(500, 4);
  Request request = engine->begin(arrival(prompt));
  REQUIRE(request.reserve(4));
  request.abort();
  CHECK(engine->begin(arrival(tokens(100, 16), 0)).matched() == 0);  // still the oldest, so it left
}

TEST_CASE("an abort at any step leaks nothing") {
  // The steps of a request's life; k of them are taken, then the request is dropped.
  for (int k = 0; k <= 8; ++k) {
    CAPTURE(k);
    const auto engine = engine_of(kSmall);
    const auto seed = tokens(1, 10), prompt = tokens(1, 23);
    Request before = engine->begin(arrival(seed));
    REQUIRE(before.reserve(10));
    before.finish(10);
    {
      Request request = engine->begin(arrival(prompt));
      int step = 0;
      if (step++ < k) REQUIRE(request.reserve(9));
      if (step++ < k) request.commit(9);
      if (step++ < k) REQUIRE(request.reserve(23));
      if (step++ < k) request.commit(17);
      if (step++ < k) request.commit(23);
      if (step++ < k) request.append(77);
      if (step++ < k) REQUIRE(request.reserve(24));
      if (step++ < k) request.commit(24);
    }
    CHECK(engine->counters().aborted == (k > 0));
    CHECK(engine->counters().tries == (k == 0));
    check_settled(*engine);
    engine->flush(NamespaceId::shared);
    CHECK(engine->pool(0).free_pages() == 16);
  }
}

TEST_CASE("requests of two namespaces never share: any part of the tuple parts them") {
  const auto engine = engine_of(kSmall, {"groups.full.capacity=128"});
  const auto prompt = tokens(1, 9);
  const Space spaces[] = {{"", "", ""},
                          {"ab", "c", ""},
                          {"a", "bc", ""},
                          {"abc", "", ""},
                          {"", "", "abc"},
                          {"ab", "", "c"},
                          {"ab", "", "d"},
                          {"", "ab", "c"},
                          {"", "ab", "d"},
                          // Alike where lengths and fields are joined without anything between them.
                          {"1", "vwxyz", "abcd00"},
                          {"5vwxyz6abcd", "", ""}};
  for (const Space& space : spaces) {
    RequestSpec own = arrival(prompt);
    own.space = engine->intern(space);
    Request request = engine->begin(own);
    CHECK(request.matched() == 0);
    REQUIRE(request.reserve(9));
    request.finish(9);
  }
  CHECK(engine->spaces() == std::size(spaces));
  RequestSpec again = arrival(prompt);
  again.space = engine->intern(spaces[2]);
  CHECK(engine->begin(again).matched() == 8);
  CHECK(engine->flush(again.space) == 8);
  CHECK(engine->begin(again).matched() == 0);
  again.space = engine->intern(spaces[1]);
  CHECK(engine->begin(again).matched() == 8);
  check_settled(*engine);
}

TEST_CASE("a prefix counts one use when its request finishes, and none for the chunks that it committed before") {
  struct Nodes final : NodeVisitor {
    std::uint32_t inserts = 0, hits = 0;
    void node(const NodeView& node) override { inserts += node.facts.inserts, hits += node.facts.hits; }
  };
  // Counts as hits: matches, and in SGLang's way inserts that are not chunks of a prefill.
  for (const auto& [accounting, uses] : {std::pair{"default", 0U}, std::pair{"sglang", 1U}}) {
    CAPTURE(std::string(accounting));
    const auto engine = engine_of(kSmall, {"index={ radix: { accounting: " + std::string(accounting) + " } }"});
    const auto prompt = tokens(1, 16);
    Request request = engine->begin(arrival(prompt));
    REQUIRE(request.reserve(16));
    for (const std::uint32_t chunk : {4U, 8U, 12U}) {
      request.commit(chunk);
      Nodes nodes;
      engine->index().visit(nodes);
      CHECK(nodes.inserts == 0);
      CHECK(nodes.hits == 0);
    }
    request.finish(12);
    Nodes nodes;
    engine->index().visit(nodes);
    CHECK(nodes.inserts >= 1);
    CHECK((nodes.hits >= 1) == (uses >= 1));
    check_settled(*engine);
  }
}

TEST_CASE("an engine whose cache is off serves requests all the same") {
  const auto engine = engine_of(kSmall, {"index=\"null\""});
  const auto prompt = tokens(1, 30);
  for (int i = 0; i < 5; ++i) {
    Request request = engine->begin(arrival(prompt));
    CHECK(request.matched() == 0);
    REQUIRE(request.reserve(30));
    CHECK(request.commit(20) == 0);
    request.finish(30);
    check_settled(*engine);
  }
  CHECK(engine->pool(0).free_pages() == 16);
}

TEST_CASE("an unlimited pool grows as far as requests need") {
  const auto engine = engine_of(kSmall, {"groups.full.capacity=unlimited", "segment_pages=8"});
  const auto prompt = tokens(1, 4000);
  Request request = engine->begin(arrival(prompt));
  REQUIRE(request.reserve(4000));
  CHECK(engine->pool(0).segments().size() == 126);  // 1,000 pages and page 0, by eights
  CHECK(engine->counters().evict_calls == 0);
  request.finish(4000);
  check_settled(*engine);
}

TEST_CASE("a policy can be replaced while requests run") {
  const auto engine = engine_of(kSmall);
  struct Newest final : EvictionStrategy {
    Rank rank(const NodeFacts& node) override { return {0, ~node.last_access}; }
  };
  fill(*engine);
  REQUIRE(engine->use_policy(0, std::make_shared<Newest>()));
  const auto prompt = tokens(500, 4);
  Request request = engine->begin(arrival(prompt));
  REQUIRE(request.reserve(4));
  CHECK(engine->begin(arrival(tokens(400, 16), 0)).matched() == 0);
  CHECK(engine->begin(arrival(tokens(100, 16), 0)).matched() == 16);
  request.abort();
  check_settled(*engine);
}

TEST_CASE("a store whose size no machine can number is refused with a sentence, not wrapped round") {
  auto document = parse_yaml(kSmall, "test");
  REQUIRE(document);
  for (const char* assignment : {"page_size=16", "groups.full.capacity=17179869184", "groups.full.start=1G",
                                 "segment_pages=262145", "store={host: {layers: 4096, streams: {a: 1048573}}}"})
    REQUIRE(set_value(*document, assignment));
  auto config = read_engine_config(*document, plugins());
  REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
  const auto engine = Engine::create(*config, plugins());
  REQUIRE_FALSE(engine);
  CHECK_MESSAGE(
      engine.error().text.find("no addresses for a segment of 262145 pages of 16 tokens in 4096 layers: the "
                               "system, or `addresses`, allows less than 17592186044416 bytes") != std::string::npos,
      engine.error().text);
}

TEST_CASE("policies know the size of a pool for which the system has no memory left") {
  struct Seen final : EvictionStrategy {
    std::uint64_t capacity = 0;
    Rank rank(const NodeFacts& node) override {
      capacity = node.clock.capacity;
      return {0, node.last_access};
    }
  };
  const auto engine = engine_of(
      "page_size: 16\nindex: radix\nsegment_pages: 64\n"
      "groups: { full: { reach: path, capacity: unlimited, allocator: free_list, eviction: lru } }\n"
      "store: { host: { streams: { kv: 4096 }, addresses: 16777216 } }\n");  // addresses of four segments
  const auto seen = std::make_shared<Seen>();
  REQUIRE(engine->use_policy(0, seen, "seen"));
  leave(*engine, tokens(1, 33));
  CHECK(seen->capacity == kUnlimited);
  for (Token first = 1'000; first < 200'000; first += 1'000) leave(*engine, tokens(first, 33));
  CHECK(engine->pool(0).limit() == 255);
  CHECK(seen->capacity == 255 * 16);
  engine->resize(0, 100);
  leave(*engine, tokens(1, 33));
  CHECK(seen->capacity == 100 * 16);
  check_settled(*engine);
}

TEST_CASE("groups without a common boundary are refused, also where their product would wrap") {
  std::string groups;
  for (const std::uint32_t every : {16'777'213U, 16'777'199U, 16'777'183U, 16'777'153U})
    groups += fmt::format("{}g{}: {{ reach: 1, every: {}, capacity: 16777300, allocator: free_list, eviction: lru }}",
                          groups.empty() ? "" : ", ", every, every);
  const auto document = parse_yaml("page_size: 1\nindex: radix\ngroups: { " + groups + " }\n", "test");
  REQUIRE(document);
  const auto config = read_engine_config(*document, plugins());
  REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
  const auto engine = Engine::create(*config, plugins());
  REQUIRE_FALSE(engine);
  CHECK_MESSAGE(engine.error().text.find("have no common boundary below 4294967295 tokens") != std::string::npos,
                engine.error().text);
}

TEST_CASE("a request that waits is found without a lock, and nothing but its recency changes") {
  const auto engine = engine_of(kSmall);
  const auto prompt = tokens(1, 24);
  Request request = engine->begin(arrival(prompt));
  REQUIRE(request.reserve(24));
  request.finish(24);
  const Found found = engine->find(arrival(prompt));
  CHECK(found.length == 20);  // a token is left to compute
  CHECK(engine->find(arrival(prompt, 0)).length == 24);
  CHECK(engine->find(arrival(tokens(100, 8))).node == NodeId::none);
  CHECK(engine->live_requests() == 0);
  CHECK(engine->index().sizes(0).evictable == 24);

  const std::vector<NodeId> ends{NodeId::none, found.node};
  std::vector<std::uint32_t> order(2);
  engine->order_by_weight(ends, order);
  CHECK(order == std::vector<std::uint32_t>{1, 0});
  check_settled(*engine);

  engine->order_by_weight({}, order);
  CHECK(engine->ledger().violations() == 1);
  CHECK(engine->ledger().reports().back() == "Engine::order_by_weight of 0 requests into 2");
  RequestSpec stranger = arrival(prompt);
  stranger.space = NamespaceId{40};
  CHECK(engine->find(stranger).node == NodeId::none);
  CHECK(engine->ledger().violations() == 2);
}

TEST_CASE("many waiting requests are found as one after the other") {
  for (const char* const key : {"token", "bigram"}) {
    CAPTURE(key);
    const auto made = [&] { return engine_of("key: " + std::string(key) + "\n" + kSmall); };
    const auto together = made(), apart = made();
    std::vector<std::vector<Token>> prompts;
    for (std::uint32_t i = 0; i < 40; ++i) prompts.push_back(tokens(1 + i % 3 * 1000, 8 + i % 16));
    std::vector<RequestSpec> specs;
    for (const auto& prompt : prompts) specs.push_back(arrival(prompt, 0));
    for (const auto* engine : {&together, &apart})
      for (const std::uint32_t first : {1U, 1001U}) {
        const auto prompt = tokens(first, 20);
        Request request = (*engine)->begin(arrival(prompt));
        REQUIRE(request.reserve(20));
        request.finish(20);
      }
    specs[7].space = NamespaceId{40};  // there is none: a violation in both
    std::vector<Found> found(specs.size());
    together->find_many(specs, found);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const Found one = apart->find(specs[i]);
      CHECK(found[i].node == one.node);
      CHECK(found[i].length == one.length);
    }
    CHECK(together->digest() == apart->digest());
    CHECK(together->ledger().violations() == 1);
    CHECK(apart->ledger().violations() == 1);
    together->find_many(specs, {});
    CHECK(together->ledger().reports().back() == "Engine::find_many of 40 requests into 0");

    // The index gets the keys before they are needed, without those that no request can have.
    const auto counts = std::make_shared<ScriptedIndex>();
    auto& state = const_cast<CacheState&>(state_of(*apart));
    state.index = std::make_shared<IndexPort>(counts, "prefix index 'counts' (test)", state);
    apart->find_many(specs, found);
    CHECK(counts->prefetched == std::vector<std::size_t>{15, 16, 8});
  }
}
