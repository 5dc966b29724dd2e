#include <conformance/model/effort.h>
#include <program/mismatch.h>

#include <set>
#include <sstream>

#include <support/engines.h>
#include <support/random_requests.h>

using namespace canopy;
using namespace canopy::test;

namespace {

/// The parts of an engine: one value of each row.
const std::vector<std::vector<std::string>> kChoices = {
    {"1", "3", "4", "16"},
    {"lru", "lfu", "fifo", "filo", "mru", "priority", "slru", "clock", "lfu_da"},
    {"full", "full window", "full state", "full window state", "window", "window full narrow", "state window"},
    {"token", "bigram"},
    {"1 space", "3 spaces"},
    {"free_list", "contiguous", "segments"},
    {"default", "sglang"},
    {"roomy", "tight"},
    {"at finish", "committed only"},
    {"one size", "resized"}};

using Row = std::vector<std::size_t>;  ///< an index into each list of kChoices

/// Rows such that any two choices of different kinds meet in one of them.
std::vector<Row> all_pairs() {
  std::set<std::array<std::size_t, 4>> open;
  for (std::size_t a = 0; a < kChoices.size(); ++a)
    for (std::size_t b = a + 1; b < kChoices.size(); ++b)
      for (std::size_t i = 0; i < kChoices[a].size(); ++i)
        for (std::size_t j = 0; j < kChoices[b].size(); ++j) open.insert({a, i, b, j});
  Random random(1);
  std::vector<Row> rows;
  while (!open.empty()) {
    Row best;
    std::size_t most = 0;
    const auto meets = [&](const Row& row, const std::array<std::size_t, 4>& pair) {
      return row[pair[0]] == pair[1] && row[pair[2]] == pair[3];
    };
    for (int tries = 0; tries < 40; ++tries) {
      Row row;
      for (const auto& values : kChoices) row.push_back(random.below(static_cast<std::uint32_t>(values.size())));
      // One open pair for certain, so that it ends.
      const auto& pair = *std::next(open.begin(), random.below(static_cast<std::uint32_t>(open.size())));
      row[pair[0]] = pair[1];
      row[pair[2]] = pair[3];
      const auto met = static_cast<std::size_t>(
          std::count_if(open.begin(), open.end(), [&](const auto& one) { return meets(row, one); }));
      if (met > most) most = met, best = row;
    }
    std::erase_if(open, [&](const auto& pair) { return meets(best, pair); });
    rows.push_back(best);
  }
  return rows;
}

std::string name_of(const Row& row) {
  std::string name;
  for (std::size_t kind = 0; kind < row.size(); ++kind) name += (kind ? ", " : "") + kChoices[kind][row[kind]];
  return name;
}

std::string yaml_of(const Row& row) {
  const auto choice = [&](std::size_t kind) { return kChoices[kind][row[kind]]; };
  const Units page = static_cast<Units>(std::stoul(choice(0)));
  const std::uint32_t pages = choice(7) == "tight" ? 60 : 400;
  std::string yaml = fmt::format("page_size: {}\nkey: {}\nindex: {{ radix: {{ accounting: {} }} }}\ngroups:\n", page,
                                 choice(3), choice(6));
  std::istringstream groups(choice(2));
  const std::string start = choice(9) == "resized" ? fmt::format(", start: {}", 9 * page) : "";
  for (std::string group; groups >> group;) {
    std::string reach = "path";
    if (group == "window") reach = std::to_string(2 * page + page / 2 + 1);
    if (group == "narrow") reach = std::to_string((page + 1) / 2);
    if (group == "state") reach = fmt::format("1, every: {}", 3 * page);
    yaml += fmt::format("  {}: {{ reach: {}, capacity: {}, allocator: {}, eviction: {}{} }}\n", group, reach,
                        pages * page, choice(5), choice(1), start);
  }
  yaml += "store: { host: { layers: 2, streams: { k: 8, v: 4 } } }\n";
  if (choice(8) == "committed only") yaml += "insert_at_finish: false\n";
  if (!start.empty()) yaml += "segment_pages: 7\nidle_segments: 1\n";
  return yaml;
}

}  // namespace

TEST_CASE("any two components of an engine work together, under requests in random order") {
  const auto rows = all_pairs();
  CHECK(rows.size() < 120);
  Reached all;
  std::uint64_t seed = 0;
  for (const Row& row : rows) {
    CAPTURE(name_of(row));
    const auto engine = engine_of(yaml_of(row));
    RandomRequests requests(*engine, plugins(), ++seed, kChoices[4][row[4]] == "1 space" ? 1 : 3,
                            kChoices[8][row[8]] == "at finish", kChoices[9][row[9]] == "resized");
    try {
      requests.run(with_effort(12'000));
      requests.finish();
    } catch (const Mismatch& difference) {
      FAIL(std::string(difference.what()));
    }
    all.add(requests.reached());
  }
  MESSAGE(rows.size(), " engines; ", all.requests, " requests, ", all.hits, " with hits, ", all.repointed,
          " tokens re-pointed, ", all.evictions, " evictions, ", all.refused, " reservations refused, ", all.retracted,
          " retracted, ", all.resumed_on_pages, " resumed on pages, ", all.passed_pages, " pages passed by windows, ",
          all.promises, " promises kept, ", all.aborted, " aborted, ", all.flushed, " tokens flushed, ", all.resized,
          " resized, ", all.drained, " of them at once, ", all.blocked, " had to wait");
  if (effort() < 1) return;
  CHECK(all.hits > 6'000);
  CHECK(all.repointed > 20'000);
  CHECK(all.evictions > 15'000);
  CHECK(all.refused > 500);
  CHECK(all.retracted > 10'000);
  CHECK(all.resumed_on_pages > 5'000);
  CHECK(all.passed_pages > 150'000);
  CHECK(all.promises > 10'000);
  CHECK(all.gaps > 3'000);
  CHECK(all.flushed > 200'000);
  CHECK(all.drained > 100);
  CHECK(all.blocked > 100);
}
