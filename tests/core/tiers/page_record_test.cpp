#include <canopy/base/random.h>
#include <conformance/model/effort.h>
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <tiers/page_record.h>

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr std::uint64_t kImage = 4096;

/// A page with its record as the engine puts it.
struct Sealed {
  std::vector<std::uint32_t> words;
  RecordFacts facts;
  std::vector<std::byte> record;

  Sealed(Random& random, std::size_t count) : record(kRecordHeader + kImage) {
    for (std::size_t i = 0; i < count; ++i) words.push_back(random.below(50'000));
    for (auto* const key : {&facts.key, &facts.parent})
      for (std::uint64_t& part : key->bits) part = random.next();
    facts.fingerprint = fingerprint_of("model");
    facts.begin = 16 * random.below(1000);
    facts.image_bytes = kImage;
    for (std::byte& byte : record) byte = static_cast<std::byte>(random.below(256));
    seal();
  }
  void seal() {
    facts.words = words;
    seal_record(record.data(), facts);
  }
  const char* flaw() const { return flaw_of_record(record.data(), facts); }
  Sealed(const Sealed& other) : words(other.words), facts(other.facts), record(other.record) { facts.words = words; }
  Sealed& operator=(const Sealed&) = delete;
};

/// Kinds of damage, all of which must be noticed. Each function damages a good record.
using Damage = void (*)(Random&, Sealed& mine, Sealed& other);
const std::vector<std::pair<const char*, Damage>>& damages() {
  static const std::vector<std::pair<const char*, Damage>> all = {
      {"a bit of the image",
       [](Random& random, Sealed& mine, Sealed&) {
         mine.record[kRecordHeader + random.below(kImage)] ^= static_cast<std::byte>(1U << random.below(8));
       }},
      {"a bit of the header",
       [](Random& random, Sealed& mine, Sealed&) {
         mine.record[random.below(kRecordHeader)] ^= static_cast<std::byte>(1U << random.below(8));
       }},
      {"torn: the end is of what was there before",
       [](Random& random, Sealed& mine, Sealed& other) {
         const auto from = static_cast<std::ptrdiff_t>(512 * random.below(15) + 512);
         std::copy(other.record.begin() + from, other.record.end(), mine.record.begin() + from);
       }},
      {"truncated and filled with zeros",
       [](Random& random, Sealed& mine, Sealed&) {
         std::fill(mine.record.begin() + random.below(kRecordHeader + kImage - 1), mine.record.end(), std::byte{0});
       }},
      {"all zeros", [](Random&, Sealed& mine, Sealed&) { std::ranges::fill(mine.record, std::byte{0}); }},
      {"another record in its place", [](Random&, Sealed& mine, Sealed& other) { mine.record = other.record; }},
      {"the image of another record",
       [](Random&, Sealed& mine, Sealed& other) {
         std::copy(other.record.begin() + kRecordHeader, other.record.end(), mine.record.begin() + kRecordHeader);
       }},
      {"another version of the format",
       [](Random& random, Sealed& mine, Sealed&) { mine.record[8] = static_cast<std::byte>(2 + random.below(200)); }},
      {"the same key under another fingerprint",
       [](Random&, Sealed& mine, Sealed&) {
         mine.facts.fingerprint = fingerprint_of("another model");
         mine.seal();
         mine.facts.fingerprint = fingerprint_of("model");
       }},
      {"the same key with other words",
       [](Random& random, Sealed& mine, Sealed&) {
         std::uint32_t& word = mine.words[random.below(static_cast<std::uint32_t>(mine.words.size()))];
         ++word, mine.seal(), --word;
       }},
      {"the same words behind another page",
       [](Random&, Sealed& mine, Sealed&) { ++mine.facts.parent.bits[0], mine.seal(), --mine.facts.parent.bits[0]; }},
      {"another group, depth or size of the image",
       [](Random& random, Sealed& mine, Sealed&) {
         const RecordFacts right = mine.facts;
         const std::uint32_t which = random.below(3);
         if (which == 0) mine.facts.group = 1;
         if (which == 1) mine.facts.begin += 16;
         if (which == 2) mine.facts.image_bytes = kImage / 2;
         mine.seal();
         mine.facts = right;
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("page records: what was sealed is right, whatever the size of its page") {
  Random random(1);
  for (const std::size_t words : {1U, 16U, 17U, 960U, 961U, 65536U}) {
    CAPTURE(words);
    const Sealed sealed(random, words);
    CHECK(sealed.flaw() == nullptr);
    CHECK(std::memcmp(sealed.record.data(), "CNPYPAGE", 8) == 0);
    CHECK(std::memcmp(sealed.record.data() + 32, &sealed.facts.key, 32) == 0);
  }
}

TEST_CASE("page records: every damaged one is noticed") {
  Random random(2);
  std::map<std::string, std::uint64_t> flaws;
  const std::uint64_t each = with_effort(100'000) / damages().size() + 1;
  Sealed mine(random, 17), other(random, 17);
  for (const auto& [name, damage] : damages()) {
    CAPTURE(name);
    for (std::uint64_t i = 0; i < each; ++i) {
      Sealed damaged = mine;
      damage(random, damaged, other);
      const char* const flaw = damaged.flaw();
      REQUIRE(flaw != nullptr);
      ++flaws[flaw];
    }
  }
  CHECK(flaws.size() >= 8);  // each has its own reason
}

TEST_CASE("page records: nothing of what was in the memory before is sealed with a page") {
  Random random(3);
  for (const std::size_t words : {1U, 17U, 959U}) {
    const Sealed sealed(random, words);
    const auto behind = sealed.record.begin() + static_cast<std::ptrdiff_t>(256 + words * sizeof(std::uint32_t));
    CHECK(std::all_of(behind, sealed.record.begin() + kRecordHeader,
                      [](std::byte byte) { return byte == std::byte{0}; }));
  }
}

TEST_CASE("page records: a reader that expects none in particular gets a record's owner, and whether it is whole") {
  Random random(4);
  const Sealed sealed(random, 17);
  const auto flaw = [&](auto&& damage) {
    auto record = sealed.record;
    damage(record);
    const RecordSummary summary = read_record(record);
    return std::string(summary.flaw ? summary.flaw : "");
  };
  const RecordSummary summary = read_record(sealed.record);
  CHECK(summary.flaw == nullptr);
  CHECK(summary.key == sealed.facts.key);
  CHECK(summary.fingerprint == sealed.facts.fingerprint);
  using Record = std::vector<std::byte>;
  const auto touch = [](std::size_t at) { return [at](Record& record) { record[at] ^= std::byte{1}; }; };
  CHECK(flaw([](Record& record) { record.push_back(std::byte{7}); }).empty());
  CHECK(flaw(touch(0)) == "it is no record");
  CHECK(flaw(touch(8)) == "it has another format");
  CHECK(flaw(touch(12)) == "it has another format");
  CHECK(flaw(touch(40)) == "its header is damaged");
  CHECK(flaw(touch(kRecordHeader + kImage - 1)) == "its image is damaged");
  CHECK(flaw([](Record& record) { record.pop_back(); }) == "it ends too early");
  CHECK(flaw([](Record& record) { record.resize(kRecordHeader - 1); }) == "it ends too early");
}
