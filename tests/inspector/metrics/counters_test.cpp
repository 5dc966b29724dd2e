/// A counter is one line of the table: every place that shows counters has it from there.
#include <canopy/base/figures.h>
#include <canopy/feed/counters.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <metrics/families.h>
#include <metrics/server.h>
#include <metrics/tally.h>
#include <mirror/tier_words.h>
#include <replay/replay.h>
#include <support/source_folder.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "metrics_text.h"

using namespace canopy;
using namespace canopy::test;

namespace {

std::string whole(const std::string& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A value of its own for each row and column. One row of groups: the feed below has one group.
CounterValues distinct() {
  CounterValues values;
  std::uint64_t next = 10'001;
  for_each_value([&](Counter counter, const CounterInfo& info, std::size_t row, std::size_t column) {
    if (!is_by(info.rows, "group") || row == 0) values.at(counter, row, column) = next++;
  });
  return values;
}

Event text_event(TextKind kind, std::string_view text) {
  event::TextPiece piece{.text = kind, .size = static_cast<std::uint8_t>(text.size()), .last = true};
  text.copy(piece.bytes.data(), piece.bytes.size());
  return std::bit_cast<Event>(piece);
}

/// The figures of an exporter that has read a keyframe without counters and then these values.
metrics::Figures figures_of(const CounterValues& values) {
  FeedShape shape;
  shape.page_size = 4;
  shape.groups = 1;
  metrics::Tally tally("test", 4);
  tally.attach(shape);
  std::vector<Event> events = {std::bit_cast<Event>(event::Keyframe{}), text_event(TextKind::group, "full"),
                               text_event(TextKind::storage, "shelf"), std::bit_cast<Event>(event::Commit{})};
  for_each_value([&](Counter counter, const CounterInfo&, std::size_t row, std::size_t column) {
    events.push_back(std::bit_cast<Event>(event::CounterValue{.counter = counter,
                                                              .row = static_cast<std::uint8_t>(row),
                                                              .column = static_cast<std::uint8_t>(column),
                                                              .value = values.at(counter, row, column)}));
  });
  events.push_back(std::bit_cast<Event>(event::Commit{.operations = 1}));
  tally.take(events);
  return tally.figures();
}

}  // namespace

TEST_CASE("counters: each line of the table is in Prometheus' text, in top and in the report, and needs nothing else") {
  const CounterValues values = distinct();
  std::map<std::string, double> samples;
  std::map<std::string, std::string> kinds;
  CHECK(flaw_of_metrics(metrics::text_of(families_of(figures_of(values), {metrics::Names::canopy}, {})), samples,
                        kinds) == "");
  std::set<double> exported;
  for (const auto& [name, value] : samples)
    if (name.find("tier=\"") != std::string::npos) exported.insert(value);
  std::string top;
  for (const char* const tier : {"host", "storage"})
    for (const inspector::TierLine& line : inspector::tier_lines(values, tier, std::vector<std::string>{"full"}))
      top += line.text + "\n";
  replay::Report report;
  report.groups.emplace_back().name = "full";
  report.host_tier.emplace().counters = values;
  report.host_tier->storage = true;
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("counters-{}.json", ::getpid())).string();
  REQUIRE(replay::write_report(report, path));
  const auto json = nlohmann::json::parse(whole(path));
  std::remove(path.c_str());
  for_each_value([&](Counter counter, const CounterInfo& info, std::size_t row, std::size_t column) {
    const std::uint64_t value = values.at(counter, row, column);
    if (value == 0) return;  // a group that the feed does not have
    CAPTURE(info.name);
    const auto count = static_cast<double>(value);
    CHECK(exported.contains(info.unit == CounterUnit::us      ? count / 1e6
                            : info.unit == CounterUnit::pages ? count * 4
                                                              : count));
    CHECK(kinds.at(std::string(info.metric.substr(0, info.metric.find('{')))) ==
          (info.kind == CounterKind::gauge ? "gauge" : "counter"));
    const bool alone = !info.columns.label && !is_by(info.rows, "outcome");
    const std::string in_top = alone ? inspector::counter_words(info, value) : grouped(value);
    CHECK_MESSAGE(top.find(in_top) != std::string::npos, in_top);
    const auto* shown = &json.at(std::string(info.name));
    const auto inner = [&](const CounterAxis& axis, std::size_t at) {
      if (axis.label) shown = &shown->at(axis.names.empty() ? "full" : axis.names[at]);
    };
    inner(info.rows, row), inner(info.columns, column);
    CHECK(*shown == value);
  });
}

TEST_CASE("counters: docs/inspector.md has the line of each metric of the table") {
  const std::string document = whole(std::string(kSourceFolder) + "/docs/inspector.md");
  std::map<std::string, std::set<std::string>> labels;
  std::map<std::string, std::string> ends;
  std::vector<std::string> order;
  for_each_counter([&](Counter, const CounterInfo& info) {
    const std::size_t brace = info.metric.find('{');
    const std::string name(info.metric.substr(0, brace));
    if (ends.emplace(name, info.help).second) order.push_back(name);
    CHECK_MESSAGE(ends[name] == info.help, name);
    for (const CounterAxis* axis : {&info.rows, &info.columns})
      if (axis->label) labels[name].insert(axis->label);
    if (brace != info.metric.npos)
      labels[name].emplace(info.metric.substr(brace + 1, info.metric.find('=') - brace - 1));
  });
  for (const std::string& name : order) {
    std::string line = "| `" + name + "` | " + (name.ends_with("_total") ? "counter" : "gauge") + " | ";
    for (const std::string& label : labels[name]) line += (line.ends_with("| ") ? "`" : ", `") + label + "`";
    line += (line.ends_with(" ") ? "| " : " | ") + ends[name] + " |";
    CHECK_MESSAGE(document.find(line + "\n") != std::string::npos, "docs/inspector.md lacks:\n" << line);
  }
}
