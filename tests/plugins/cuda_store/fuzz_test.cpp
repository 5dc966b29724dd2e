/// The CUDA store and the one on the host are given the same random calls: all bytes must be the same, and bytes that
/// no call wrote must still be the poison that was put there.
#include <conformance/model/effort.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "support.h"

namespace cuda_store_test {
namespace {

constexpr unsigned char kPoison = 0xFF;

struct Shape {
  Units page_size = 1;
  std::uint32_t segment_pages = 8, layers = 1;
  std::vector<std::uint32_t> row_bytes;
  std::string text() const {
    std::string streams;
    for (std::size_t s = 0; s < row_bytes.size(); ++s)
      streams += fmt::format("{}s{}: {}", s ? ", " : "", s, row_bytes[s]);
    return fmt::format("layers: {}, streams: {{ {} }}", layers, streams);
  }
};

class Both {
 public:
  Both(const Device& device, const Shape& shape, std::uint64_t seed, std::size_t streams)
      : device_(device),
        shape_(shape),
        prng_(seed),
        pinned_(device, kRoom),
        on_device_(device, kRoom),
        host_(make<KVStore>("host", context(), "{ " + shape.text() + " }")),
        cuda_(make<KVStore>("cuda", context(),
                            "{ " + shape.text() + ", addresses: 137438953472, headroom: 0, staging: 4194304 }")) {
    for (std::size_t i = 0; i < streams; ++i) streams_.push_back(std::make_unique<DeviceStream>(device));
  }
  ~Both() { cuda_.reset(); }

  void run(std::size_t operations) {
    back();
    for (std::size_t i = 0; i < operations; ++i) {
      CAPTURE(i);
      step();
      if (i % 64 == 63) compare();
    }
    compare();
    REQUIRE(cuda_->sync() == nullptr);
  }

  void back() {
    const auto segment = prng_.below(kSegments);
    if (backed_.contains(segment)) return;
    REQUIRE(host_->back(segment));
    REQUIRE(cuda_->back(segment));
    backed_[segment] = 0;
    if (!current_) REQUIRE(cuda_->sync() == nullptr);  // its own stream is not ours to queue on
    for (std::size_t s = 0; s < shape_.row_bytes.size(); ++s) {
      MUST(device_->memset_d8_async(reinterpret_cast<DevicePtr>(at(*cuda_, segment, s)), kPoison, bytes(s), stream()));
      std::memset(at(*host_, segment, s), kPoison, bytes(s));
    }
    if (!current_) scratch_.wait();
  }

 private:
  static constexpr std::size_t kRoom = 8 * kMiB;
  static constexpr std::uint32_t kSegments = 6;

  KVStore::Context context() const { return {shape_.page_size, shape_.segment_pages, kUnlimited}; }
  std::byte* at(const KVStore& store, std::uint32_t segment, std::size_t s) const {
    return store.view().page(s, 0, segment * shape_.segment_pages);
  }
  std::size_t bytes(std::size_t s) const { return host_->view().stream[s].layer_stride * shape_.layers; }
  StreamHandle stream() const { return current_ ? current_->get() : scratch_.get(); }

  /// Distinct pages that have memory, in any order, and not of the segments that are on their way out.
  std::vector<Page> pages(std::size_t most) {
    std::vector<Page> all;
    for (const auto& [segment, held] : backed_)
      for (std::uint32_t i = 0; i < shape_.segment_pages; ++i) all.push_back(segment * shape_.segment_pages + i);
    for (std::size_t i = 0; i < all.size(); ++i)
      std::swap(all[i], all[i + prng_.below(static_cast<std::uint32_t>(all.size() - i))]);
    all.resize(std::min<std::size_t>(all.size(), most ? prng_.below(static_cast<std::uint32_t>(most)) + 1 : 0));
    return all;
  }

  /// Returns the place of each stream's rows in a piece of memory, now and then not aligned.
  Rows rows_in(std::byte* memory, std::uint32_t count, Rows::At where) {
    Rows rows;
    rows.at = where;
    std::size_t offset = prng_.one_in(4) ? prng_.below(16) : 0;
    for (std::size_t s = 0; s < shape_.row_bytes.size(); ++s) {
      rows.streams[s] = memory + offset;
      offset += std::size_t{count} * shape_.row_bytes[s];
      offset += prng_.one_in(4) ? prng_.below(16) : (16 - offset % 16) % 16;
      REQUIRE(offset + 16 < kRoom);
    }
    return rows;
  }
  std::uint32_t most_rows() const {
    const std::uint32_t token = std::accumulate(shape_.row_bytes.begin(), shape_.row_bytes.end(), 0U);
    return static_cast<std::uint32_t>((kRoom - 256) / token);
  }
  Slots slots_of(const std::vector<Page>& list) {
    const auto tokens = static_cast<std::uint32_t>(list.size()) * shape_.page_size;
    const std::uint32_t first = prng_.one_in(3) ? 0 : prng_.below(tokens);
    const std::uint32_t rest = std::min(tokens - first, most_rows());
    return {list, first, prng_.one_in(3) ? rest : prng_.below(rest + 1)};
  }
  std::byte* memory(Rows::At where) {
    if (where == Rows::At::device) return on_device_.data();
    return prng_.one_in(2) ? pinned_.data() : pageable_.data();
  }

  void write() {
    const auto list = pages(backed_.size() * shape_.segment_pages);
    if (list.empty()) return;
    const Slots slots = slots_of(list);
    const auto layer = prng_.below(shape_.layers);
    const auto where = prng_.one_in(2) ? Rows::At::device : Rows::At::host;
    const Bytes data = random_bytes(prng_, kRoom / 64);
    std::byte* const from = memory(where);
    const Rows rows = rows_in(from, slots.count, where);
    Rows in_host;
    std::vector<Bytes> copies;
    for (std::size_t s = 0; s < shape_.row_bytes.size(); ++s) {
      Bytes& packed = copies.emplace_back(std::size_t{slots.count} * shape_.row_bytes[s]);
      for (std::size_t i = 0; i < packed.size(); ++i)
        packed[i] = data[(i + s * 977) % data.size()] ^ std::byte(i >> 13);
      in_host.streams[s] = packed.data();
      if (packed.empty()) continue;
      if (where == Rows::At::host) {
        std::memcpy(rows.streams[s], packed.data(), packed.size());
        continue;
      }
      // Queued where the store queues, so that only the order of a stream keeps them right.
      MUST(device_->memcpy_htod_async(reinterpret_cast<DevicePtr>(rows.streams[s]), packed.data(), packed.size(),
                                      stream()));
      if (!current_ || !fake()) MUST(device_->stream_synchronize(stream()));
    }
    host_->write(layer, slots, in_host);
    cuda_->write(layer, slots, rows);
    if (where == Rows::At::device) {
      REQUIRE(cuda_->sync() == nullptr);  // before the rows are written over, and these copies go
    } else {
      for (std::size_t s = 0; s < copies.size(); ++s)
        if (!copies[s].empty()) std::memset(rows.streams[s], 0x33, copies[s].size());  // ours again at once
    }
  }

  void read() {
    const auto list = pages(backed_.size() * shape_.segment_pages);
    if (list.empty()) return;
    const Slots slots = slots_of(list);
    const auto layer = prng_.below(shape_.layers);
    const auto where = prng_.one_in(2) ? Rows::At::device : Rows::At::host;
    const Rows rows = rows_in(memory(where), slots.count, where);
    cuda_->read(layer, slots, rows);
    Rows in_host;
    std::vector<Bytes> copies;
    for (std::size_t s = 0; s < shape_.row_bytes.size(); ++s)
      in_host.streams[s] = copies.emplace_back(std::size_t{slots.count} * shape_.row_bytes[s]).data();
    host_->read(layer, slots, in_host);
    if (where == Rows::At::device && (!current_ || prng_.one_in(2))) REQUIRE(cuda_->sync() == nullptr);
    for (std::size_t s = 0; s < copies.size(); ++s) {
      if (copies[s].empty()) continue;
      if (where == Rows::At::device)
        REQUIRE(download(device_, rows.streams[s], copies[s].size(), stream()) == copies[s]);
      else REQUIRE(std::memcmp(rows.streams[s], copies[s].data(), copies[s].size()) == 0);
    }
  }

  void copy() {
    auto list = pages(backed_.size() * shape_.segment_pages);
    const std::size_t half = list.size() / 2;
    const std::span<const Page> all(list);
    host_->copy(all.first(half), all.subspan(half, half));
    cuda_->copy(all.first(half), all.subspan(half, half));
  }

  void images() {
    const std::size_t one = cuda_->image_bytes();
    const auto from = pages(std::min<std::size_t>(kRoom / one, 40));
    std::byte* const theirs = memory(Rows::At::host);
    Bytes ours(from.size() * one);
    host_->save(from, ours.data());
    cuda_->save(from, theirs);
    std::size_t used = 0;
    for (std::size_t s = 0; s < shape_.row_bytes.size(); ++s)
      used += std::size_t{shape_.row_bytes[s]} * shape_.page_size * shape_.layers;
    for (std::size_t i = 0; i < from.size(); ++i)
      REQUIRE(std::memcmp(ours.data() + i * one, theirs + i * one, used) == 0);
    auto to = pages(from.size());
    to.resize(std::min(to.size(), from.size()));
    host_->load(ours.data(), to);
    cuda_->load(theirs, to);
    std::memset(theirs, 0x44, from.size() * one);  // ours again at once
  }

  void come_and_go() {
    const auto segment = prng_.below(kSegments);
    const auto found = backed_.find(segment);
    if (found == backed_.end()) return back();
    switch (prng_.below(3)) {
      case 0:
        host_->pin(segment);
        cuda_->pin(segment);
        ++found->second;
        break;
      case 1:
        if (found->second == 0) break;
        --found->second;
        host_->unpin(segment);
        cuda_->unpin(segment);
        break;
      default:
        if (backed_.size() < 2 || found->second > 0) break;
        host_->unback(segment);
        cuda_->unback(segment);
        backed_.erase(found);
    }
  }

  void other_stream() {
    const auto which = prng_.below(static_cast<std::uint32_t>(streams_.size() + 1));
    current_ = which < streams_.size() ? streams_[which].get() : nullptr;
    cuda_->use_stream(current_ ? current_->get() : nullptr);
  }

  void step() {
    switch (prng_.below(12)) {
      case 0:
      case 1:
      case 2:
        return write();
      case 3:
      case 4:
      case 5:
        return read();
      case 6:
      case 7:
        return copy();
      case 8:
        return images();
      case 9:
        return other_stream();
      default:
        return come_and_go();
    }
  }

  void compare() {
    REQUIRE(cuda_->sync() == nullptr);
    for (const auto& [segment, held] : backed_)
      for (std::size_t s = 0; s < shape_.row_bytes.size(); ++s) {
        CAPTURE(segment);
        CAPTURE(s);
        const Bytes found = download(device_, at(*cuda_, segment, s), bytes(s), scratch_.get());
        const std::byte* const expected = at(*host_, segment, s);
        const auto differs =
            static_cast<std::size_t>(std::mismatch(found.begin(), found.end(), expected).first - found.begin());
        REQUIRE(differs == found.size());
      }
  }

  const Device& device_;
  Shape shape_;
  Random prng_;
  DeviceStream scratch_{device_};
  std::vector<std::unique_ptr<DeviceStream>> streams_;
  Pinned pinned_;
  Bytes pageable_ = Bytes(kRoom);
  DeviceBytes on_device_;
  std::shared_ptr<KVStore> host_, cuda_;
  DeviceStream* current_ = nullptr;
  std::map<std::uint32_t, std::uint32_t> backed_;  ///< and how often held
};

}  // namespace

TEST_SUITE_BEGIN("fuzz");

TEST_CASE("the store on the device and the one on the host do the same with the same calls") {
  constexpr std::uint32_t kRows[] = {1, 12, 132, 656, 1152, 16, 64};
  Random prng(20);
  for (std::uint64_t round = 0; round < with_effort(24); ++round) {
    Shape shape;
    shape.page_size = std::array<Units, 3>{1, 16, 64}[round % 3];
    shape.segment_pages = std::array<std::uint32_t, 3>{64, 8, 4}[round % 3];
    shape.layers = prng.below(8) + 1;
    for (std::uint64_t s = 0; s < round % 4 + 1; ++s) shape.row_bytes.push_back(kRows[prng.below(std::size(kRows))]);
    CAPTURE(round);
    CAPTURE(shape.text());
    const Device device;
    if (fake()) {
      fake()->eager(round % 5 == 4);
      fake()->not_ready(static_cast<int>(prng.below(4)) - 1);
    }
    Both(device, shape, round, round % 4 + 1).run(192);
  }
}

TEST_CASE("lists longer than any launch or any buffer for them are split and nothing is left out") {
  const Device device;
  const DeviceStream stream(device);
  constexpr std::uint32_t kSegmentPages = 65536, kSegments = 3, kPages = kSegmentPages * kSegments;
  const auto store =
      make<KVStore>("cuda", {1, kSegmentPages, kUnlimited},
                    "{ layers: 1, streams: { a: 3 }, addresses: 1073741824, headroom: 0, staging: 4194304 }");
  for (std::uint32_t segment = 0; segment < kSegments; ++segment) REQUIRE(store->back(segment));
  Random prng(3);
  std::vector<Page> shuffled(kPages);
  std::iota(shuffled.begin(), shuffled.end(), 0U);
  for (std::uint32_t i = 0; i < kPages; ++i) std::swap(shuffled[i], shuffled[i + prng.below(kPages - i)]);
  Bytes rows = random_bytes(prng, std::size_t{kPages} * 3), found(rows.size());
  const DeviceBytes on_device(device, rows.size());
  for (const std::uint32_t count : {900U, 1000U, 65536U, 65537U, kPages}) {
    for (const bool direct : {false, true}) {
      CAPTURE(count);
      CAPTURE(direct);
      std::rotate(rows.begin(), rows.begin() + 7919, rows.end());
      const Slots slots{shuffled, 0, count};
      std::fill(found.begin(), found.end(), std::byte{0});
      if (direct) {
        upload(device, on_device.data(), rows, stream.get());
        store->write(0, slots, {{on_device.data()}, Rows::At::device});
        REQUIRE(store->sync() == nullptr);
        store->read(0, slots, {{found.data()}, Rows::At::host});
      } else {
        store->write(0, slots, {{rows.data()}, Rows::At::host});
        store->read(0, slots, {{on_device.data()}, Rows::At::device});
        REQUIRE(store->sync() == nullptr);
        const Bytes there = download(device, on_device.data(), std::size_t{count} * 3, stream.get());
        std::copy(there.begin(), there.end(), found.begin());
      }
      REQUIRE(store->sync() == nullptr);
      REQUIRE(std::memcmp(found.data(), rows.data(), std::size_t{count} * 3) == 0);
    }
  }
  // The first half of the shuffled pages over the second.
  constexpr std::uint32_t kHalf = kPages / 2;
  store->copy(std::span(shuffled).first(kHalf), std::span(shuffled).subspan(kHalf, kHalf));
  store->read(0, {shuffled, 0, kPages}, {{found.data()}, Rows::At::host});
  REQUIRE(store->sync() == nullptr);
  CHECK(std::memcmp(found.data(), rows.data(), std::size_t{kHalf} * 3) == 0);
  CHECK(std::memcmp(found.data() + std::size_t{kHalf} * 3, rows.data(), std::size_t{kHalf} * 3) == 0);
}

TEST_CASE("rows as wide as the staging buffers still cross the bus") {
  const Device device;
  const auto store = make<KVStore>("cuda", {1, 1, kUnlimited},
                                   "{ streams: { a: 1048576, b: 1048576, c: 1048576, d: 1048576 }, addresses: "
                                   "1073741824, headroom: 0, staging: 4194304 }");
  REQUIRE(store->back(0));
  Random prng(5);
  const Bytes in = random_bytes(prng, 4 * kMiB);
  Bytes out(in.size());
  const Page page = 0;
  Rows from, to;
  for (std::size_t s = 0; s < 4; ++s) {
    from.streams[s] = const_cast<std::byte*>(in.data()) + s * kMiB;
    to.streams[s] = out.data() + s * kMiB;
  }
  store->write(0, {{&page, 1}, 0, 1}, from);
  store->read(0, {{&page, 1}, 0, 1}, to);
  REQUIRE(store->sync() == nullptr);
  CHECK(in == out);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("leaks");

TEST_CASE("a hundred stores that came and went leave nothing") {
  const Device device;
  small_store().reset();  // memory that the driver takes only once
  const std::uint64_t before = device.free_bytes();
  Random prng(1);
  Bytes rows = random_bytes(prng, 16 * 96);
  const Page page = 65;
  for (int cycle = 0; cycle < 100; ++cycle) {
    const auto store = small_store();
    REQUIRE(store->back(1));
    REQUIRE(store->back(0));
    store->write(0, {{&page, 1}, 0, 16}, {{rows.data(), rows.data()}});
    store->unback(1);
    if (cycle % 2) REQUIRE(store->sync() == nullptr);
  }
  const std::uint64_t after = device.free_bytes();
  CHECK(before - std::min(before, after) <= 2 * kMiB);
}

TEST_SUITE_END();

}  // namespace cuda_store_test
