#include <support/engines.h>

using namespace canopy;
using namespace canopy::test;

namespace {

/// Pages of 4; a window of 10 tokens beside full attention.
const char* const kWindow = R"(
page_size: 4
groups:
  full: { reach: path, capacity: 4000, allocator: free_list, eviction: lru }
  window: { reach: 10, capacity: 40, allocator: free_list, eviction: lru }
)";

/// A recurrent state every 8 tokens beside full attention.
const char* const kState = R"(
page_size: 4
groups:
  full: { reach: path, capacity: 400, allocator: free_list, eviction: lru }
  state: { reach: 1, every: 8, capacity: 400, allocator: free_list, eviction: lru }
)";

std::uint64_t free_pages(const Engine& engine, std::size_t group) { return engine.pool(group).free_pages(); }

/// Prefill in chunks, then decode to `total`.
void run(Request& request, std::uint32_t chunk, std::uint32_t total, bool commits) {
  const auto prompt = static_cast<std::uint32_t>(request.tokens().size());
  for (std::uint32_t at = request.matched(); at < total;) {
    const std::uint32_t until = at < prompt ? std::min(prompt, at + chunk) : at + 1;
    REQUIRE(request.reserve(until));
    if (until > request.tokens().size()) request.append(until + 10'000);
    if (commits) request.commit(until);
    else request.advance(until);
    at = until;
  }
}

/// The places of a row that have a page: "..xx".
std::string row_of(const Request& request, std::size_t group) {
  std::string text;
  for (const Page page : request.row(group)) text += page ? 'x' : '.';
  return text;
}

}  // namespace

TEST_CASE("groups: a window that moves on is an operation whose pages are checked, with a feed and without") {
  std::uint64_t checks[2];
  for (const bool feed : {false, true}) {
    const auto engine = engine_of(kWindow, {feed ? "feed={heap: {}}" : "feed={off: {}}"});
    const auto prompt = tokens(1, 100);
    Request request = engine->begin(arrival(prompt));
    checks[feed] = 0;
    for (std::uint32_t at = 10; at <= 100; at += 10) {
      REQUIRE(request.reserve(at));
      const std::uint64_t before = engine->ledger().checks();
      request.advance(at);
      checks[feed] += engine->ledger().checks() - before;
    }
    request.finish(100);
    check_settled(*engine);
  }
  CHECK(checks[0] >= 2 * 10);  // checks of two groups
  CHECK(checks[1] == checks[0]);
}

TEST_CASE("groups: a commit of less than is computed names no page before the window") {
  const auto engine = engine_of(kWindow, {"groups.window.capacity=400"});
  const auto prompt = tokens(1, 101);
  Request first = engine->begin(arrival(prompt)), second = engine->begin(arrival(prompt));
  for (Request* const request : {&first, &second}) REQUIRE(request->reserve(100));
  first.commit(64);
  second.advance(100);
  CHECK(second.commit(64) == 64);  // the index's pages in place of its own
  CHECK(second.first_page(1) > 64 / 4);
  CHECK(row_of(second, 1).find('x') == second.first_page(1));
  CHECK(row_of(second, 0).substr(0, 25) == std::string(25, 'x'));
  engine->audit();
  second.append(7);
  REQUIRE(second.reserve(102));
  second.commit(102);
  engine->audit();
  CHECK_MESSAGE(engine->ledger().violations() == 0, engine->ledger().reports().front());
  first.abort();
  second.finish(102);
  check_settled(*engine);
}

TEST_CASE("groups: pages behind the last state of a finished request are free at once") {
  const auto engine = engine_of(kState);
  const auto prompt = tokens(1, 15);
  Request first = engine->begin(arrival(prompt)), second = engine->begin(arrival(prompt));
  for (Request* const request : {&first, &second}) {
    REQUIRE(request->reserve(15));
    request->finish(15);
    // The second request had no lock on the first one's pages, and freed its own.
    CHECK(engine->index().sizes(0).evictable == 8);
    CHECK(free_pages(*engine, 0) == 98);
  }
  CHECK(engine->counters().evicted_tokens == 8);  // 8..12 of both
  const Probe probe = engine->index().peek({NamespaceId::shared, prompt});
  CHECK(probe.length == 8);
  CHECK(probe.full_length == 8);
  check_settled(*engine);
}

TEST_CASE("groups: a path keeps as many states as it may, those nearest its end") {
  for (const bool limited : {false, true}) {
    CAPTURE(limited);
    const std::string yaml = kState;
    const auto engine =
        engine_of(limited ? std::string(yaml).replace(yaml.find("every: 8,"), 9, "every: 8, max_per_path: 2,") : yaml);
    const auto prompt = tokens(1, 40);
    {
      Request request = engine->begin(arrival(prompt));
      run(request, 8, 40, true);
      CHECK(engine->index().sizes(1).evictable + engine->index().sizes(1).protected_ == (limited ? 8 : 20));
      request.finish(40);
    }
    check_settled(*engine);
    CHECK(free_pages(*engine, 1) == (limited ? 98 : 95));
    const auto found = [&](std::uint32_t length) {
      return engine->index().peek({NamespaceId::shared, std::span(prompt).first(length)});
    };
    CHECK(found(40).length == 40);
    CHECK(found(35).length == 32);
    CHECK(found(30).length == (limited ? 0 : 24));
    CHECK(found(30).full_length == 28);
    {
      const auto part = tokens(1, 31);
      const Request shorter = engine->begin(arrival(part));
      CHECK(shorter.matched() == (limited ? 0 : 24));
      CHECK(shorter.full_length() == 28);
    }
    // A branch makes a fork at 24, and its state is the branch's as well.
    auto branch = prompt;
    for (std::size_t i = 24; i < 40; ++i) branch[i] += 500;
    Request request = engine->begin(arrival(branch));
    run(request, 8, 40, true);
    request.finish(40);
    CHECK(found(40).length == 40);
    CHECK(engine->index().peek({NamespaceId::shared, branch}).length == 40);
    check_settled(*engine);
  }
}

TEST_CASE(
    "groups: a window frees as many pages behind it as it needs ahead, so ten pages serve a prompt of any length") {
  for (const bool commits : {false, true}) {
    CAPTURE(commits);
    const auto engine = engine_of(kWindow);
    const auto prompt = tokens(1, 1000);
    RequestSpec spec = arrival(prompt);
    spec.output_limit = 500;
    CHECK(engine->admits(spec).verdict == Admission::Verdict::never);  // all of the prompt at once
    spec.chunk = 16;
    CHECK(engine->admits(spec).verdict == Admission::Verdict::now);
    Request request = engine->begin(spec);
    run(request, 16, 1500, commits);
    CHECK(request.first_page(1) == 372);  // boundary 1500, and 1490 lies in page 372
    CHECK(row_of(request, 1) == std::string(372, '.') + "xxx");
    CHECK(free_pages(*engine, 1) + engine->index().sizes(1).evictable / 4 >= 7);
    request.finish(1500);
    check_settled(*engine);
    auto all = tokens(1, 1000);
    for (Token token = 1001; token <= 1500; ++token) all.push_back(token + 10'000);
    Request again = engine->begin(arrival(all, 0));
    CHECK(again.matched() == 1500);
    CHECK(row_of(again, 1) == std::string(372, '.') + "xxx");
    CHECK(row_of(again, 0) == std::string(375, 'x'));
    again.abort();
    // A boundary whose window has gone cannot be used, whatever full attention has.
    CHECK(engine->begin(arrival(prompt, 0)).matched() < 1000);
    check_settled(*engine);
  }
}

TEST_CASE("groups: full attention is promised for the whole prompt, a window for the next chunk") {
  const auto engine = engine_of(kWindow);
  const auto prompt = tokens(1, 400);
  Request request = engine->begin(arrival(prompt));
  CHECK_FALSE(request.reserve(400));  // 100 pages of the window
  REQUIRE(request.reserve(400, 12));
  CHECK(request.row(0).size() == 100);
  CHECK(request.row(1).size() == 3);
  CHECK(request.reserved() == 12);
  request.commit(12);
  REQUIRE(request.reserve(400, 24));
  CHECK(request.reserved() == 24);
  request.abort();
  check_settled(*engine);
}

TEST_CASE("groups: a reservation takes exactly the last page there is, and one more changes nothing") {
  for (const char* narrow : {"full", "window"})
    for (const std::uint32_t chunk : {4U, 12U, 20U}) {
      CAPTURE(narrow);
      CAPTURE(chunk);
      // Pages that one request of 61 tokens and 20 more needs of the narrow pool, and one page less.
      const std::size_t need =
          PageNeeds{4, 0, std::string(narrow) == "full" ? kWholePath : 10}.peak(0, 0, 61, 81, chunk);
      for (const std::size_t pages : {need, need - 1}) {
        const auto engine =
            engine_of(kWindow, {"groups.window.capacity=4000",
                                std::string("groups.") + narrow + ".capacity=" + std::to_string(4 * pages)});
        const auto prompt = tokens(1, 61);
        RequestSpec spec = arrival(prompt);
        spec.output_limit = 20;
        spec.chunk = chunk;
        CHECK(engine->admits(spec).verdict == (pages == need ? Admission::Verdict::now : Admission::Verdict::never));
        Request request = engine->begin(spec);
        if (pages == need) {
          run(request, chunk, 81, false);
        } else {
          std::uint32_t at = 0;
          for (bool fits = true; fits && at < 81;) {
            const std::uint32_t until = at < 61 ? std::min(61U, at + chunk) : at + 1;
            const std::uint64_t before[] = {free_pages(*engine, 0), free_pages(*engine, 1)};
            fits = request.reserve(until);
            if (fits) {
              while (until > request.tokens().size()) request.append(7);
              request.advance(at = until);
            } else {
              CHECK(free_pages(*engine, 0) == before[0]);
              CHECK(free_pages(*engine, 1) == before[1]);
            }
          }
          CHECK(at < 81);
        }
        request.abort();
        check_settled(*engine);
      }
    }
}

TEST_CASE("groups: a prefix that leaves a request no room to run is given up, and the request runs") {
  // Steps of 2 tokens: from token 1 to 3 and 5 the last one works on all 5 pages, and a lock keeps a page more. From
  // token 0 to 2, 4 and 5 none works on more than 4.
  const auto engine = engine_of(R"(
page_size: 1
groups:
  window: { reach: 3, capacity: 5, allocator: free_list, eviction: lru }
)");
  {
    Request first = engine->begin(arrival(tokens(1, 1)));
    run(first, 1, 1, true);
    first.finish(1);
  }
  const auto prompt = tokens(1, 5);
  RequestSpec spec = arrival(prompt);
  CHECK(engine->index().peek({NamespaceId::shared, prompt}).length == 1);
  for (const std::uint32_t chunk : {1U, 2U}) {
    CAPTURE(chunk);
    spec.chunk = chunk;
    CHECK(engine->admits(spec).verdict == Admission::Verdict::now);
    Request request = engine->begin(spec);
    CHECK(request.matched() == (chunk == 1 ? 1 : 0));
    run(request, chunk, 5, false);
    request.retract();
    CHECK(request.resume() == (chunk == 1 ? 1 : 0));
    run(request, chunk, 5, false);
    request.abort();
    check_settled(*engine);
  }
}

TEST_CASE("groups: without a whole path a request is never admitted that leaves its lock no page") {
  const std::string window =
      "page_size: 1\ngroups: { window: { reach: 3, capacity: 4, allocator: free_list, eviction: lru } }\n";
  const auto prompt = tokens(1, 5);
  RequestSpec spec = arrival(prompt);
  spec.chunk = 2;  // it works on 4 pages at most
  const auto engine = engine_of(window);
  CHECK(engine->admits(spec).verdict == Admission::Verdict::never);
  CHECK(engine->admits(spec).reason.starts_with("the request needs 5 pages of group 'window'"));
  CHECK(engine_of(window, {"groups.window.capacity=5"})->admits(spec).verdict == Admission::Verdict::now);
}

TEST_CASE("groups: if one group has too few pages, no other group evicts for the request") {
  const auto engine = engine_of(kWindow, {"groups.full.capacity=40"});
  const auto cached = tokens(1, 36);
  Request first = engine->begin(arrival(cached));
  run(first, 36, 36, true);
  first.finish(36);
  const auto other = tokens(1000, 36);
  Request second = engine->begin(arrival(other));
  REQUIRE(second.reserve(4));
  // 9 pages of full attention could be made free; 10 window pages cannot: one is held.
  CHECK_FALSE(second.reserve(44));
  CHECK(engine->counters().evict_calls == 0);
  second.abort();
  CHECK(engine->begin(arrival(cached, 0)).matched() == 36);
  check_settled(*engine);
}

TEST_CASE("groups: a state is kept once every stretch, can be matched there, and is computed ahead of it") {
  const auto engine = engine_of(kState);
  const auto prompt = tokens(1, 21);
  Request first = engine->begin(arrival(prompt));
  REQUIRE(first.reserve(21));
  CHECK(row_of(first, 0) == "xxxxxx");
  CHECK(row_of(first, 1) == ".x.x.x");  // after 8, after 16, and the one in the making for 24
  first.commit(21);
  CHECK(first.committed() == 20);
  CHECK(row_of(first, 1) == ".....x");  // those of 8 and 16 belong to the tree
  CHECK(engine->index().sizes(1).evictable == 8);
  first.finish(21);
  CHECK(engine->index().sizes(1).evictable == 8);
  check_settled(*engine);

  const auto longer = tokens(1, 40);
  Request second = engine->begin(arrival(longer));
  CHECK(second.matched() == 16);  // full attention has 20, the last state stands at 16
  CHECK(row_of(second, 1) == "...x");
  run(second, 8, 40, false);
  CHECK(row_of(second, 1) == ".........x");  // uncommitted states behind the last one are given back
  second.finish(40);
  CHECK(engine->begin(arrival(longer, 0)).matched() == 40);
  CHECK(engine->begin(arrival(tokens(1, 39), 0)).matched() == 16);
  check_settled(*engine);
}

TEST_CASE("groups: full attention, a window and a state keep what their common boundary needs") {
  const std::string yaml =
      std::string(kState) + "  window: { reach: 6, capacity: 400, allocator: contiguous, eviction: slru }\n";
  const auto engine = engine_of(yaml);
  const auto prompt = tokens(1, 30);
  Request request = engine->begin(arrival(prompt));
  run(request, 30, 31, false);
  // Boundaries lie at multiples of 8: that of 24 wants tokens 18 to 23, though the next token sees 25 to 30.
  CHECK(request.first_page(2) == 4);
  request.finish(31);
  CHECK(engine->begin(arrival(prompt, 0)).matched() == 24);
  check_settled(*engine);
}

TEST_CASE("groups: bigrams reach one token further, in a window as on a whole path") {
  const auto engine = engine_of(kWindow, {"key=bigram"});
  const auto prompt = tokens(1, 41);
  Request first = engine->begin(arrival(prompt));
  run(first, 8, 41, false);
  CHECK(first.first_page(1) == 7);  // 40 bigrams: boundary 40, its window begins at 30, in page 7
  first.finish(41);
  CHECK(engine->begin(arrival(prompt, 0)).matched() == 40);
  CHECK(engine->begin(arrival(tokens(1, 40), 0)).matched() == 0);  // 39 bigrams: boundary 36 lost its window
  check_settled(*engine);

  // The last token is no unit yet: a page is full one token later.
  const auto exact = tokens(100, 40);
  Request second = engine->begin(arrival(exact));
  run(second, 8, 40, true);
  CHECK(second.committed() == 36);
  second.finish(40);
  CHECK(engine->begin(arrival(exact, 0)).matched() == 36);
  check_settled(*engine);
}

TEST_CASE("groups: the request that computes a tombstone again refills it, and others then read its page") {
  const auto engine = engine_of(kWindow, {"groups.window.capacity=400"});
  const auto prompt = tokens(1, 60);
  Request first = engine->begin(arrival(prompt));
  run(first, 60, 60, false);  // in the window only what boundary 60 needs stays
  first.finish(60);
  auto branch = tokens(1, 40);
  branch.push_back(9999);
  Request second = engine->begin(arrival(branch));
  CHECK(second.matched() == 0);  // boundary 40 has a gap before it
  REQUIRE(second.reserve(41));
  const std::vector<Page> own(second.row(1).begin(), second.row(1).end());
  const std::vector<Page> own_full(second.row(0).begin(), second.row(0).end());
  CHECK(second.commit(41) == 40);
  // Full attention was there: its pages are re-pointed. The window's were not: its own fill the gap.
  CHECK_FALSE(engine->pool(0).is_out(own_full[9]));
  CHECK(second.row(1)[9] == own[9]);
  CHECK(engine->index().sizes(1).protected_ == 12);
  second.finish(41);
  Request third = engine->begin(arrival(tokens(1, 40), 0));
  CHECK(third.matched() == 40);
  CHECK(third.row(1)[9] == own[9]);
  third.abort();
  check_settled(*engine);
}

// A window that is held too long does no harm but that others find no room: no sum is wrong, no byte is.
TEST_CASE("groups: a request that moves on without a commit unlocks the window that it matched") {
  const auto engine = engine_of(
      "page_size: 4\n"
      "groups:\n"
      "  full: { reach: path, capacity: 400, allocator: free_list, eviction: lru }\n"
      "  window: { reach: 16, capacity: 400, allocator: free_list, eviction: lru }\n");
  const auto prompt = tokens(1, 40);
  Request first = engine->begin(arrival(prompt));
  REQUIRE(first.reserve(40));
  first.finish(40);
  Request second = engine->begin(arrival(prompt, 0));
  CHECK(second.matched() == 40);
  CHECK(engine->index().sizes(1).protected_ == 16);
  for (std::uint32_t token = 41; token <= 56; ++token) {
    second.append(token);
    REQUIRE(second.reserve(token));
    second.advance(token);
  }
  CHECK(engine->index().sizes(1).protected_ == 0);  // full attention knows the lock
  second.abort();
  check_settled(*engine);
}

TEST_CASE("a retracted request has no lock and no page, and resumes from what is still resident") {
  const auto engine = engine_of(kWindow);
  const auto prompt = tokens(1, 22);
  Request request = engine->begin(arrival(prompt));
  REQUIRE(request.reserve(22));
  request.commit(22);
  REQUIRE(request.reserve(24));
  request.append(501);
  request.append(502);
  request.advance(24);
  request.retract();
  CHECK(engine->live_requests() == 1);
  CHECK(request.row(0).empty());
  CHECK(engine->index().sizes(0).protected_ == 0);
  CHECK(free_pages(*engine, 0) == 995);
  CHECK(request.tokens().size() == 24);
  CHECK(request.resume() == 20);
  CHECK(request.computed() == 20);
  REQUIRE(request.reserve(24));
  request.finish(24);
  CHECK(engine->counters().retracted == 1);
  CHECK(engine->counters().requests == 1);
  CHECK(engine->begin(arrival(prompt)).matched() == 20);

  // While it is retracted its prefix can be evicted, and it may end then.
  Request second = engine->begin(arrival(prompt));
  second.retract();
  engine->flush(NamespaceId::shared);
  CHECK(second.resume() == 0);
  second.retract();
  second.abort();
  check_settled(*engine);
}

TEST_CASE("insert_at_finish: false keeps what was committed on the way, without the answer") {
  for (const bool inserts : {false, true}) {
    const auto engine = engine_of(kSmall, {inserts ? "insert_at_finish=true" : "insert_at_finish=false"});
    auto prompt = tokens(1, 9);
    Request request = engine->begin(arrival(prompt));
    REQUIRE(request.reserve(9));
    request.commit(9);
    for (Token token = 10; token < 20; ++token) request.append(token);
    REQUIRE(request.reserve(19));
    request.finish(19);
    CHECK(engine->begin(arrival(tokens(1, 19), 0)).matched() == (inserts ? 16 : 8));
    check_settled(*engine);
  }
}

TEST_CASE("groups: where no group keeps whole paths, a request is admitted only if the page of a lock fits, too") {
  const auto windows = [](std::size_t pages) {
    return engine_of("page_size: 4\ngroups: { window: { reach: 8, capacity: " + std::to_string(4 * pages) +
                     ", allocator: free_list, eviction: lru } }\n");
  };
  const auto prompt = tokens(1, 40);
  const auto verdict = [&](Engine& engine) { return engine.admits(arrival(prompt)).verdict; };
  std::size_t least = 1;
  while (verdict(*windows(least)) == Admission::Verdict::never) ++least;
  for (const bool fits : {false, true}) {
    const auto engine = windows(least + 5);
    std::vector<Request> others;
    for (Token first = 1'000; engine->pool(0).free_pages() > (fits ? least : least - 1); first += 100) {
      others.push_back(engine->begin(arrival(tokens(first, 4))));
      REQUIRE(others.back().reserve(4));
    }
    CHECK(verdict(*engine) == (fits ? Admission::Verdict::now : Admission::Verdict::wait));
  }
}
