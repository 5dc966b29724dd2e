#include <doctest/doctest.h>

#include <vector>

#include <tiers/departures.h>

using namespace canopy;

namespace {

/// Pages of 4 units in two groups, and one word of overlap.
struct Evicting {
  std::vector<std::uint32_t> words;
  std::vector<Page> first, second;

  Evicting(std::vector<std::uint32_t> path, Page from) : words(std::move(path)) {
    for (Page page = 0; page < words.size() / 4; ++page)
      first.push_back(from + page), second.push_back(2 * first.back());
  }
  void leave(Departures& departures, Units begin, NamespaceId space = NamespaceId::shared) const {
    Leaving node;
    node.facts.space = space;
    node.facts.begin = begin, node.facts.length = static_cast<Units>(words.size()) - 1 - begin;
    node.words = words;
    node.pages[0] = first, node.pages[1] = second;
    departures.leaving(node);
  }
};

}  // namespace

TEST_CASE("departures: a chain that is evicted from its end is one path, and so is a node that is reported twice") {
  const Evicting whole({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, 20), front({1, 2, 3, 4, 5, 6, 7, 8, 9}, 20),
      other({1, 2, 3, 4, 5, 6, 7, 7, 9}, 30), longer({1, 2, 3, 4, 5, 6, 7, 7, 9, 9, 9, 9, 9}, 40);
  Departures departures(2);
  whole.leave(departures, 8);
  whole.leave(departures, 8);
  front.leave(departures, 4);
  REQUIRE(departures.paths().size() == 1);
  CHECK(departures.paths()[0].begin == 4);
  CHECK(departures.paths()[0].words == whole.words);

  front.leave(departures, 4, NamespaceId{1});
  other.leave(departures, 4);
  longer.leave(departures, 8);
  REQUIRE(departures.paths().size() == 4);
  CHECK(departures.paths()[1].space == NamespaceId{1});
  CHECK(departures.paths()[3].begin == 8);
  for (const auto& [path, pages] : {std::pair{0U, &whole}, {1U, &front}, {2U, &other}, {3U, &longer}}) {
    CAPTURE(path);
    const GroupPages had = departures.pages(departures.paths()[path]);
    CHECK(std::vector<Page>(had[0].begin(), had[0].end()) == pages->first);
    CHECK(std::vector<Page>(had[1].begin(), had[1].end()) == pages->second);
  }
  CHECK(departures.forgotten() == 0);
  departures.clear();
  CHECK(departures.paths().empty());
}
