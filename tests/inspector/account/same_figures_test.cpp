/// The exporter and the past over time count the same feed: figures with one name are equal, and all of them stay as
/// they are in figures.txt, byte for byte.
#include <account/range_figures.h>
#include <canopy/feed/reader.h>
#include <doctest/doctest.h>
#include <metrics/families.h>
#include <metrics/server.h>
#include <metrics/tally.h>
#include <support/engines.h>
#include <support/source_folder.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../metrics/metrics_text.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

struct Feed {
  FeedShape shape;
  std::vector<Event> events;
};

/// Three tenants, pools that are too small, a lower limit, a flush, requests that are aborted, retracted and still run
/// at the end. The clock's steps are set here, so that each run is the same.
Feed recorded_feed() {
  const auto engine = engine_of(kTwoGroups);
  FeedReader reader(engine->feed()->writer().header());
  engine->poll();
  std::vector<NamespaceId> tenants = {NamespaceId{}};
  for (const char* name : {"acme", "globex"}) tenants.push_back(engine->intern({name, {}, {}}));
  std::optional<Request> running;
  for (std::uint32_t i = 0; i < 120; ++i) {
    const auto length = static_cast<std::uint32_t>(20 + i * 7 % 90);
    RequestSpec spec;
    const std::vector<Token> prompt = tokens(i * i % 7 * 1000, length);
    spec.prompt = prompt, spec.min_uncached = 1, spec.space = tenants[i % 5 % 3];
    Request request = engine->begin(spec);
    if (i % 11 == 3) request.abort();
    else if (!request.reserve(length)) request.abort();
    else if (i % 13 == 5) request.commit(length), request.abort();
    else if (i == 100) running.emplace(std::move(request));
    else request.finish(length);
    if (i == 50) engine->resize(0, 25);
    if (i == 55) engine->resize(0, 100);
    if (i == 80) engine->flush(tenants[1]);
  }
  engine->poll();
  Feed feed{engine->feed()->writer().header(), {}};
  feed.shape.pid = 1;
  std::vector<Event> part(65536);
  std::uint64_t commits = 0;
  for (std::size_t count = 0; reader.read(part.data(), part.size(), count) == FeedReader::Outcome::events;)
    for (Event event : std::span(part.data(), count)) {
      if (is<event::Commit>(event)) {
        auto commit = std::bit_cast<event::Commit>(event);
        ++commits;
        commit.us = commits * commits * 1000;
        event = std::bit_cast<Event>(commit);
      }
      feed.events.push_back(event);
    }
  if (running) running->abort();
  return feed;
}

/// Returns the samples that are not 0; of buckets only those that have more than the one before.
std::string samples_of(const metrics::Tally& tally) {
  std::stringstream all(metrics::text_of(metrics::families_of(
      tally.figures(), {metrics::Names::canopy, metrics::Names::sglang, metrics::Names::vllm}, {})));
  std::string text, before;
  for (std::string line; std::getline(all, line);) {
    const std::string value = line.substr(line.rfind(' ') + 1);
    const bool repeats = line.find("_bucket{") != std::string::npos && value == std::exchange(before, value);
    if (!line.starts_with('#') && value != "0" && !repeats) text += line + "\n";
  }
  return text;
}

/// Returns the figures of a past, a line each.
std::string text_of(const RangeFigures& figures) {
  std::string text;
  const auto add = [&](const std::string& name, const auto& values) {
    text += name;
    for (const std::uint64_t value : values) text += " " + std::to_string(value);
    text += "\n";
  };
  for (const TenantFigures& tenant : figures.tenants) {
    std::vector<std::uint64_t> values = {tenant.held, tenant.locked_us};
    for (std::size_t i = 0; i < std::size(kCounts); ++i) values.push_back(tenant.counts[static_cast<Count>(i)]);
    add(tenant.name, values);
  }
  add("missed", figures.missed);
  add("evicted", figures.evicted);
  add("kept", figures.kept);
  for (const PrefixFigure& prefix : figures.regret)
    add("regret", std::vector<std::uint64_t>{prefix.begin, prefix.length, prefix.times, prefix.tokens});
  for (std::size_t i = 0; i < figures.histograms.size(); ++i) {
    std::vector<std::uint64_t> classes;
    for (std::size_t each = 0; each < figures.histograms[i].classes(); ++each)
      classes.push_back(figures.histograms[i].in(each));
    add(kMeasures[i].words, classes);
  }
  return text;
}

}  // namespace

TEST_CASE("account: what an exporter and the past show of a feed stays as it is") {
  const Feed feed = recorded_feed();
  metrics::Tally tally("golden", 2);
  tally.attach(feed.shape);
  tally.take(feed.events);
  std::string text = samples_of(tally);
  // A loss, a keyframe, and a second life.
  tally.lost();
  tally.take(feed.events);
  tally.detach();
  tally.attach(feed.shape);
  tally.take(std::span(feed.events).first(feed.events.size() / 2));
  text += "\nlater\n" + samples_of(tally);
  Mirror mirror(feed.shape);
  History history;
  mirror.take(feed.events, history.watch(mirror));
  const RangeFigures figures = figures_of(history, {});
  text += "\nthe past\n" + text_of(figures);
  for (const HistoryMark& mark : history.marks()) text += std::to_string(mark.at.commit) + " " + mark.text + "\n";
  std::stringstream golden;
  golden << std::ifstream(std::string(kSourceFolder) + "/tests/inspector/account/figures.txt").rdbuf();
  CHECK(text == golden.str());
}

TEST_CASE("account: no counter of an exporter falls from one operation to the next") {
  const Feed feed = recorded_feed();
  metrics::Tally tally("falls", 2);
  tally.attach(feed.shape);
  std::map<std::string, double> before;
  auto from = feed.events.begin();
  while (from != feed.events.end()) {
    const auto end = std::find_if(from, feed.events.end(), is<event::Commit>);
    REQUIRE(end != feed.events.end());
    tally.take({from, end + 1});
    from = end + 1;
    std::map<std::string, double> now;
    std::map<std::string, std::string> kinds;
    CHECK(flaw_of_metrics(metrics::text_of(metrics::families_of(tally.figures(), {metrics::Names::canopy}, {})), now,
                          kinds) == "");
    for (const auto& [name, value] : before)
      if (name.find("_total{") != std::string::npos) CHECK_MESSAGE((now.contains(name) && now[name] >= value), name);
    before = std::move(now);
  }
  CHECK(before.at("canopy_evicted_tokens_by_cause_total{feed=\"falls\",group=\"full\",cause=\"lower_limit\"}") > 0);
}

TEST_CASE("account: figures that an exporter and the past both have are equal") {
  const Feed feed = recorded_feed();
  metrics::Tally tally("same", 64);
  tally.attach(feed.shape);
  tally.take(feed.events);
  const metrics::Figures exported = tally.figures();
  REQUIRE(exported.counts);
  Mirror mirror(feed.shape);
  History history;
  mirror.take(feed.events, history.watch(mirror));
  const RangeFigures past = figures_of(history, {});
  const auto evicted = [&](EvictionCause cause) { return past.evicted[static_cast<std::size_t>(cause)]; };
  const LeavingCounts& full = exported.counts->leaving.at("full");
  CHECK(full.flushed_tokens() == evicted(EvictionCause::flush));
  CHECK(full.evicted_tokens() + full.flushed_tokens() == past.counts[Count::evicted]);
  CHECK(evicted(EvictionCause::limit) > 0);
  for (const auto cause : {EvictionCause::room, EvictionCause::limit, EvictionCause::other})
    CHECK(full.of(cause) == evicted(cause));
  CHECK(full.flushed_tokens() > 0);
  CHECK(exported.counts->inserted_tokens == past.counts[Count::inserted]);
  CHECK(exported.counts->reuse_distance.samples() * mirror.page_size() ==
        past.histograms[static_cast<std::size_t>(Measure::reuse)].samples());
  std::map<std::string, std::uint64_t> missed;
  for (std::size_t reason = 0; reason < kReasons; ++reason)
    missed[reason == kFlushedReason ? "evicted" : info_of(static_cast<Miss>(reason)).label] += past.missed[reason];
  // A request that runs and has inserted nothing: its reason is not final.
  const std::uint64_t open = missed["ended_before_insert"] - exported.counts->missed_tokens.at("ended_before_insert");
  CHECK(open > 0);
  missed["ended_before_insert"] -= open;
  CHECK(missed == exported.counts->missed_tokens);
  std::map<std::string, TenantFigures> by_name;
  for (const TenantFigures& each : past.tenants) by_name[each.name] = each;
  REQUIRE(exported.tenants.size() == 3);
  for (const metrics::TenantFigures& each : exported.tenants) {
    CAPTURE(each.label);
    const TenantFigures& same = by_name.at(each.label);
    CHECK(each.requests == same.counts[Count::requests]);
    CHECK(each.prompt_tokens == same.counts[Count::prompt]);
    CHECK(each.hit_tokens == same.counts[Count::hit]);
    CHECK(each.resident_tokens == same.held);
  }
}
