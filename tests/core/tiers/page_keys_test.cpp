#include <canopy/base/random.h>
#include <conformance/model/effort.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <support/engines.h>

#include <set>

#include <tiers/page_record.h>

using namespace canopy;
using namespace canopy::test;

namespace {

std::string hex(const auto& value) {
  std::string text;
  for (const auto byte : std::as_bytes(std::span(&value, 1)))
    text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

const char* const kModelled = R"(
page_size: 4
model: { name: llama, revision: 1a2b, dtype: bf16 }
index: radix
groups:
  full: { reach: path, capacity: 64, allocator: free_list, eviction: lru }
  other: { reach: path, capacity: 64, allocator: free_list, eviction: lru }
store: { host: { layers: 2, streams: { k: 8, v: 12 } } }
)";

std::string text_of(const std::vector<std::string>& changes, std::size_t group) {
  auto document = parse_yaml(kModelled, "test");
  for (const std::string& change : changes) REQUIRE(set_value(*document, change));
  const auto config = read_engine_config(*document, plugins());
  REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
  const auto engine = Engine::create(*config, plugins());
  REQUIRE(engine);
  return fingerprint_text(*config, state_of(**engine), group);
}

}  // namespace

// The values were computed with Python's hashlib from the definition in page_record.h.
TEST_CASE("page keys: as computed by another program") {
  PageKeys keys(fingerprint_of("a fingerprint"), 4, 1);
  const PageKey space = keys.space({"acme", "", "pepper"});
  CHECK(hex(space) == "e5f580779dfb58a3bc2291a3660ba90db90b4337a0490bda03af770798f4dd65");
  CHECK(hex(keys.space({})) == "1654090277f0bd1a5bd79560b1b16c85bcc5e8e61d5eaa44318c8cd959f26754");
  keys.follow(space, tokens(1000, 70 * 4 + 1));
  CHECK(keys.pages() == 70);
  CHECK(hex(keys.key(0, 0)) == "20f8b5d39d362e0c717a79602a70ba10134a5738d202056f20f8b5d39d362e0c");
  CHECK(hex(keys.key(1, 0)) == "02619b1eddcb41f8362ba00dbfde97382cb8a604ccff767220f8b5d39d362e0c");
  CHECK(hex(keys.key(63, 0)) == "e0ff38c606031796481e31401ca9ee620e52383dda68167820f8b5d39d362e0c");
  CHECK(hex(keys.key(64, 0)) == "6f120563cb69e9339c35a89606a448bdc4c98248e79d4cb96f120563cb69e933");
  CHECK(hex(keys.key(69, 0)) == "97ce7716c232a0415c41e565b7fa52c5472b3d6258c4dfe66f120563cb69e933");
  CHECK(hex(keys.key(69, 2)) == "6917a8047b28abd27c9d21b131f620d5175aad795b43a2396f120563cb69e933");
  CHECK(keys.parent(0, 2) == space);
  CHECK(keys.parent(64, 0) == keys.key(63, 0));
}

TEST_CASE("page keys: of a path that shares a front part with the one before, as of a new one") {
  const Fingerprint fingerprint = fingerprint_of("x");
  Random random(3);
  for (const Units overlap : {0U, 1U}) {
    PageKeys kept(fingerprint, 4, overlap);
    std::vector<std::uint32_t> words = tokens(1, 40);
    for (int i = 0; i < 300; ++i) {
      words.resize(random.below(static_cast<std::uint32_t>(words.size()) + 1));
      for (std::uint32_t more = random.below(30); more > 0; --more) words.push_back(random.below(2));
      const PageKey space = kept.space({random.one_in(4) ? "a" : "b", {}, {}});
      kept.follow(space, words);
      PageKeys fresh(fingerprint, 4, overlap);
      fresh.follow(space, words);
      REQUIRE(kept.pages() == (words.size() > overlap ? (words.size() - overlap) / 4 : 0));
      REQUIRE(fresh.pages() == kept.pages());
      for (std::size_t page = 0; page < kept.pages(); ++page)
        REQUIRE(kept.key(page, page % 2) == fresh.key(page, page % 2));
    }
  }
}

TEST_CASE("page keys: what is shared with one of the last eight paths is not computed again") {
  PageKeys keys(fingerprint_of("x"), 4, 0);
  const PageKey space = keys.space({});
  std::vector<std::vector<std::uint32_t>> paths;
  for (std::uint32_t i = 0; i < 8; ++i) {
    paths.push_back(tokens(1, 400));  // a hundred pages in common, and ten of its own
    for (std::uint32_t more = 0; more < 40; ++more) paths.back().push_back(10'000 + 100 * i + more);
  }
  for (const auto& path : paths) keys.follow(space, path);
  CHECK(keys.computed() == 100 + 8 * 10);
  for (int round = 0; round < 3; ++round)
    for (const auto& path : paths) {
      keys.follow(space, path);
      CHECK(keys.pages() == 110);
      keys.follow(space, std::span(path).first(200));
      CHECK(keys.pages() == 50);
    }
  CHECK(keys.computed() == 100 + 8 * 10);
  keys.follow(keys.space({"another", {}, {}}), paths[0]);
  CHECK(keys.computed() == 100 + 8 * 10 + 110);
}

TEST_CASE("page keys: nothing that changes the bytes or the tenant leaves a key or a fingerprint as it was") {
  const std::vector<std::vector<std::string>> changes = {
      {},
      {"model.name=llama2"},
      {"model.revision=1a2c"},
      {"model.dtype=fp8"},
      {"model.name=llama1", "model.revision=a2b"},
      {"model.extra=rope 4"},
      {"model.ranks=2"},
      {"model.ranks=2", "model.rank=1"},
      {"page_size=8"},
      {"key=bigram"},
      {"store.host.layers=3"},
      {"store.host.streams.k=12", "store.host.streams.v=8"},
      {"store.host.streams.scales=4"},
      {"groups.more.reach=path", "groups.more.capacity=64", "groups.more.allocator=free_list",
       "groups.more.eviction=lru"}};
  const std::vector<Space> tuples = {{},
                                     {"a", "bc", ""},
                                     {"x", "bc", ""},
                                     {"ab", "c", ""},
                                     {"a", "", "bc"},
                                     {"", "a", ""},
                                     {"a", "", ""},
                                     {"", "", "a"},
                                     {"a/adapter:b", "", ""},
                                     {"a", "b", ""}};
  const std::uint64_t prompts = with_effort(100'000) / (changes.size() * tuples.size()) + 10;
  std::set<std::array<std::uint64_t, 4>> seen;
  std::set<std::string> texts;
  std::size_t named = 0;
  for (const auto& change : changes)
    for (const std::size_t group : {std::size_t{0}, std::size_t{1}}) {
      const std::string text = text_of(change, group);
      CHECK_MESSAGE(texts.insert(text).second, text);
      PageKeys keys(fingerprint_of(text), 4, 0);
      for (const Space& tuple : tuples) {
        const PageKey space = keys.space(tuple);
        seen.insert(space.bits), ++named;
        for (Token prompt = 0; prompt < prompts / 2; ++prompt, ++named) {
          keys.follow(space, tokens(prompt, 4));
          seen.insert(keys.key(0, 0).bits);
        }
      }
    }
  CHECK(seen.size() == named);
  CHECK(text_of({}, 0) == text_of({"groups.full.capacity=1M", "groups.full.eviction=slru"}, 0));
}
