/// The books of a storage whose calls end when the test says so.
#include <canopy/helpers/async_calls.h>
#include <poll.h>
#include <support/forked_child.h>

#include <doctest/doctest.h>

#include <array>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace canopy {
namespace {

const PageKey kSpace{{1, 0, 0, 0}}, kOther{{2, 0, 0, 0}};
const std::array<PageKey, 3> kKeys{PageKey{{3, 0, 0, 0}}, PageKey{{4, 0, 0, 0}}, PageKey{{5, 0, 0, 0}}};
using Fates = std::vector<Fate>;

/// The test in place of a transport: it ends calls, and keeps the calls that it was given.
struct Hands {
  bool refuses = false;              ///< begin() has no memory
  std::vector<AsyncCall*> begun;     ///< calls by number
  std::vector<std::size_t> ending;   ///< numbers of calls that end in the next advance()
  std::size_t most = 0, others = 0;  ///< most: as advance() had it last; others: removes and flushes
  AsyncCalls<AsyncCall>* calls = nullptr;
};

class HandMoved final : public StorageTransport<> {
 public:
  using Config = Hands*;
  HandMoved(Hands* const& hands, const PageStorage::Context&) : hands_(*hands) {
    hands_.calls = &calls_;
    REQUIRE(calls_.open_descriptor());
  }
  ~HandMoved() override { hands_.calls = nullptr; }
  StorageTraits traits() const override { return {.exact = true}; }
  StorageUse use() const override { return {.records = 7}; }
  void begin(AsyncCall& call) override {
    if (hands_.refuses) throw std::bad_alloc();
    hands_.begun.push_back(&call);
  }
  void remove(const PageKey&, std::span<const PageKey>) override { ++hands_.others; }
  bool flush(const PageKey&) override { return ++hands_.others, true; }
  void advance(std::size_t most) override {
    hands_.most = most;
    for (const std::size_t number : std::exchange(hands_.ending, {})) calls_.end(*hands_.begun[number]);
  }

 private:
  Hands& hands_;
};

/// A storage and the calls that are made to it.
struct Books {
  Hands hands;
  std::unique_ptr<PageStorage> storage = std::make_unique<AsyncStorage<HandMoved>>(&hands, PageStorage::Context());
  std::array<std::byte, 3> bytes{};
  std::uint64_t ticket = 0;
  struct Reported {
    std::uint64_t ticket;
    Fate fate;
    std::uint32_t found;
    Fates fates;
    friend bool operator==(const Reported&, const Reported&) = default;
  };

  std::uint64_t find(const PageKey& space = kSpace) { return storage->find(++ticket, space, kKeys, 1'000), ticket; }
  std::uint64_t find_each(const PageKey& space = kSpace) {
    return storage->find_each(++ticket, space, kKeys, 1'000), ticket;
  }
  std::uint64_t get(const PageKey& space = kSpace) {
    const std::array<std::byte*, 3> records{&bytes[0], &bytes[1], &bytes[2]};
    return storage->get(++ticket, space, kKeys, records, 1'000), ticket;
  }
  std::uint64_t put(const PageKey& space = kSpace) {
    const std::array<const std::byte*, 3> records{&bytes[0], &bytes[1], &bytes[2]};
    return storage->put(++ticket, space, kKeys, records, kUnlimited, 5), ticket;
  }
  void end(std::size_t number, const Fates& fates) {
    hands.begun[number]->fates = fates;
    hands.calls->end(*hands.begun[number]);
  }
  std::vector<Reported> poll(std::size_t most = 8) {
    std::vector<StorageDone> done(most);
    done.resize(storage->poll(done));
    std::vector<Reported> reported;
    for (const StorageDone& one : done)
      reported.push_back({one.ticket, one.fate, one.found, {one.fates.begin(), one.fates.end()}});
    return reported;
  }
  bool readable() const {
    pollfd one{storage->descriptor(), POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
  }
};

constexpr Fate done = Fate::done, absent = Fate::absent, late = Fate::late, failed = Fate::failed;

}  // namespace

TEST_CASE("storage calls: a call has what its caller gave, and is reported once, in the order of the ends") {
  Books books;
  const std::uint64_t before = monotonic_us();
  books.get(), books.put(kOther), books.find();
  const AsyncCall &get = *books.hands.begun[0], &put = *books.hands.begun[1];
  CHECK(get.keys == std::vector<PageKey>(kKeys.begin(), kKeys.end()));
  CHECK(get.records == std::vector<std::byte*>{&books.bytes[0], &books.bytes[1], &books.bytes[2]});
  CHECK(get.fates == Fates{failed, failed, failed});
  CHECK(get.until_us >= before + 1'000);
  CHECK(put.space == kOther);
  CHECK(put.keep_s == 5);
  CHECK(put.until_us == kUnlimited);
  CHECK(books.poll().empty());
  books.end(1, {done, done, done});
  books.end(0, {done, absent, late});
  CHECK(books.poll(1) == std::vector<Books::Reported>{{2, done, 0, {done, done, done}}});
  CHECK(books.poll(1) == std::vector<Books::Reported>{{1, absent, 0, {done, absent, late}}});
  CHECK(books.poll(1).empty());
  CHECK(books.hands.most == 1);
  CHECK(std::ranges::distance(books.hands.calls->pending()) == 1);
}

TEST_CASE("storage calls: a find counts the first records, and its fate is that of the first one if it is not known") {
  const std::pair<Fates, Books::Reported> cases[] = {
      {{done, done, done}, {1, done, 3, {}}},   {{done, absent, done}, {1, done, 1, {}}},
      {{absent, done, done}, {1, done, 0, {}}}, {{done, late, failed}, {1, done, 1, {}}},
      {{late, done, absent}, {1, late, 0, {}}}, {{failed, failed, done}, {1, failed, 0, {}}},
  };
  for (const auto& [fates, reported] : cases) {
    Books books;
    books.find();
    books.end(0, fates);
    CHECK(books.poll() == std::vector{reported});
  }
}

TEST_CASE("storage calls: a put ends at the first record that was not kept") {
  AsyncCall call;
  call.fates = {done, Fate::full, done};
  CHECK(call.cut() == 1);
  CHECK(call.fates == Fates{done, Fate::full, Fate::full});
  call.fates = {done, done};
  CHECK(call.cut() == 2);
}

TEST_CASE("storage calls: what is read of a space while it is flushed is absent, and nothing else is") {
  for (const bool ends_first : {false, true}) {
    Books books;
    books.get(), books.find(), books.find_each(), books.put(), books.get(kOther);
    const auto end = [&] {
      for (std::size_t i = 0; i < books.hands.begun.size(); ++i) books.end(i, {done, done, late});
    };
    if (ends_first) end();
    CHECK(books.storage->flush(kSpace));
    CHECK(books.hands.begun[3]->flushed);
    CHECK_FALSE(books.hands.begun[4]->flushed);
    if (!ends_first) end();
    CHECK(books.poll() == std::vector<Books::Reported>{{1, absent, 0, {absent, absent, late}},
                                                       {2, done, 0, {}},
                                                       {3, absent, 0, {absent, absent, late}},
                                                       {4, late, 0, {done, done, late}},
                                                       {5, late, 0, {done, done, late}}});
    books.get();
    CHECK_FALSE(books.hands.begun.back()->flushed);  // also in an object that served another call
  }
}

TEST_CASE("storage calls: the descriptor is readable while there is something to report") {
  Books books;
  for (int i = 0; i < 3; ++i) books.get();
  CHECK_FALSE(books.readable());
  books.hands.ending = {0, 1};
  CHECK(books.poll(1).size() == 1);  // the other one has ended as well
  CHECK(books.readable());
  CHECK(books.poll(1).size() == 1);
  CHECK_FALSE(books.readable());
  std::thread([&] { books.hands.calls->end(*books.hands.begun[2]); }).join();
  CHECK(books.readable());
  books.hands.calls->clear_descriptor();
  CHECK_FALSE(books.readable());
  books.storage->flush(kSpace);
  CHECK(books.readable());
  CHECK(books.poll().size() == 1);
  CHECK_FALSE(books.readable());
}

TEST_CASE("storage calls: a call that has no memory has not begun") {
  Books books;
  books.hands.refuses = true;
  CHECK_THROWS_AS(books.get(), std::bad_alloc);
  CHECK(books.hands.calls->pending().empty());
  books.hands.refuses = false;
  books.get();
  books.end(0, {done, done, done});
  CHECK(books.poll() == std::vector<Books::Reported>{{2, done, 0, {done, done, done}}});
}

TEST_CASE("storage calls: of a storage that has broken down each call fails, and it is not called again") {
  Books books;
  books.get(), books.find(), books.put();
  books.end(0, {done, done, done});
  std::thread([&] { books.hands.calls->break_down(); }).join();
  CHECK(books.readable());
  const Fates all_failed{failed, failed, failed};
  CHECK(books.poll() ==
        std::vector<Books::Reported>{{1, done, 0, {done, done, done}}, {2, failed, 0, {}}, {3, failed, 0, all_failed}});
  books.find_each();
  CHECK(books.poll() == std::vector<Books::Reported>{{4, failed, 0, all_failed}});
  books.storage->remove(kSpace, kKeys);
  CHECK_FALSE(books.storage->flush(kSpace));
  CHECK(books.hands.begun.size() == 3);
  CHECK(books.hands.others == 0);
  CHECK(books.storage->use().records == 7);
}

TEST_CASE("storage calls: in a forked child each call fails, and the transport is neither called nor destroyed") {
  Books books;
  books.get(), books.put();
  books.end(0, {done, done, done});
  CHECK(test::true_in_child([&] {
    books.find();
    const auto reported = books.poll();
    bool all = reported.size() == 3 && books.hands.begun.size() == 2 && books.storage->descriptor() == -1;
    for (const auto& one : reported) all &= one.fate == failed;
    all &= !books.storage->flush(kSpace) && books.storage->use().records == 0;
    books.storage.reset();
    return all && books.hands.calls != nullptr && books.hands.others == 0;
  }));
  CHECK(books.poll().size() == 1);
  books.end(1, {done, done, done});
  CHECK(books.poll().size() == 1);
}

}  // namespace canopy
