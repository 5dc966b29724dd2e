#include <canopy/base/random.h>
#include <conformance/every.h>
#include <conformance/model/effort.h>
#include <conformance/model/plugins.h>
#include <conformance/model/storage_caller.h>
#include <conformance/model/storage_places.h>

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

namespace {

using namespace canopy;
using namespace canopy::test;
using Keys = StorageCaller::Keys;

constexpr std::uint64_t kSmall = 4096, kLarge = 17 * 4096, kHuge = 2 * 1024 * 1024 + 4096;
const PageKey kSpace = key_of(0xFFFFFFFF, 0), kOther = key_of(0xFFFFFFFF, 1);

/// Returns a new context: a server that outlives the test has no records of it yet.
PageStorage::Context fresh(std::uint64_t record_bytes) {
  static std::uint64_t made = 0;
  static const auto began = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  Random random(began ^ static_cast<std::uint64_t>(::getpid()) << 48, ++made * 4);
  PageStorage::Context context;
  context.record_bytes = record_bytes;
  for (std::byte& byte : context.fingerprint) byte = static_cast<std::byte>(random.below(256));
  return context;
}

std::size_t done_in(const std::vector<Fate>& fates) { return count_of(fates, Fate::done); }

template <class Test>
void for_every_kind(Test&& test) {
  for (const StorageKind& kind : storage_kinds()) {
    CAPTURE(kind.shown);
    const auto place = kind.place();
    test(kind, *place);
  }
}

/// A storage, its caller and its place.
template <class Test>
void for_every_storage(Test&& test, std::initializer_list<std::uint64_t> sizes = {kSmall}, std::uint32_t room = 64) {
  for (const std::uint64_t record_bytes : sizes)
    for_every_kind([&](const StorageKind& kind, const StoragePlace& place) {
      const auto context = fresh(record_bytes);
      StorageCaller caller(kind.open(place, context), context, 1, room);
      test(caller);
    });
}

/// Returns the number of keys that are found one by one.
std::size_t still_there(StorageCaller& caller, const PageKey& space, const Keys& keys) {
  std::size_t there = 0;
  for (const PageKey& key : keys) there += done_in(caller.get_now(space, {key}));
  return there;
}

}  // namespace

// clang-format off
#define STORAGE_CASES(title, ...) CONTRACT(for_every_storage, (StorageCaller& caller), title, __VA_ARGS__)
#define STORAGE_CASE(title) STORAGE_CASES(title, {kSmall})
#define PLACE_CASE(title) CONTRACT(for_every_kind, (const StorageKind& kind, const StoragePlace& place), title)
// clang-format on

TEST_SUITE_BEGIN("PageStorage");

STORAGE_CASE("a storage reports its traits and its use, and no results before the first call") {
  const StorageTraits traits = caller.storage().traits();
  CHECK(traits.batch > 0);
  CHECK(traits.calls > 0);
  CHECK(caller.poll(0) == 0);
  CHECK(caller.poll() == 0);
  const StorageUse use = caller.storage().use();
  CHECK(use.used <= use.capacity);
  CHECK(caller.storage().descriptor() == caller.storage().descriptor());
}

STORAGE_CASES("a record that was put is read back unchanged, and one that was not put is absent", {kSmall, kLarge}) {
  // A storage may forget, but one that keeps nothing at all keeps no records.
  std::size_t kept = 0, got = 0;
  for (std::uint32_t i = 0; i < 8; ++i) {
    kept += done_in(caller.put_now(kSpace, path_of(i, 4)));
    got += done_in(caller.get_now(kSpace, path_of(i, 4)));
    CHECK(done_in(caller.get_now(kSpace, path_of(100 + i, 4))) == 0);
    CHECK(caller.find_now(kSpace, path_of(100 + i, 4)) == 0);
  }
  CHECK(kept > 0);
  CHECK(got > 0);
}

STORAGE_CASES("a record of many pieces comes back whole", {kHuge}, 4) {
  const auto put = caller.put(kSpace, path_of(1, 3));
  caller.find(kSpace, path_of(1, 3));
  caller.wait(put);
  caller.get_now(kSpace, path_of(1, 3));  // the caller compares the bytes
}

STORAGE_CASE("find counts the first keys that exist, up to the first one that does not") {
  for (std::uint32_t i = 0; i < 20; ++i) {
    Keys keys = path_of(i, 6);
    const auto fates = caller.put_now(kSpace, {keys.begin(), keys.begin() + 4});
    CHECK(caller.find_now(kSpace, keys) <= 4);
    std::swap(keys[2], keys[5]);  // now a key that was never put comes first
    CHECK(caller.find_now(kSpace, keys) <= 2);
    CHECK(caller.find_now(kSpace, {key_of(50, i), keys[0]}) == 0);
  }
}

STORAGE_CASE("find_each reports each key on its own, whatever there is of those before it") {
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Keys keys = path_of(i, 6);
    caller.put_now(kSpace, {keys[1], keys[4]});
    const auto fates = caller.find_each_now(kSpace, keys);
    for (const std::uint32_t never : {0U, 2U, 3U, 5U}) CHECK(fates[never] != Fate::done);
    found += done_in(fates);
    CHECK(caller.find_now(kSpace, keys) == 0);
    CHECK(done_in(caller.find_each_now(kSpace, path_of(100 + i, 3))) == 0);
  }
  CHECK(found > 0);
}

TEST_CASE("without another writer, a record that find found exists") {
  for (const StorageKind& kind : storage_kinds()) {
    if (kind.faulty) continue;
    const auto place = kind.place();
    const auto context = fresh(kSmall);
    StorageCaller caller(kind.open(*place, context), context, 1);
    if (!caller.storage().traits().exact) continue;
    for (std::uint32_t i = 0; i < 20; ++i) {
      caller.put_now(kSpace, path_of(i, 8));
      const std::uint32_t found = caller.find_now(kSpace, path_of(i, 8));
      CHECK(found > 0);
      if (found > 0) CHECK(done_in(caller.get_now(kSpace, path_of(i, found))) == found);
      const auto fates = caller.find_each_now(kSpace, path_of(i, 8));
      CHECK(fates == caller.get_now(kSpace, path_of(i, 8)));
    }
  }
}

STORAGE_CASE("each call ends once, whatever its time limit, with one result per poll or many") {
  Random random(3);
  std::size_t begun = 0, ended = 0;
  for (std::uint32_t i = 0; i < 300; ++i) {
    const std::uint64_t within_us = random.one_in(3) ? 1 : random.one_in(2) ? 0 : 60'000'000;
    const Keys keys = path_of(random.below(10), 1 + random.below(8), random.below(4));
    if (caller.free_records() < keys.size()) {
      ended += caller.calls();
      caller.wait_all();
    }
    switch (random.below(4)) {
      case 0:
        caller.find(kSpace, keys, within_us);
        break;
      case 3:
        caller.find_each(kSpace, keys, within_us);
        break;
      case 1:
        caller.get(kSpace, keys, within_us);
        break;
      default:
        caller.put(kSpace, keys, within_us);
    }
    ++begun;
    if (random.one_in(2)) ended += caller.poll(random.below(3));
  }
  ended += caller.calls();
  caller.wait_all();
  CHECK(begun == ended);
  CHECK(caller.poll() == 0);
}

STORAGE_CASE("no record is kept after one that has no room, and the storage still works") {
  for (std::uint32_t i = 0; i < 30; ++i) {
    const Keys keys = path_of(i, 32);
    const auto fates = caller.put_now(kSpace, keys);
    const auto kept = static_cast<std::ptrdiff_t>(done_in(fates));
    if (std::find(fates.begin(), fates.end(), Fate::full) == fates.begin() + kept)
      CHECK(still_there(caller, kSpace, {keys.begin() + kept, keys.end()}) == 0);
    CHECK(caller.storage().use().used <= caller.storage().use().capacity);
  }
  std::size_t kept = 0;
  for (std::uint32_t i = 0; i < 10; ++i) kept += done_in(caller.put_now(kSpace, path_of(100 + i, 4)));
  CHECK(kept > 0);
}

STORAGE_CASES("putting a record that exists is done, and does not change it", {kLarge}) {
  for (std::uint32_t i = 0; i < 10; ++i) {
    const auto first = caller.put(kSpace, path_of(i, 4)), second = caller.put(kSpace, path_of(i, 4));
    caller.wait_all();
    caller.ended(first);
    caller.ended(second);
    caller.put_now(kSpace, path_of(i, 6));
    caller.get_now(kSpace, path_of(i, 6));
  }
}

STORAGE_CASE("a flush removes everything that was put into its space before, and nothing from other spaces") {
  std::size_t stayed = 0;
  for (std::uint32_t i = 0; i < 10; ++i) {
    const Keys flushed = path_of(i, 4), other = path_of(100 + i, 4);
    caller.put_now(kSpace, flushed);
    const auto on_its_way = caller.put(kSpace, path_of(200 + i, 4));
    caller.put_now(kOther, other);
    caller.put(kSpace, path_of(300 + i, 4));
    REQUIRE(caller.storage().flush(kSpace));
    CHECK(caller.find_now(kSpace, flushed) == 0);
    CHECK(done_in(caller.find_each_now(kSpace, flushed)) == 0);
    caller.ended(on_its_way);
    for (const std::uint32_t before : {i, 200 + i, 300 + i})
      CHECK(still_there(caller, kSpace, path_of(before, 4)) == 0);
    stayed += still_there(caller, kOther, other);
    // Records that are put from now on are kept as before.
    caller.put_now(kSpace, flushed);
    caller.get_now(kSpace, flushed);
  }
  CHECK(stayed > 0);
}

STORAGE_CASE("what was removed may be put again") {
  std::size_t got = 0;
  for (std::uint32_t i = 0; i < 10; ++i) {
    const Keys keys = path_of(i, 6);
    caller.put_now(kSpace, keys);
    const auto on_its_way = caller.get(kSpace, keys);
    caller.storage().remove(kSpace, Keys{keys[3], keys[1], key_of(99, i)});
    caller.wait(on_its_way);
    caller.storage().remove(kSpace, keys);
    caller.put_now(kSpace, keys);
    got += done_in(caller.get_now(kSpace, keys));
  }
  CHECK(got > 0);
}

PLACE_CASE("two places, two fingerprints and two ranks never mix") {
  const auto elsewhere = kind.place();
  std::vector<PageStorage::Context> contexts(4, fresh(kSmall));
  contexts[1].fingerprint[31] ^= std::byte{1};
  contexts[2].rank = 1;
  for (auto& context : contexts) context.ranks = 2;
  std::vector<std::unique_ptr<StorageCaller>> callers;
  for (std::uint32_t i = 0; i < contexts.size(); ++i) {
    // The last one has the context of the first one in another place. If the place has no name of its own, as on a
    // server, it is the same place again and left out.
    if (i == 3 && elsewhere->options() == place.options() && callers[0]->storage().traits().shared) break;
    callers.push_back(
        std::make_unique<StorageCaller>(kind.open(i == 3 ? *elsewhere : place, contexts[i]), contexts[i], i));
  }
  for (auto& caller : callers) caller->put_now(kSpace, path_of(1, 8));
  // Each caller compares the records with its own bytes of the key.
  for (auto& caller : callers) caller->get_now(kSpace, path_of(1, 8));
  callers[0]->put_now(kSpace, path_of(2, 4));
  for (std::size_t i = 1; i < callers.size(); ++i) CHECK(callers[i]->find_now(kSpace, path_of(2, 4)) == 0);
}

PLACE_CASE("a storage that is opened again has only records that were put, and may lack some") {
  const auto context = fresh(kLarge);
  std::size_t kept = 0, found = 0;
  bool durable = false;
  for (std::uint32_t life = 0; life < 4; ++life) {
    StorageCaller caller(kind.open(place, context), context, 1);
    durable = caller.storage().traits().durable;
    // The caller compares the bytes of each record.
    if (life > 0) found += still_there(caller, kSpace, path_of(life - 1, 4));
    kept += done_in(caller.put_now(kSpace, path_of(life, 4)));
    caller.put_now(kOther, path_of(100 + life, 4));
    REQUIRE(caller.storage().flush(kOther));
    for (std::uint32_t before = 0; before <= life; ++before)
      CHECK(still_there(caller, kOther, path_of(100 + before, 4)) == 0);
    caller.put(kSpace, path_of(200 + life, 8));  // pending when the storage ends
  }
  if (durable && kept > 0) CHECK(found > 0);
}

STORAGE_CASES("a storage that ends with pending calls does not touch their memory", {kSmall, kHuge}, 8) {
  caller.put_now(kSpace, path_of(1, 4));
  caller.get(kSpace, path_of(1, 4));
  caller.put(kSpace, path_of(2, 4));
  caller.find(kSpace, path_of(1, 4));
  caller.find_each(kSpace, path_of(1, 4));
  caller.end_storage();
  ::usleep(2'000);
  caller.check_memory();
}

STORAGE_CASES("random calls agree with a map of the records that may exist", {kSmall, kLarge}) {
  Random random(caller.record_bytes());
  const PageKey spaces[] = {kSpace, kOther};
  std::set<std::pair<std::uint32_t, std::uint32_t>> may_be_there;  // path and page
  struct Question {
    std::uint64_t ticket;
    std::uint32_t path, pages;
    std::set<std::pair<std::uint32_t, std::uint32_t>> then;  ///< may_be_there, and records put until its end
    bool each;
  };
  std::vector<Question> questions;
  const auto settle = [&] {
    caller.wait_all();
    for (const Question& one : questions) {
      const Ended ended = caller.ended(one.ticket);
      for (std::uint32_t page = 0; page < one.pages; ++page)
        if (one.each ? ended.fates[page] == Fate::done : page < ended.found)
          if (!one.then.contains({one.path, page}))
            disagree("page {} of path {} exists, but it was not put, or was flushed since", page, one.path);
    }
    questions.clear();
  };
  for (std::uint64_t i = 0; i < with_effort(600); ++i) {
    const std::uint32_t number = random.below(12), pages = 1 + random.below(12);
    const PageKey& space = spaces[number % 2];
    if (caller.free_records() < pages || random.one_in(20)) settle();
    switch (random.below(16)) {
      case 0:
        settle();
        REQUIRE(caller.storage().flush(space));
        std::erase_if(may_be_there, [&](const auto& page) { return page.first % 2 == number % 2; });
        break;
      case 1:
        caller.storage().remove(space, path_of(number, pages, random.below(4)));
        break;
      case 2:
      case 3:
      case 4:
      case 5:
      case 6:
        caller.put(space, path_of(number, pages));
        for (std::uint32_t page = 0; page < pages; ++page) {
          may_be_there.insert({number, page});
          for (Question& one : questions) one.then.insert({number, page});
        }
        break;
      case 7:
      case 8:
      case 9:
        questions.push_back({caller.find(space, path_of(number, pages)), number, pages, may_be_there, false});
        break;
      case 10:
        questions.push_back({caller.find_each(space, path_of(number, pages)), number, pages, may_be_there, true});
        break;
      default:
        questions.push_back({caller.get(space, path_of(number, pages)), number, pages, may_be_there, true});
    }
    if (random.one_in(2)) caller.poll(1 + random.below(4));
  }
  settle();
}

TEST_SUITE_END();
