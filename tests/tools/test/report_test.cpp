#include <bench/bench.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

using namespace canopy;
using namespace canopy::bench;

bench::Report report_with(Spread spread) {
  bench::Report report;
  report.index = "radix";
  report.rows.push_back({"A section", "match: x", Kind::time, "a call", spread, Spread{1e-9, 1e-9, 1e-9}, {}, "n"});
  return report;
}

struct File {
  std::string path = (std::filesystem::temp_directory_path() / ("canopy_bench_" + std::to_string(getpid()))).string();
  ~File() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("a report reads back to what was written") {
  const File file;
  const bench::Report report = report_with({3e-7, 2e-7, 4e-7});
  REQUIRE(write_report(report, file.path));
  const auto read = read_report(file.path);
  REQUIRE(read);
  REQUIRE(read->rows.size() == 1);
  const Row& row = read->rows[0];
  CHECK(row.name == "match: x");
  CHECK(row.section == "A section");
  CHECK(row.kind == Kind::time);
  CHECK(row.ours.high == 4e-7);
  CHECK(row.floor->median == 1e-9);
  CHECK(!row.original);
  CHECK(row.note == "n");
}

TEST_CASE("a change is beyond the spread only where the repetitions of both do not overlap") {
  const bench::Report old = report_with({3, 2, 4});
  CHECK(change_since(old, old.rows[0])->share == 0);
  CHECK(!change_since(old, old.rows[0])->beyond);
  CHECK(!change_since(old, report_with({4, 3.5, 5}).rows[0])->beyond);
  CHECK(change_since(old, report_with({5, 4.5, 6}).rows[0])->beyond);
  CHECK(change_since(old, report_with({1.5, 1, 1.9}).rows[0])->beyond);
  CHECK(change_since(old, report_with({1.5, 1, 1.9}).rows[0])->share == doctest::Approx(-0.5));
  Row renamed = old.rows[0];
  renamed.name = "match: y";
  CHECK(!change_since(old, renamed));
}

TEST_CASE("reports of other sizes or other requests are not compared") {
  bench::Report a = report_with({1, 1, 1}), b = a;
  CHECK(!cannot_compare(a, b));
  b.quick = true;
  CHECK(cannot_compare(a, b));
  b.quick = false;
  b.source = "one.jsonl";
  CHECK(!cannot_compare(a, b));
  a.source = "two.jsonl";
  CHECK(cannot_compare(a, b)->find("two.jsonl") != std::string::npos);
}

TEST_CASE("a file that is not a report gives an error message with its name") {
  const File file;
  CHECK(read_report(file.path).error().text.find(file.path) == 0);
  for (const char* text : {"", "[]", "{\"index\": 3}",
                           "{\"index\": \"radix\", \"source\": \"\", \"quick\": false, "
                           "\"remarks\": [], \"rows\": [{\"section\": \"\"}]}"}) {
    std::ofstream(file.path) << text;
    const auto read = read_report(file.path);
    REQUIRE(!read);
    CHECK(read.error().text.find(file.path) == 0);
  }
}
