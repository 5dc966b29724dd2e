#include <hazard/counts_file.h>
#include <hazard/hazard.h>
#include <hazard/work_clock.h>

#include <canopy/base/random.h>
#include <doctest/doctest.h>
#include <mirror/rank_text.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

using namespace canopy;
using namespace canopy::hazard;

namespace {

/// A path that nothing has, and that is removed at the end.
struct CountsFile {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("canopy-hazard-" + std::to_string(::getpid()) + ".counts");
  CountsFile() { std::filesystem::remove(path); }
  ~CountsFile() { std::filesystem::remove(path); }
  std::string text() const {
    std::stringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  void write(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }
};

struct NoPath final : Path {
  bool next(NodeFacts&) override { return false; }
};

ReuseCounts some_counts() {
  ReuseCounts counts;
  Random random(3);
  for (const std::size_t k : {std::size_t{7}, std::size_t{0}, kClasses - 1})
    for (std::size_t bin = 0; bin < kBins; ++bin)
      counts.add(k, bin, {static_cast<double>(random.below(1000)) / 7, static_cast<double>(random.below(1000)) / 3});
  return counts;
}

}  // namespace

TEST_CASE("hazard: what is saved is loaded again to the last bit") {
  const CountsFile file;
  const ReuseCounts counts = some_counts();
  REQUIRE(save_counts(file.path, counts));
  ReuseCounts again;
  const auto loaded = load_counts(file.path, again);
  REQUIRE_MESSAGE(loaded, (loaded ? "" : loaded.error().text));
  CHECK(again.known() == counts.known());
  for (const std::size_t k : counts.known())
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      CHECK(again.of(k)[bin].returned == counts.of(k)[bin].returned);
      CHECK(again.of(k)[bin].survived == counts.of(k)[bin].survived);
    }
  REQUIRE(save_counts(file.path, again));  // replaces a file of its own
}

TEST_CASE("hazard: a file that was cut, damaged or is another's is refused with file and line, and adds nothing") {
  const CountsFile file;
  REQUIRE(save_counts(file.path, some_counts()));
  const std::string good = file.text();
  const auto refused = [&](const std::string& text) {
    file.write(text);
    ReuseCounts counts;
    const auto loaded = load_counts(file.path, counts);
    CHECK(counts.weight() == 0);
    return loaded ? std::string() : loaded.error().text;
  };
  for (std::size_t length = 0; length + 1 < good.size(); length += 1 + length / 7) {
    CAPTURE(length);
    CHECK(refused(good.substr(0, length)).starts_with(file.path.string() + ":"));
  }
  for (std::size_t at = 0; at + 1 < good.size(); at += 13) {
    std::string damaged = good;
    damaged[at] = damaged[at] == '1' ? '2' : '1';
    if (damaged == good) continue;
    CAPTURE(at);
    CHECK(refused(damaged).starts_with(file.path.string() + ":"));
  }
  CHECK(refused("{}\n").find(":1:1: found '{}'; expected 'canopy hazard counts 1: ") != std::string::npos);
  CHECK(refused(good + "more\n").find("the file is damaged") != std::string::npos);
  CHECK(refused(good.substr(0, good.rfind("sum"))).find("cut short") != std::string::npos);
  const std::size_t line = good.find('\n') + 1;
  CHECK(refused(good.substr(0, line) + "99999 1\n").find(":2:") != std::string::npos);
  CHECK(refused(good.substr(0, line) + "7 -1\n").find("expected a weight from 0 to") != std::string::npos);
  CHECK(refused(good.substr(0, line) + "7 nan\n").find("expected a weight from 0 to") != std::string::npos);
}

TEST_CASE("hazard: no file but its own is replaced") {
  const CountsFile file;
  file.write("what I wrote yesterday\n");
  const auto saved = save_counts(file.path, some_counts());
  REQUIRE(!saved);
  CHECK(saved.error().text == file.path.string() + ": is not a file of hazard's counts, and no other file is replaced");
  CHECK(file.text() == "what I wrote yesterday\n");
  file.write("");
  CHECK(save_counts(file.path, some_counts()));
  CHECK(!can_save_counts("/no/such/folder/counts"));
  CHECK(!can_save_counts("/dev/null"));
}

TEST_CASE("hazard: what was seen since the last curves is saved with the rest") {
  const CountsFile file;
  {
    Hazard::Config config;
    config.save = file.path;
    Hazard policy(config);
    NoPath none;
    RequestFacts request;
    request.prompt = kPrintStride, request.ending = Ending::finished;
    request.clock.capacity = 1'000'000;
    for (const std::uint64_t print : {std::uint64_t{17}, std::uint64_t{18}}) {
      request.prefix_prints = {&print, 1};
      policy.ended(request, none);
      request.clock.allocated = 15'000;  // 15 ages: the first bin is over, and no curve was made
    }
  }
  ReuseCounts counts;
  REQUIRE(load_counts(file.path, counts));
  REQUIRE(counts.known().size() == 1);
  CHECK(counts.of(counts.known()[0])[0].survived == 1);
}

namespace {

/// Learned: what came without a hint comes back between 100 and 125; under any hint nothing does.
Hazard learned_from(const CountsFile& file, std::size_t plain, std::initializer_list<std::size_t> hinted) {
  ReuseCounts counts;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    counts.add(plain, bin, kBinEdges[bin + 1] > 100 && kBinEdges[bin] < 125 ? Reuse{900, 100} : Reuse{0, 1000});
    for (const std::size_t of_class : hinted) counts.add(of_class, bin, {0, 1000});
  }
  REQUIRE(save_counts(file.path, counts));
  Hazard::Config config;
  config.load = file.path;
  return Hazard(config);
}

}  // namespace

TEST_CASE(
    "hazard: a rank says in words the class, the age and the best age to give up, below the time of the last use") {
  const CountsFile file;
  const std::size_t plain = class_of({2, 2000, 500, 0});
  const std::uint64_t hints = hint::kSessionEnded | hint::of_class(3);
  Hazard policy = learned_from(file, plain, {class_of({9, 0, 0, hints})});
  const auto words = [](EvictionStrategy& of, NodeFacts node, std::size_t of_class, double began) {
    std::uint64_t tag = NodeTag::of(began, of_class);
    node.tag = &tag;
    node.created = 5, node.last_access = 990;
    node.clock.capacity = 1'000'000, node.clock.allocated = 50'000, node.clock.now = 1000;
    return inspector::rank_words(of.describe().rank, of.rank(node), 1000);
  };
  const std::string known = words(policy, {}, plain, 0);
  CHECK(known.find(" hits expected per token and turnover, discounted for age, used 10 ticks ago; used twice, 1,280 to "
                   "3,071 new tokens, long answer; age from ") != std::string::npos);
  CHECK_MESSAGE(known.ends_with("; 0.15 turnovers is the best age to give it up"), known);
  CHECK(words(policy, {}, class_of({9, 0, 0, hints}), 0)
            .find("used 6 times or more, below 640 new tokens, short answer, session ended, class 3; age from ") !=
        std::string::npos);
  Hazard nothing({});
  CHECK(words(nothing, {}, plain, 0).starts_with("0 hits expected "));
  CHECK(words(nothing, {}, plain, 0).ends_with("; nothing learned yet"));
  std::uint64_t tag = 0;
  NodeFacts unused;
  unused.tag = &tag, unused.created = 90;
  CHECK(
      inspector::rank_words(nothing.describe().rank, nothing.rank(unused), 100).find("used 10 ticks ago; never used") !=
      std::string::npos);
}

TEST_CASE("hazard: a node is worth no more than its parent where the parent's client ended the session, only there") {
  const CountsFile file;
  const std::size_t plain = class_of({1, 0, 0, 0}), ended = class_of({1, 0, 0, hint::kSessionEnded}),
                    other = class_of({1, 0, 0, hint::of_class(1)});
  Hazard policy = learned_from(file, plain, {ended, other});
  NoPath none;
  RequestFacts last;
  last.hints = hint::kSessionEnded;
  policy.ended(last, none);  // before the first end that is told, no parent is asked
  const auto rank_below = [&](std::size_t of_parent) {
    std::uint64_t tag = NodeTag::of(0, plain), above = NodeTag::of(0, of_parent);
    NodeFacts node;
    node.tag = &tag, node.parent_tag = &above, node.last_access = 1;
    return policy.rank(node);
  };
  CHECK(rank_below(ended).major < rank_below(plain).major);
  CHECK(rank_below(other) == rank_below(plain));
}
