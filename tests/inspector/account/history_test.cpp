/// The past of a feed: every range's figures equal a count over its raw events, and memory stays bounded.
#include <account/chrome_trace.h>
#include <account/listings.h>
#include <account/range_page.h>
#include <canopy/feed/reader.h>
#include <conformance/model/effort.h>
#include <doctest/doctest.h>
#include <support/engines.h>
#include <support/random_requests.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

/// Counts of one commit, from its events and from the state before it, without the history.
struct Plain {
  Counts counts;
  std::map<NamespaceId, Counts> tenants;
  std::array<std::uint64_t, kEvictionCauses> evicted{};
  std::map<std::pair<NamespaceId, NamespaceId>, std::uint64_t> paid;  ///< by the namespaces that lost and needed
  std::map<NamespaceId, std::uint64_t> locked_us;
};

/// The requests that have locks, from raw events.
class Locking {
 public:
  /// Takes a commit. Returns the time since the one before, for each request that had locks in it.
  std::map<NamespaceId, std::uint64_t> take(const std::vector<Event>& events) {
    const std::uint64_t us = std::bit_cast<event::Commit>(events.back()).us;
    std::map<NamespaceId, std::uint64_t> passed;
    if (!is<event::Keyframe>(events.front()))
      for (const auto& [id, space] : running_) passed[space] += us - us_;
    us_ = us;
    for (const Event& event : events) {
      if (is<event::RequestBegun>(event)) {
        const auto one = std::bit_cast<event::RequestBegun>(event);
        if (!one.fetch) spaces_[one.request] = running_[one.request] = one.space;
      } else if (is<event::RequestProgress>(event)) {
        const auto one = std::bit_cast<event::RequestProgress>(event);
        if (!spaces_.contains(one.request)) continue;
        const bool waits = one.phase == RequestPhase::retracted,
                   ended = one.phase == RequestPhase::finished || one.phase == RequestPhase::aborted;
        if (waits || ended) running_.erase(one.request);
        else running_[one.request] = spaces_[one.request];
        if (ended) spaces_.erase(one.request);
        retractions += waits;
      }
    }
    return passed;
  }
  std::size_t retractions = 0;

 private:
  std::map<std::uint64_t, NamespaceId> running_, spaces_;
  std::uint64_t us_ = 0;
};

/// A feed's events, commit by commit.
struct Story {
  FeedShape shape;
  std::vector<std::vector<Event>> commits;

  void take(FeedReader& reader) {
    Event events[512];
    for (std::size_t count = 0;;) {
      const auto outcome = reader.read(events, std::size(events), count);
      REQUIRE(outcome != FeedReader::Outcome::lapped);
      if (outcome == FeedReader::Outcome::nothing) return;
      for (const Event& event : std::span(events, count)) {
        open.push_back(event);
        if (is<event::Commit>(event)) commits.push_back(std::exchange(open, {}));
      }
    }
  }
  std::vector<Event> open;
};

Story random_story(std::size_t requests, const char* yaml = kTwoGroups) {
  const auto engine = engine_of(yaml);
  FeedReader reader(engine->feed()->writer().header());
  Story story;
  story.shape = engine->feed()->writer().header();
  engine->poll();
  story.take(reader);
  RandomRequests random(*engine, plugins(), 7, 3, true, false);
  for (std::size_t i = 0; i < requests; ++i) {
    random.run(1);
    if (i == requests / 2) engine->resize(0, 60);
    if (i == requests * 3 / 4) engine->flush(NamespaceId{});
    engine->poll();
    story.take(reader);
  }
  random.finish();
  engine->poll();
  story.take(reader);
  return story;
}

/// Counts a commit. `before` is the state before it.
Plain count(const std::vector<Event>& events, const Mirror& before,
            std::map<std::uint64_t, event::RequestBegun>& begun) {
  Plain plain;
  if (is<event::Keyframe>(events.front())) {
    for (const Event& event : events)
      if (const auto one = std::bit_cast<event::RequestBegun>(event); is<event::RequestBegun>(event))
        begun.try_emplace(one.request, one);
    return plain;
  }
  const auto operation = std::bit_cast<event::Commit>(events.back()).operation;
  const auto both = [&](NamespaceId space, Count what, std::uint64_t amount) {
    plain.counts[what] += amount, plain.tenants[space][what] += amount;
  };
  std::optional<NamespaceId> taker;
  for (const Event& event : events)
    if (is<event::EvictedFor>(event)) taker = std::bit_cast<event::EvictedFor>(event).space;
  const auto leaves = [&](const MirrorNode& node) {
    if (taker && *taker != node.space) plain.paid[{node.space, *taker}] += node.length;
    const EvictionCause cause = cause_of(operation);
    both(node.space, Count::evicted, node.length);
    plain.evicted[static_cast<std::size_t>(cause)] += node.length;
    if (node.matches == 0 && cause != EvictionCause::flush) both(node.space, Count::wasted, node.length);
  };
  for (const Event& event : events) {
    if (is<event::RequestBegun>(event)) {
      const auto one = std::bit_cast<event::RequestBegun>(event);
      begun.try_emplace(one.request, one);
    } else if (is<event::RequestAdmitted>(event)) {
      const auto one = std::bit_cast<event::RequestAdmitted>(event);
      event::RequestBegun& request = begun.at(one.request);
      request.waits = false;
      both(request.space, Count::requests, 1);
      both(request.space, Count::prompt, request.prompt);
      both(request.space, Count::hit, one.matched);
    } else if (is<event::RequestProgress>(event)) {
      const auto one = std::bit_cast<event::RequestProgress>(event);
      const bool ends = one.phase == RequestPhase::finished || one.phase == RequestPhase::aborted;
      if (const auto known = begun.find(one.request); ends && known != begun.end() && known->second.waits)
        both(known->second.space, Count::tries, 1);
    } else if (is<event::NodeAdded>(event)) {
      const auto one = std::bit_cast<event::NodeAdded>(event);
      both(one.space, Count::inserted, one.length);
    } else if (is<event::NodeRemoved>(event)) {
      const MirrorNode* node = before.find(static_cast<std::uint64_t>(std::bit_cast<event::NodeRemoved>(event).node));
      if (node && node->has(0)) leaves(*node);
    } else if (is<event::NodeTombstoned>(event) && event.group == 0) {
      const auto one = std::bit_cast<event::NodeTombstoned>(event);
      const MirrorNode* node = before.find(static_cast<std::uint64_t>(one.node));
      if (node && node->has(0)) leaves(*node);
    } else if (is<event::Cleared>(event)) {
      before.each_node([&](const MirrorNode& node) {
        if (node.has(0)) leaves(node);
      });
    }
  }
  return plain;
}

/// All events of a story, applied commit by commit.
struct Applied {
  History history;
  Mirror mirror;
  std::vector<Plain> plain;
  Locking locking;
  explicit Applied(const Story& story) : mirror(story.shape) {
    Mirror other(story.shape);  // has no watcher, and so knows nothing of the history
    std::map<std::uint64_t, event::RequestBegun> begun;
    for (const std::vector<Event>& commit : story.commits) {
      plain.push_back(count(commit, other, begun));
      plain.back().locked_us = locking.take(commit);
      other.take(commit);
      mirror.take(commit, history.watch(mirror));
      // To lower a limit, the engine first evicts and then resizes.
      if (std::bit_cast<event::Commit>(commit.back()).operation == Operation::resize && plain.size() > 1) {
        auto& evicted = plain[plain.size() - 2].evicted;
        evicted[static_cast<std::size_t>(EvictionCause::limit)] += std::exchange(evicted[0], 0);
      }
    }
  }
};

void check_range(const Applied& applied, CommitRange range) {
  const RangeFigures figures = figures_of(applied.history, range);
  const CommitRange real = applied.history.snapped(range.empty() ? applied.history.all() : range);
  REQUIRE(figures.commits == real);
  Plain sum;
  for (std::uint64_t commit = real.first; commit <= real.last; ++commit) {
    const Plain& one = applied.plain[commit - 1];
    sum.counts += one.counts;
    for (const auto& [space, counts] : one.tenants) sum.tenants[space] += counts;
    for (std::size_t i = 0; i < kEvictionCauses; ++i) sum.evicted[i] += one.evicted[i];
    for (const auto& [pair, tokens] : one.paid) sum.paid[pair] += tokens;
    for (const auto& [space, us] : one.locked_us) sum.locked_us[space] += us;
  }
  for (std::size_t i = 0; i < std::size(kCounts); ++i)
    if (const auto what = static_cast<Count>(i); what != Count::regretted)
      CHECK_MESSAGE(figures.counts[what] == sum.counts[what], kCounts[i].name);
  CHECK(figures.evicted == sum.evicted);
  const auto samples = [&](Measure of) { return figures.histograms[static_cast<std::size_t>(of)].samples(); };
  CHECK(samples(Measure::prompt) == sum.counts[Count::requests]);
  CHECK(samples(Measure::lifetime) == sum.counts[Count::evicted]);
  CHECK(figures.other_paid == 0);
  CHECK(figures.paid.size() == sum.paid.size());
  const auto space = [&](std::uint32_t row) { return applied.history.tenants()[row].space; };
  for (const PaidTokens& each : figures.paid) CHECK(each.tokens == sum.paid[{space(each.from), space(each.taker)}]);
  std::uint64_t missed = 0;
  for (const std::uint64_t tokens : figures.missed) missed += tokens;
  CHECK(missed == figures.counts[Count::prompt] - figures.counts[Count::hit]);
  // By reason, of the requests that were admitted in the range.
  std::array<std::uint64_t, kReasons> reasons{};
  std::map<NamespaceId, std::array<std::uint64_t, kReasons>> by_space;
  for (const MirrorRequest& request : applied.mirror.requests()) {
    if (!real.has(request.admitted_at)) continue;
    for (auto* sums : {&reasons, &by_space[request.space]}) {
      const std::uint32_t flushed = request.missed_flushed(applied.mirror.page_size());
      (*sums)[kFlushedReason] += flushed;
      (*sums)[static_cast<std::size_t>(Miss::evicted)] += request.missed_evicted(applied.mirror.page_size()) - flushed;
      (*sums)[static_cast<std::size_t>(request.rest)] += request.missed_rest(applied.mirror.page_size());
      (*sums)[static_cast<std::size_t>(Miss::rounding)] += request.rounding(applied.mirror.page_size());
    }
  }
  CHECK(figures.missed == reasons);
  for (const TenantFigures& tenant : figures.tenants) {
    const NamespaceId of = applied.history.tenants()[tenant.row].space;
    CHECK(tenant.locked_us == sum.locked_us[of]);
    CHECK(figures_of(applied.history, range, tenant.row).missed == by_space[of]);
  }
  for (const TenantFigures& tenant : figures.tenants)
    for (std::size_t i = 0; i < std::size(kCounts); ++i)
      if (const auto what = static_cast<Count>(i); what != Count::regretted)
        CHECK(tenant.counts[what] == sum.tenants[applied.history.tenants()[tenant.row].space][what]);
}

/// A request of a namespace, from its begin to its end.
void run_once(Engine& engine, const std::vector<Token>& prompt, const std::string& space) {
  const auto tokens = static_cast<Units>(prompt.size());
  RequestSpec spec = arrival(prompt);
  spec.space = engine.intern({space, {}, {}});
  Request request = engine.begin(spec);
  REQUIRE(request.reserve(tokens));
  request.finish(tokens);
}

}  // namespace

TEST_CASE("history: figures of any range equal a count over its raw events") {
  const Story story = random_story(std::max<std::size_t>(800, with_effort(800)));
  const Applied applied(story);
  REQUIRE(applied.history.commits() == story.commits.size());
  check_range(applied, {});
  check_range(applied, applied.history.all());
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t first = random() % story.commits.size() + 1;
    check_range(applied, {first, first + random() % (story.commits.size() - first + 1)});
  }
  CHECK(applied.locking.retractions > 1);
  const RangeFigures whole = figures_of(applied.history, {});
  CHECK(whole.counts[Count::evicted] > 0);
  CHECK(whole.counts[Count::wasted] > 0);
  CHECK(whole.evicted[static_cast<std::size_t>(EvictionCause::room)] > 0);
  CHECK(whole.evicted[static_cast<std::size_t>(EvictionCause::flush)] > 0);
  CHECK(whole.paid.size() > 1);
  std::uint64_t held = 0;
  for (const MirrorSpace& space : applied.mirror.spaces()) held += space.tokens;
  CHECK(whole.held == held);
  std::map<std::size_t, std::uint64_t> missed;
  for (const MissGroup& group : applied.mirror.misses())
    missed[group.policy == kFlushPolicy ? kFlushedReason : static_cast<std::size_t>(group.miss)] += group.tokens;
  for (std::size_t reason = 0; reason < kReasons; ++reason)
    CHECK_MESSAGE(whole.missed[reason] == missed[reason], reason_name(reason));
}

TEST_CASE("history: buckets merge when there are too many, and no figure is lost") {
  const Story story = random_story(4500);
  const Applied applied(story);
  REQUIRE(story.commits.size() > History::kMostBuckets);
  CHECK(applied.history.stride() > 1);
  CHECK(applied.history.buckets().size() <= History::kMostBuckets);
  std::uint64_t next = 1;
  for (const Bucket& bucket : applied.history.buckets()) {
    CHECK(bucket.commits.first == next);
    next = bucket.commits.last + 1;
  }
  CHECK(next == story.commits.size() + 1);
  check_range(applied, {});
  std::mt19937 random(4);
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t first = random() % story.commits.size() + 1;
    check_range(applied, {first, first + random() % (story.commits.size() - first + 1)});
  }
}

TEST_CASE("history: a range read on its own has the same figures, to the commit") {
  const Story story = random_story(300);
  const Applied applied(story);
  const std::uint64_t first = story.commits.size() / 3, last = story.commits.size() / 2;
  Mirror mirror(story.shape);
  for (std::uint64_t commit = 1; commit < first; ++commit) mirror.take(story.commits[commit - 1]);
  History detail(mirror);
  for (std::uint64_t commit = first; commit <= last; ++commit)
    mirror.take(story.commits[commit - 1], detail.watch(mirror));
  const RangeFigures apart = figures_of(detail, {first, last}), part = figures_of(applied.history, {first, last});
  CHECK(apart.counts == part.counts);
  CHECK(apart.evicted == part.evicted);
  CHECK(apart.kept.back() == part.kept.back());
  CHECK(apart.held == part.held);
  for (const TenantFigures& tenant : apart.tenants)
    for (const TenantFigures& same : part.tenants)
      if (same.name == tenant.name) {
        CHECK(tenant.held == same.held);
        CHECK(tenant.locked_us == same.locked_us);  // also of requests that began before
      }
  CHECK(apart.commits == part.commits);
}

TEST_CASE(
    "history: of more requests than have spans, none is left out of a tenant's figures, and a recording has all") {
  const auto engine = engine_of(
      "page_size: 4\nindex: radix\ngroups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } "
      "}\nfeed: { heap: { events: 4096 } }\n");
  FeedReader reader(engine->feed()->writer().header());
  Mirror mirror(engine->feed()->writer().header());
  History history, recorded;
  recorded.keep_all_spans();
  Locking locking;
  std::map<NamespaceId, std::uint64_t> locked;
  const std::size_t requests = History::kMostSpans + 500, old = 400;
  Mirror same = mirror;
  for (std::size_t i = 0; i < requests; ++i) {
    run_once(*engine, tokens(static_cast<Token>(i % 50 * 10), 9), i < old ? "old" : "new");
    Story story;
    story.take(reader);
    for (std::vector<Event>& commit : story.commits) {
      auto end = std::bit_cast<event::Commit>(commit.back());
      end.us = end.operations * 3;  // so that each operation takes time
      commit.back() = std::bit_cast<Event>(end);
      for (const auto& [space, us] : locking.take(commit)) locked[space] += us;
      mirror.take(commit, history.watch(mirror));
      same.take(commit, recorded.watch(same));
    }
  }
  CHECK(history.spans().size() == History::kMostSpans);
  CHECK(recorded.spans().size() == requests);
  const RangeFigures whole = figures_of(history, {});
  REQUIRE(whole.tenants.size() == 2);
  for (const TenantFigures& tenant : whole.tenants) {
    CHECK(tenant.locked_us == locked[history.tenants()[tenant.row].space]);
    const RangeFigures only = figures_of(history, {}, tenant.row);
    std::uint64_t missed = 0;
    for (const std::uint64_t tokens : only.missed) missed += tokens;
    CHECK(only.counts[Count::requests] == (tenant.name == "old" ? old : requests - old));
    CHECK(missed == only.counts[Count::prompt] - only.counts[Count::hit]);
  }
}

TEST_CASE("history: lives of requests and marks are those of the events") {
  const Story story = random_story(400);
  const Applied applied(story);
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> lives;
  for (std::size_t c = 0; c < story.commits.size(); ++c)
    for (const Event& event : story.commits[c]) {
      if (is<event::RequestBegun>(event))
        lives.try_emplace(std::bit_cast<event::RequestBegun>(event).request, c + 1, 0);
      if (!is<event::RequestProgress>(event)) continue;
      const auto one = std::bit_cast<event::RequestProgress>(event);
      if (one.phase == RequestPhase::finished || one.phase == RequestPhase::aborted) lives[one.request].second = c + 1;
    }
  for (const MirrorRequest& request : applied.mirror.requests())
    if (!request.admitted()) lives.erase(request.id);
  REQUIRE(applied.history.spans().size() == lives.size());
  for (const RequestSpan& span : applied.history.spans()) {
    CHECK(span.begun.commit == lives[span.id].first);
    CHECK(span.ended.commit == lives[span.id].second);
    if (span.started && span.computed) CHECK(span.started.commit <= span.computed.commit);
    if (span.computed && span.ended) CHECK(span.computed.commit <= span.ended.commit);
  }
  const auto marked = [&](HistoryMark::Kind kind) {
    return std::count_if(applied.history.marks().begin(), applied.history.marks().end(),
                         [&](const HistoryMark& mark) { return mark.kind == kind; });
  };
  std::int64_t flushes = 0;
  for (const std::vector<Event>& commit : story.commits)
    flushes += std::bit_cast<event::Commit>(commit.back()).operation == Operation::flush;
  CHECK(flushes > 0);
  CHECK(marked(HistoryMark::Kind::flush) == flushes);
  CHECK(marked(HistoryMark::Kind::limit) > 0);
  CHECK(marked(HistoryMark::Kind::lost) == 0);
}

TEST_CASE("history: what was evicted and comes back is regret, of its prefix and its namespace") {
  const auto engine = engine_of(
      "page_size: 4\nindex: radix\ngroups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } "
      "}\n"
      "feed: { heap: { events: 65536 } }\n");
  FeedReader reader(engine->feed()->writer().header());
  Story story;
  story.shape = engine->feed()->writer().header();
  const auto serve = [&](Token first, std::size_t length) {
    const auto prompt = tokens(first, length);
    Request request = engine->begin(arrival(prompt));
    REQUIRE(request.reserve(static_cast<std::uint32_t>(length)));
    request.finish(static_cast<std::uint32_t>(length));
  };
  serve(1, 40);
  serve(101, 40);  // evicts some of the first
  serve(1, 40);
  story.take(reader);
  const Applied applied(story);
  const RangeFigures whole = figures_of(applied.history, {});
  const std::uint64_t regretted = whole.counts[Count::regretted];
  CHECK(regretted > 0);
  CHECK(regretted <= whole.counts[Count::evicted]);
  REQUIRE(whole.regret.size() == 1);
  CHECK(whole.regret.front().tokens == regretted);
  CHECK(whole.missed[static_cast<std::size_t>(Miss::evicted)] > 0);
  REQUIRE(whole.tenants.size() == 1);
  CHECK(whole.tenants.front().counts[Count::regretted] == regretted);
  const RangeFigures alone = figures_of(applied.history, {}, whole.tenants.front().row);
  CHECK(alone.counts == whole.counts);
  CHECK(alone.missed == whole.missed);
  CHECK(figures_of(applied.history, {}, 0).counts == Counts{});
  CHECK(std::is_sorted(whole.kept.begin(), whole.kept.end()));
  CHECK(whole.kept.front() == 0);
  CHECK(whole.kept[3] == regretted);  // a pool of 64 tokens had to hold 80
  CHECK(whole.kept.back() == regretted);
  const std::vector<WhatIf> estimates = what_if(whole, 4, "full");
  const auto prompts = static_cast<double>(whole.counts[Count::prompt]);
  REQUIRE(estimates.size() == kLargerPools.size() + 2);
  CHECK(estimates[0].hit_rate == static_cast<double>(whole.counts[Count::hit]) / prompts);
  CHECK(estimates[6].with == "full, no limit");
  CHECK(estimates[6].hit_rate == static_cast<double>(whole.counts[Count::hit] + regretted) / prompts);
  CHECK(estimates[7].bound == Bound::about);
  CHECK(what_if({}, 4, "full").empty());

  engine->resize(0, 4);  // evicts first, and then lowers the limit
  story.take(reader);
  const Applied lower(story);
  const RangeFigures after = figures_of(lower.history, {});
  CHECK(after.evicted[static_cast<std::size_t>(EvictionCause::limit)] > 0);
  CHECK(after.evicted[static_cast<std::size_t>(EvictionCause::room)] ==
        whole.evicted[static_cast<std::size_t>(EvictionCause::room)]);
  REQUIRE(lower.history.marks().size() == 1);
  CHECK(lower.history.marks().front().text.find("to 16 tokens") != std::string::npos);
}

TEST_CASE("history: tables and the trace have what the history has, and foreign names stay text") {
  const auto engine = engine_of(kTwoGroups);
  FeedReader reader(engine->feed()->writer().header());
  engine->poll();
  Story story;
  story.shape = engine->feed()->writer().header();
  story.take(reader);
  const std::vector<Token> prompt = tokens(1, 12);
  for (const char* name : {"=1+1", "a,\"b\"\nc", "<script>"}) run_once(*engine, prompt, name);
  engine->poll();
  story.take(reader);
  const Applied applied(story);
  const RangeFigures whole = figures_of(applied.history, {});
  const std::string csv = listing::csv_of(tenants_listing(whole), whole.tenants);
  CHECK(csv.starts_with("tenant,requests,prompt,hit,"));
  CHECK(csv.find("\n'=1+1,1,12,") != std::string::npos);
  CHECK(csv.find("\"a,\"\"b\"\"") != std::string::npos);
  CHECK(requests_in(applied.history, {}).size() == 3);
  for (const char* name : list_names()) {
    const listing::Cells list = list_of(name, applied.history, whole, applied.mirror);
    for (const auto& row : list.rows) CHECK(row.size() == list.heads.size());
  }
  const std::string trace = chrome_trace(applied.history, {}, {});
  CHECK(trace.find("\"name\":\"tenant a,\\\"b\\\"") != std::string::npos);
  const std::string page = page_of({"<title>", applied.history, whole, whole, applied.mirror, {}});
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("&lt;script&gt;") != std::string::npos);
}

TEST_CASE("history: the nodes of a match have the tokens that were found, with either way of counting hits") {
  struct Matches final : MirrorWatcher {
    void matched(const MirrorNode& node) override { tokens += node.length; }
    void admitted(const MirrorRequest& request) override {
      CHECK(std::exchange(tokens, 0) == request.matched);
      ++requests, found += request.matched > 0;
    }
    std::uint64_t tokens = 0, requests = 0, found = 0;
  };
  for (const char* index : {"radix", "{ radix: { accounting: sglang } }"}) {
    std::string yaml(kTwoGroups);
    yaml.replace(yaml.find("index: radix"), 12, std::string("index: ") + index);
    const Story story = random_story(600, yaml.c_str());
    Mirror mirror(story.shape);
    Matches matches;
    for (const std::vector<Event>& commit : story.commits) mirror.take(commit, &matches);
    CHECK(matches.requests > 20);
    CHECK(matches.found > 10);
  }
}

TEST_CASE("history: the heaviest prefixes are found in a stream that has many more, and no figure is too high") {
  std::mt19937 random(5);
  TopPrefixes top;
  std::map<std::uint64_t, std::uint64_t> real;
  std::uint64_t all = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t lineage = random() % 3 ? random() % 4 + 1 : random() % 5000 + 10;
    const std::uint64_t tokens = random() % 100 + 1;
    real[lineage] += tokens, all += tokens;
    top.add({.lineage = lineage, .times = 1, .tokens = tokens});
  }
  std::size_t heavy = 0;
  for (const PrefixFigure& figure : top.all()) {
    CHECK(figure.sure() <= real[figure.lineage]);
    CHECK(figure.tokens >= real[figure.lineage]);
    heavy += figure.lineage <= 4;
    if (figure.lineage <= 4) CHECK(figure.sure() > real[figure.lineage] / 2);
  }
  CHECK(heavy == 4);
  CHECK(all > 0);
}

TEST_CASE("history: more namespaces than rows share the row of the others") {
  const auto engine = engine_of(kTwoGroups);
  FeedReader reader(engine->feed()->writer().header());
  Story story;
  story.shape = engine->feed()->writer().header();
  engine->poll();
  story.take(reader);
  const std::vector<Token> prompt = tokens(1, 12);
  for (std::uint32_t i = 0; i < 2 * History::kMostTenants; ++i) {
    run_once(*engine, prompt, "tenant " + std::to_string(i));
    engine->poll();
    story.take(reader);
  }
  const Applied applied(story);
  CHECK(applied.history.tenants().size() == History::kMostTenants + 1);
  const RangeFigures whole = figures_of(applied.history, {});
  REQUIRE(!whole.tenants.empty());
  CHECK(whole.tenants.front().name == History::kOthers);
  CHECK(whole.tenants.front().counts[Count::requests] == History::kMostTenants);
  CHECK(whole.tenants.back().name == "tenant " + std::to_string(History::kMostTenants - 1));
  CHECK(whole.counts[Count::requests] == 2 * History::kMostTenants);
}

TEST_CASE("history: a request of a namespace that cannot be is passed over, and takes no memory") {
  const Story story = random_story(100);
  for (const std::uint32_t space : {1U << 22, ~0U}) {
    CAPTURE(space);
    Mirror mirror(story.shape);
    History history;
    for (std::vector<Event> commit : story.commits) {
      for (Event& event : commit) {
        if (!is<event::RequestBegun>(event)) continue;
        auto begun = std::bit_cast<event::RequestBegun>(event);
        begun.space = NamespaceId{space};
        event = std::bit_cast<Event>(begun);
      }
      mirror.take(commit, history.watch(mirror));
    }
    CHECK(mirror.prompt_tokens() == 0);
    CHECK(mirror.slots() > 1);
  }
}

TEST_CASE("history: the classes of a histogram are without gaps, and its quantiles lie in them") {
  std::uint64_t before = 0;
  for (std::size_t i : {128U, 140U}) CHECK(Histogram::lowest(i) == ~std::uint64_t{0});
  for (std::size_t i = 1; i < 128; ++i) {
    CHECK(Histogram::lowest(i) > before);
    before = Histogram::lowest(i);
    CHECK(Histogram::class_of(before) == i);
    CHECK(Histogram::class_of(before - 1) == i - 1);
  }
  CHECK(Histogram::class_of(~std::uint64_t{0}) == 127);
  Histogram histogram;
  CHECK(histogram.quantile(0.5) == 0);
  for (std::uint64_t value = 1; value <= 1'000; ++value) histogram.add(value, 3);
  CHECK(histogram.samples() == 3'000);
  for (const double share : {0.1, 0.5, 0.9})
    CHECK(static_cast<double>(histogram.quantile(share)) == doctest::Approx(share * 1'000).epsilon(0.05));
}

TEST_CASE("history: histograms of any range have the values that its events have") {
  /// The values of each commit, as a mirror's watcher gets them.
  struct Values final : MirrorWatcher {
    const Mirror& mirror;
    explicit Values(const Mirror& of) : mirror(of) {}
    void used(const MirrorNode& node) override {
      if (node.used_us != kTimeNotKnown && node.has(0))
        of(Measure::reuse).add(mirror.work() - node.used_work, node.length);
    }
    void left(const MirrorNode& node, std::size_t group, Operation) override {
      if (group == 0 && node.added_us != kTimeNotKnown)
        of(Measure::lifetime).add(mirror.us() - node.added_us, node.length);
    }
    void admitted(const MirrorRequest& request) override {
      of(Measure::prompt).add(request.prompt);
      if (request.matched > 0) of(Measure::depth).add(request.matched);
    }
    Histogram& of(Measure measure) { return commits[mirror.commits() + 1][static_cast<std::size_t>(measure)]; }
    std::map<std::uint64_t, Histograms> commits;
  };
  const Story story = random_story(400);
  const Applied applied(story);
  Mirror mirror(story.shape);
  Values values(mirror);
  for (const std::vector<Event>& commit : story.commits) mirror.take(commit, &values);
  const std::uint64_t last = applied.history.commits();
  for (const CommitRange range : {CommitRange{}, CommitRange{last / 4, last / 2}, CommitRange{last - 3, last}}) {
    const RangeFigures figures = figures_of(applied.history, range);
    Histograms expected;
    for (const auto& [commit, each] : values.commits)
      if (figures.commits.has(commit))
        for (std::size_t h = 0; h < expected.size(); ++h) expected[h].add(each[h]);
    for (std::size_t h = 0; h < expected.size(); ++h) {
      CAPTURE(kMeasures[h].words);
      CHECK(figures.histograms[h].samples() == expected[h].samples());
      for (std::size_t i = 0; i < 64; ++i) CHECK(figures.histograms[h].in(i) == expected[h].in(i));
    }
    if (range.empty())
      for (const Histogram& histogram : figures.histograms) CHECK(histogram.samples() > 0);
  }
  const listing::Cells list =
      listing::file_cells(histograms_listing(), classes_of(figures_of(applied.history, {}).histograms));
  CHECK(list.rows.front()[0] == "reuse distance");
  CHECK(list.heads.size() == 6);
}
