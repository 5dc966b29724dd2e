/// Damaged and cut recordings: no figure differs from that of the whole recording without a doubt.
#include <account/range_figures.h>
#include <canopy/feed/reader.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sources/recording.h>
#include <support/engines.h>
#include <support/random_requests.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

class BytesInMemory final : public RecordedBytes {
 public:
  explicit BytesInMemory(const std::vector<std::byte>& bytes) : lines_(bytes.size() / kLine + 1), size_(bytes.size()) {
    std::memcpy(lines_.data(), bytes.data(), size_);
  }
  std::span<const std::byte> bytes() const override { return {lines_.front().bytes, size_}; }

 private:
  static constexpr std::size_t kLine = alignof(FeedHeader);
  struct alignas(kLine) Line {
    std::byte bytes[kLine];
  };
  std::vector<Line> lines_;
  std::size_t size_;
};

/// A recording that its writer has closed.
std::vector<std::byte> recording() {
  const auto engine = engine_of(kTwoGroups);
  FeedReader reader(engine->feed()->writer().header());
  RandomRequests random(*engine, plugins(), 11, 3);
  std::vector<Event> events, part(65536);
  for (int i = 0; i < 6; ++i) {
    random.run(20);
    engine->poll();
    std::size_t count = 0;
    while (reader.read(part.data(), part.size(), count) == FeedReader::Outcome::events)
      events.insert(events.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
  }
  std::vector<std::byte> bytes(FeedHeader::kBytes + events.size() * sizeof(Event));
  FeedHeader header{};
  static_cast<FeedShape&>(header) = engine->feed()->writer().header();
  std::memcpy(header.magic, FeedShape::kMagic, sizeof(header.magic));
  header.ring_events = 0;
  RecordingSum sum(header);
  sum.add(events.data(), events.size());
  header.closed = RecordingEnd::kClosed, header.committed = events.size(), header.sum = sum.value();
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + FeedHeader::kBytes, events.data(), events.size() * sizeof(Event));
  return bytes;
}

struct Read {
  std::string figures;  ///< empty: it is no recording
  Doubts doubts;
};

Read read(const std::vector<std::byte>& bytes) {
  auto file = Recording::begin(std::make_unique<BytesInMemory>(bytes), "file");
  Read read;
  if (!file || !(*file)->scan(~std::uint64_t{0})) return read;
  Mirror mirror((*file)->header());
  History history;
  mirror.take((*file)->events(0, (*file)->commits()), history.watch(mirror));
  const RangeFigures figures = figures_of(history, {});
  for (std::size_t i = 0; i < std::size(kCounts); ++i)
    read.figures += fmt::format("{} ", figures.counts[static_cast<Count>(i)]);
  for (const auto& tokens : figures.missed) read.figures += fmt::format("{} ", tokens);
  for (const auto& tokens : figures.evicted) read.figures += fmt::format("{} ", tokens);
  for (const auto& tenant : figures.tenants)
    read.figures += fmt::format("{} {} {} ", tenant.name, tenant.held, tenant.locked_us);
  read.doubts = (*file)->doubts();
  add_doubts(read.doubts, mirror.doubts());
  return read;
}

}  // namespace

TEST_CASE("damage: of 1,500 recordings that were cut or have other bytes, none has other figures without a doubt") {
  const std::vector<std::byte> whole = recording();
  const Read true_read = read(whole);
  REQUIRE(!true_read.figures.empty());
  REQUIRE(true_read.doubts.empty());
  std::mt19937 random(29);
  std::size_t others = 0, located = 0;
  for (int variant = 0; variant < 1500; ++variant) {
    CAPTURE(variant);
    std::vector<std::byte> bytes = whole;
    if (variant % 4 == 0) bytes.resize(random() % bytes.size());
    else
      for (auto flips = 1 + random() % (variant % 4 == 1 ? 1 : 400); flips > 0; --flips) {
        // A burst where it falls; each tenth in the header.
        const std::size_t at = variant % 10 == 9 ? random() % sizeof(FeedHeader) : random() % bytes.size();
        bytes[at] ^= static_cast<std::byte>(1U << random() % 8);
      }
    const Read damaged = read(bytes);
    if (damaged.figures.empty() || damaged.figures == true_read.figures) continue;
    ++others;
    CHECK(!damaged.doubts.empty());
    for (const Doubt& doubt : damaged.doubts)
      located += doubt.sentence.find("seen first at commit ") != std::string::npos;
  }
  CHECK(others > 500);
  CHECK(located > 100);
}

TEST_CASE("damage: a doubt names the first commit that was damaged, and what came before it is not doubted") {
  std::vector<std::byte> bytes = recording();
  const auto read_event = [&](std::size_t i) {
    Event event;
    std::memcpy(&event, bytes.data() + FeedHeader::kBytes + i * sizeof(Event), sizeof(event));
    return event;
  };
  const std::size_t events = (bytes.size() - FeedHeader::kBytes) / sizeof(Event);
  std::size_t at = events / 2, commit = 1;
  while (is<event::Commit>(read_event(at))) ++at;
  for (std::size_t i = 0; i < at; ++i) commit += is<event::Commit>(read_event(i));
  bytes[FeedHeader::kBytes + at * sizeof(Event)] = std::byte{0};  // a kind that no version has
  const Read damaged = read(bytes);
  bool named = false;
  for (const Doubt& doubt : damaged.doubts)
    named |= doubt.sentence.find(fmt::format("seen first at commit {}: ", commit)) != std::string::npos;
  CHECK(named);
}
