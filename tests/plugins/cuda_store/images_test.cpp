/// Images that cross the bus beside the work of the device: what order that keeps.
#include <numeric>

#include "support.h"

namespace cuda_store_test {
namespace {

constexpr std::uint32_t kPages = 180, kTokens = kPages * 16, kRow = 64 + 32;

/// A store on a stream of a framework's, pages in three segments of it, and rows of theirs on the device.
struct Beside {
  Device device;
  DeviceStream stream{device};
  std::shared_ptr<KVStore> store = small_store();
  DeviceBytes rows{device, std::size_t{kTokens} * kRow};
  std::vector<Page> pages = std::vector<Page>(kPages);
  std::vector<Bytes> images = std::vector<Bytes>(kPages, Bytes(store->image_bytes()));

  Beside() {
    store->use_stream(stream.get());
    for (std::uint32_t segment = 0; segment < 3; ++segment) REQUIRE(store->back(segment));
    std::iota(pages.begin(), pages.end(), 1U);
    std::reverse(pages.begin(), pages.end());
  }
  ~Beside() { store->use_stream(nullptr); }

  Rows on_device() const { return {{rows.data(), rows.data() + std::size_t{kTokens} * 64}, Rows::At::device}; }
  /// Queues it, for both layers.
  void write(const Bytes& data) {
    upload(device, rows.data(), data, stream.get());
    for (std::uint32_t layer = 0; layer < 2; ++layer) store->write(layer, {pages, 0, kTokens}, on_device());
  }
  Bytes saved() {
    Bytes all(kPages * store->image_bytes());
    store->save(pages, all.data());
    return all;
  }
  std::vector<std::byte*> places() {
    std::vector<std::byte*> places;
    for (Bytes& image : images) places.push_back(image.data());
    return places;
  }
  bool images_are(const Bytes& expected) const {
    const std::size_t used = std::size_t{16} * kRow * 2;
    for (std::size_t i = 0; i < images.size(); ++i)
      if (std::memcmp(images[i].data(), expected.data() + i * store->image_bytes(), used) != 0) return false;
    return true;
  }
};

}  // namespace

TEST_SUITE_BEGIN("images");

TEST_CASE("images of begin_save hold what was there, though the pages are written again at once") {
  Beside beside;
  Random prng(1);
  const Bytes before = random_bytes(prng, std::size_t{kTokens} * kRow), after = random_bytes(prng, before.size());
  beside.write(before);
  const Bytes expected = beside.saved();
  const auto places = beside.places();
  const std::uint64_t ticket = beside.store->begin_save(beside.pages, places);
  CHECK(ticket > 0);
  // The fake runs nothing before a caller waits: so the call has not waited.
  if (fake()) CHECK(beside.store->saved() < ticket);
  beside.write(after);
  REQUIRE(beside.store->sync() == nullptr);
  CHECK(beside.store->saved() >= ticket);
  CHECK(beside.images_are(expected));
  CHECK(beside.saved() != expected);  // the later rows are in the pages
}

TEST_CASE("what comes after begin_load sees the pages filled, and what came before it sees them as they were") {
  Beside beside;
  Random prng(2);
  const Bytes first = random_bytes(prng, std::size_t{kTokens} * kRow), second = random_bytes(prng, first.size());
  beside.write(first);
  const auto places = beside.places();
  const std::uint64_t saved = beside.store->begin_save(beside.pages, places);
  REQUIRE(beside.store->sync() == nullptr);
  beside.write(second);
  const Bytes between_images = beside.saved();
  const DeviceBytes read_before(beside.device, std::size_t{kTokens} * kRow);
  beside.store->read(1, {beside.pages, 0, kTokens},
                     {{read_before.data(), read_before.data() + std::size_t{kTokens} * 64}, Rows::At::device});
  const std::vector<const std::byte*> from(places.begin(), places.end());
  const std::uint64_t loaded = beside.store->begin_load(from, beside.pages);
  CHECK(loaded > saved);
  const DeviceBytes read_after(beside.device, std::size_t{kTokens} * kRow);
  beside.store->read(1, {beside.pages, 0, kTokens},
                     {{read_after.data(), read_after.data() + std::size_t{kTokens} * 64}, Rows::At::device});
  REQUIRE(beside.store->sync() == nullptr);
  CHECK(beside.store->loaded() >= loaded);
  CHECK(download(beside.device, read_before.data(), second.size(), beside.stream.get()) == second);
  CHECK(download(beside.device, read_after.data(), first.size(), beside.stream.get()) == first);
  CHECK(beside.saved() != between_images);
}

TEST_CASE("saves and loads one after the other end in their order, and blocking ones may come between") {
  Beside beside;
  Random prng(3);
  std::uint64_t last = 0;
  Bytes expected;
  for (int round = 0; round < 12; ++round) {
    beside.write(random_bytes(prng, std::size_t{kTokens} * kRow));
    const auto places = beside.places();
    const std::uint64_t ticket = beside.store->begin_save(beside.pages, places);
    CHECK(ticket > last);
    last = ticket;
    if (round % 3 != 0) REQUIRE(beside.store->sync() == nullptr);
    expected = beside.saved();
    CHECK(beside.store->saved() <= last);
    REQUIRE(beside.store->sync() == nullptr);
    CHECK(beside.store->saved() == last);
    REQUIRE(beside.images_are(expected));
  }
}

TEST_SUITE_END();

}  // namespace cuda_store_test
