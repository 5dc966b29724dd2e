#include <canopy/base/random.h>
#include <conformance/every.h>
#include <conformance/model/plugins.h>

#include <canopy/kv_store.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kSegmentPages = 4;

/// A store and its expected content: bytes by layer, stream and token slot (page x page size + token in page).
class Watched {
 public:
  Watched(const std::string& name, Units page_size)
      : store_(make<KVStore>(name, {page_size, kSegmentPages, kUnlimited},
                             "{ layers: 3, streams: { k: 8, v: 20, scale: 1 } }")),
        page_size_(page_size),
        prng_(page_size) {}

  KVStore& store() { return *store_; }
  Random& prng() { return prng_; }
  Units page_size() const { return page_size_; }

  void write(std::uint32_t layer, std::span<const Page> pages, std::uint32_t first, std::uint32_t count) {
    std::vector<Bytes> packed = room(count);
    for (std::size_t s = 0; s < packed.size(); ++s)
      for (std::uint32_t row = 0; row < count; ++row) {
        const auto width = static_cast<std::ptrdiff_t>(store_->streams()[s].row_bytes);
        const auto begin = packed[s].begin() + row * width;
        std::generate(begin, begin + width, [&] { return static_cast<std::byte>(prng_.below(256)); });
        expected_[{layer, s, slot(pages, first + row)}] = Bytes(begin, begin + width);
      }
    store_->write(layer, {pages, first, count}, rows(packed));
    REQUIRE(store_->sync() == nullptr);
  }
  void write_all(std::span<const Page> pages) {
    for (std::uint32_t layer = 0; layer < store_->layers(); ++layer)
      write(layer, pages, 0, static_cast<std::uint32_t>(pages.size() * page_size_));
  }
  /// Writes zeros without expecting them.
  void wipe(const std::vector<Page>& pages) {
    const auto tokens = static_cast<std::uint32_t>(pages.size() * page_size_);
    std::vector<Bytes> zeros = room(tokens);
    for (std::uint32_t layer = 0; layer < store_->layers(); ++layer)
      store_->write(layer, {pages, 0, tokens}, rows(zeros));
  }
  void check(std::uint32_t layer, std::span<const Page> pages, std::uint32_t first, std::uint32_t count) {
    std::vector<Bytes> packed = room(count);
    store_->read(layer, {pages, first, count}, rows(packed));
    REQUIRE(store_->sync() == nullptr);
    for (std::size_t s = 0; s < packed.size(); ++s)
      for (std::uint32_t row = 0; row < count; ++row) {
        const auto found = expected_.find({layer, s, slot(pages, first + row)});
        if (found == expected_.end()) continue;
        const auto width = found->second.size();
        REQUIRE(std::equal(found->second.begin(), found->second.end(),
                           packed[s].begin() + static_cast<std::ptrdiff_t>(row * width)));
      }
  }
  void copy(std::span<const Page> from, std::span<const Page> to) {
    store_->copy(from, to);
    REQUIRE(store_->sync() == nullptr);
    for (std::size_t i = 0; i < from.size(); ++i)
      for (std::uint32_t layer = 0; layer < store_->layers(); ++layer)
        for (std::size_t s = 0; s < store_->streams().size(); ++s)
          for (Units token = 0; token < page_size_; ++token) {
            const auto found = expected_.find({layer, s, std::uint64_t{from[i]} * page_size_ + token});
            const Place place{layer, s, std::uint64_t{to[i]} * page_size_ + token};
            if (found == expected_.end()) expected_.erase(place);
            else expected_[place] = found->second;
          }
  }
  void check_all(std::span<const Page> pages) {
    for (std::uint32_t layer = 0; layer < store_->layers(); ++layer)
      check(layer, pages, 0, static_cast<std::uint32_t>(pages.size() * page_size_));
  }
  void forget(std::uint32_t segment) {
    std::erase_if(expected_,
                  [&](const auto& entry) { return std::get<2>(entry.first) / page_size_ / kSegmentPages == segment; });
  }
  /// Returns the bytes with which the image of a page must begin. REQUIRES: all of the page was written.
  Bytes image(Page page) const {
    Bytes image;
    for (std::size_t s = 0; s < store_->streams().size(); ++s)
      for (std::uint32_t layer = 0; layer < store_->layers(); ++layer)
        for (Units token = 0; token < page_size_; ++token) {
          const Bytes& row = expected_.at({layer, s, std::uint64_t{page} * page_size_ + token});
          image.insert(image.end(), row.begin(), row.end());
        }
    return image;
  }

 private:
  using Place = std::tuple<std::uint32_t, std::size_t, std::uint64_t>;

  std::uint64_t slot(std::span<const Page> pages, std::uint32_t token) const {
    return std::uint64_t{pages[token / page_size_]} * page_size_ + token % page_size_;
  }
  std::vector<Bytes> room(std::uint32_t count) const {
    std::vector<Bytes> packed;
    for (const Stream& stream : store_->streams()) packed.emplace_back(std::size_t{stream.row_bytes} * count);
    return packed;
  }
  static Rows rows(std::vector<Bytes>& packed) {
    Rows rows;
    for (std::size_t s = 0; s < packed.size(); ++s) rows.streams[s] = packed[s].data();
    return rows;
  }

  std::shared_ptr<KVStore> store_;
  Units page_size_;
  Random prng_;
  std::map<Place, Bytes> expected_;
};

template <class Test>
void for_every_store(Test&& test) {
  for (const auto& name : names_of<KVStore>())
    for (const Units page_size : {1U, 4U, 16U}) {
      CAPTURE(name);
      CAPTURE(page_size);
      Watched watched(name, page_size);
      test(watched);
    }
}

}  // namespace

// clang-format off
#define STORE_CASE(title) CONTRACT(for_every_store, (Watched& watched), title)
// clang-format on

TEST_SUITE_BEGIN("KVStore");

STORE_CASE("a store has the layers and streams it was configured with") {
  CHECK(watched.store().layers() == 3);
  const auto streams = watched.store().streams();
  REQUIRE(streams.size() == 3);
  CHECK(std::string_view(streams[1].name) == "v");
  CHECK(streams[0].row_bytes == 8);
  CHECK(streams[1].row_bytes == 20);
  CHECK(streams[2].row_bytes == 1);
  CHECK(watched.store().sync() == nullptr);
}

STORE_CASE("what is written to each layer, stream and page is read back, page 0 and the last page too") {
  REQUIRE(watched.store().back(0));
  REQUIRE(watched.store().back(1));
  const std::vector<Page> pages{5, 0, 3, 1, 7, 4, 2};
  watched.write_all(pages);
  watched.check_all(pages);
}

STORE_CASE("a run of tokens can begin and end inside a page, and nothing beside it changes") {
  for (const std::uint32_t segment : {0U, 1U, 2U}) REQUIRE(watched.store().back(segment));
  std::vector<Page> pages;
  for (Page page = 0; page < 12; ++page) pages.push_back((page * 5 + 3) % 12);
  const auto tokens = static_cast<std::uint32_t>(pages.size() * watched.page_size());
  watched.write_all(pages);
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t first = watched.prng().below(tokens), count = watched.prng().below(tokens - first + 1);
    watched.write(watched.prng().below(3), pages, first, count);
    const std::uint32_t from = watched.prng().below(tokens);
    watched.check(watched.prng().below(3), pages, from, watched.prng().below(tokens - from + 1));
  }
  watched.check_all(pages);
}

STORE_CASE("a copy takes whole pages with it, all layers and streams") {
  REQUIRE(watched.store().back(0));
  REQUIRE(watched.store().back(25));
  const std::vector<Page> all{0, 1, 2, 3, 100, 101, 102, 103};
  watched.write_all(all);
  watched.copy(std::vector<Page>{1, 2, 3}, std::vector<Page>{103, 100, 101});
  watched.copy(std::vector<Page>{102}, std::vector<Page>{2});
  watched.copy({}, {});
  watched.check_all(all);
}

STORE_CASE("segments are backed and unbacked without a change to the others") {
  for (const std::uint32_t segment : {1U, 2U, 0U}) REQUIRE(watched.store().back(segment));
  std::vector<Page> pages;
  for (Page page = 0; page < 12; ++page) pages.push_back(page);
  watched.write_all(pages);
  watched.store().unback(1);
  watched.forget(1);
  const std::vector<Page> stayed{0, 1, 2, 3, 8, 9, 10, 11};
  watched.check_all(stayed);
  watched.write(1, stayed, 0, 8 * watched.page_size());
  REQUIRE(watched.store().back(1));
  watched.check_all(stayed);
  watched.write(2, pages, 0, 12 * watched.page_size());
  watched.check_all(pages);
  watched.store().unback(0);
  watched.store().unback(1);
  watched.store().unback(2);
  CHECK(watched.store().sync() == nullptr);
}

STORE_CASE("a page's image has its rows without gaps and goes back to any page") {
  KVStore& store = watched.store();
  REQUIRE(store.back(0));
  REQUIRE(store.back(3));
  const std::vector<Page> pages{0, 1, 2, 3, 12, 13, 14, 15}, some{14, 1, 3};
  watched.write_all(pages);
  const std::size_t bytes = store.image_bytes();
  REQUIRE(bytes % 4096 == 0);
  Bytes images(3 * bytes, std::byte{0xA5});
  store.save(some, images.data());
  for (std::size_t i = 0; i < some.size(); ++i) {
    const Bytes expected = watched.image(some[i]);
    REQUIRE(expected.size() <= bytes);
    REQUIRE(std::equal(expected.begin(), expected.end(), images.data() + i * bytes));
  }
  const std::vector<Page> targets{0, 13, 15};
  watched.copy(some, targets);  // sets the expected content of the targets
  watched.wipe(targets);
  store.load(images.data(), targets);
  REQUIRE(store.sync() == nullptr);
  watched.check_all(pages);
}

STORE_CASE("images that lie apart are saved before their pages are written again, and go back to any page") {
  KVStore& store = watched.store();
  REQUIRE(store.back(0));
  REQUIRE(store.back(3));
  const std::vector<Page> pages{0, 1, 2, 3, 12, 13, 14, 15}, some{14, 1, 3}, targets{0, 13, 15};
  watched.write_all(pages);
  const std::size_t bytes = store.image_bytes(), apart = bytes + 4096;
  Bytes memory(3 * apart + 4096, std::byte{0xA5});
  auto* const first = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 4095) & ~4095UL);
  const std::vector<std::byte*> images{first + 2 * apart, first, first + apart};
  const std::vector<const std::byte*> sources(images.begin(), images.end());
  const std::vector<Bytes> expected{watched.image(14), watched.image(1), watched.image(3)};
  const std::uint64_t saving = store.begin_save(some, images);
  watched.copy(some, targets);  // sets the expected content of the targets
  watched.write_all(some);
  REQUIRE(store.sync() == nullptr);
  CHECK(store.saved() >= saving);
  for (std::size_t i = 0; i < some.size(); ++i) REQUIRE(std::equal(expected[i].begin(), expected[i].end(), images[i]));
  watched.wipe(targets);
  const std::uint64_t loading = store.begin_load(sources, targets);
  REQUIRE(store.sync() == nullptr);
  CHECK(store.loaded() >= loading);
  watched.check_all(pages);
}

STORE_CASE("no two rows share an address and kernel page numbers reach them with one stride") {
  const KVView& view = watched.store().view();
  REQUIRE(view.streams == 3);
  REQUIRE(view.layers == 3);
  REQUIRE(view.page_size == watched.page_size());
  REQUIRE(view.segment_pages == kSegmentPages);
  std::map<std::uint64_t, std::uint64_t> taken;  // begin and end of each page of a layer
  for (std::size_t s = 0; s < 3; ++s) {
    const KVStream& stream = view.stream[s];
    CHECK(stream.row_bytes == watched.store().streams()[s].row_bytes);
    CHECK(stream.token_stride >= stream.row_bytes);
    CHECK(stream.page_stride >= std::uint64_t{stream.token_stride} * view.page_size);
    CHECK(stream.segment_stride == stream.page_stride * view.kernel_pages);
    for (std::uint32_t layer = 0; layer < 3; ++layer)
      for (Page page = 0; page < 20; ++page) {
        const auto begin = reinterpret_cast<std::uint64_t>(view.page(s, layer, page));
        const auto by_kernel = reinterpret_cast<std::uint64_t>(stream.base) + layer * stream.layer_stride +
                               view.kernel_page(page) * stream.page_stride;
        CHECK(begin == by_kernel);
        CHECK(taken.emplace(begin, begin + stream.page_stride).second);
      }
  }
  for (auto at = taken.begin(); std::next(at) != taken.end(); ++at) CHECK(at->second <= std::next(at)->first);
}

STORE_CASE("a segment that a view holds survives unback() and another back()") {
  KVStore& store = watched.store();
  REQUIRE(store.back(0));
  REQUIRE(store.back(1));
  const std::vector<Page> pages{0, 1, 2, 3, 4, 5, 6, 7};
  watched.write_all(pages);
  store.pin(1);
  store.pin(1);
  store.unback(1);
  store.unpin(1);
  REQUIRE(store.back(1));
  watched.write_all(pages);
  watched.check_all(pages);
  store.unback(1);
  store.unpin(1);
  REQUIRE(store.back(1));
  watched.write_all(pages);
  watched.check_all(pages);
}

TEST_SUITE_END();
