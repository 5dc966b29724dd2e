/// A listing is described once, and each renderer writes its values in its own way.
#include <doctest/doctest.h>
#include <listing/listing.h>

#include <nlohmann/json.hpp>

using namespace canopy;
using listing::Change;
using listing::is_before;
using listing::Listing;
using listing::Points;
using listing::Share;
using listing::Unit;
using listing::Value;

namespace {

struct Row {
  std::string name;
  std::uint64_t tokens = 0, floor = 0;
};

Listing<Row> rows_listing() {
  Listing<Row> list;
  list.add("tenant", Unit::text, [](const Row& row) { return row.name; }).in_files("tenant");
  list.add("tokens", Unit::tokens, [](const Row& row) { return row.tokens; }).in_files("tokens");
  list.add("of all", Unit::count, [](const Row& row) { return Share{row.tokens, 200'000}; }).in_files("share");
  list.add("floor", Unit::count, [](const Row& row) { return listing::unless_zero(row.floor); }).if_any();
  list.add_in_files("floor_tokens", [](const Row& row) { return row.floor; });
  return list;
}

const std::vector<Row> kRows = {{"b,c", 150'000, 0}, {"a", 50'000, 0}};

}  // namespace

TEST_CASE("listing: a value in full, in brief and in a file") {
  const auto ways = [](const Value& value, Unit unit) {
    return std::vector<std::string>{in_full(value, unit), in_brief(value, unit), in_file(value)};
  };
  using Ways = std::vector<std::string>;
  const Value number = std::uint64_t{1'234'567};
  CHECK(ways(number, Unit::count) == Ways{"1,234,567", "1,234,567", "1234567"});
  CHECK(ways(number, Unit::tokens) == Ways{"1,234,567", "1.2 M", "1234567"});
  CHECK(ways(number, Unit::us) == Ways{"1.23 s", "1.23 s", "1234567"});
  CHECK(ways(std::string("lru"), Unit::text) == Ways{"lru", "lru", "lru"});
  CHECK(ways(Share{1, 4}, Unit::count) == Ways{"25.0 %", "25.0 %", "0.25"});
  CHECK(ways(Share{0, 0}, Unit::count) == Ways{"-", "-", ""});
  CHECK(ways(Change{-1'204}, Unit::count) == Ways{"-1,204", "-1.2 k", "-1204"});
  CHECK(ways(Change{0}, Unit::count) == Ways{"=", "=", "0"});
  CHECK(ways(Points{0.013}, Unit::count) == Ways{"+1.30 points", "+1.3", "0.013"});
  CHECK(ways(listing::difference(Share{1, 4}, Share{2, 4}), Unit::count)[0] == "+25.00 points");
  CHECK(ways(listing::difference(Share{0, 0}, Share{2, 4}), Unit::count)[0] == "-");
  CHECK(ways(listing::difference(std::uint64_t{5}, std::uint64_t{3}), Unit::count)[0] == "-2");
  CHECK(ways({}, Unit::tokens) == Ways{"-", "-", ""});
}

TEST_CASE("listing: people see columns with a heading, files those with a name") {
  const listing::Cells people = full_cells(rows_listing(), kRows), file = file_cells(rows_listing(), kRows);
  CHECK(people.heads == std::vector<std::string>{"tenant", "tokens", "of all"});  // no row has a floor
  CHECK(people.rows[0] == std::vector<std::string>{"b,c", "150,000", "75.0 %"});
  CHECK(file.heads == std::vector<std::string>{"tenant", "tokens", "share", "floor_tokens"});
  CHECK(listing::csv_of(rows_listing(), kRows) ==
        "tenant,tokens,share,floor_tokens\n\"b,c\",150000,0.75,0\na,50000,0.25,0\n");
  const std::vector<Row> some = {{"a", 1, 0}, {"b", 1, 7}};
  CHECK(full_cells(rows_listing(), some).heads.back() == "floor");
  CHECK(full_cells(rows_listing(), some).rows[0].back() == "-");
  CHECK(only(rows_listing(), {"of all", "tenant"}).columns.size() == 2);
}

TEST_CASE("listing: JSON has numbers, and null for what is not known") {
  Listing<Row> list = rows_listing();
  list.add_in_files("ceiling", [](const Row&) { return Value(); });
  CHECK(listing::json_of<nlohmann::ordered_json>(list, std::vector<Row>{kRows[1]}).dump() ==
        R"([{"tenant":"a","tokens":50000,"share":0.25,"floor_tokens":0,"ceiling":null}])");
}

TEST_CASE("listing: rows are sorted by a column, both ways, and equal ones keep their order") {
  const Listing<Row> list = rows_listing();
  std::vector<Row> rows = {{"b", 2, 0}, {"a", 3, 0}, {"c", 2, 0}};
  const auto names = [&] { return rows[0].name + rows[1].name + rows[2].name; };
  sort(rows, list.columns[1], true);
  CHECK(names() == "abc");
  sort(rows, list.columns[0], true);
  CHECK(names() == "cba");
  sort(rows, list.columns[2], false);
  CHECK(names() == "cba");
  CHECK(is_before({}, std::uint64_t{0}));  // an unknown value comes first
  CHECK(is_before(Change{-3}, Change{1}));
}
