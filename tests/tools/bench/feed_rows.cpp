/// The cost of a feed for an engine: the same replay without a feed and with each kind of feed, in turns.
#include <fmt/format.h>
#include <mirror/mirror.h>
#include <sources/attachment.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "cases.h"
#include "clock.h"
#include "engine_replay.h"

namespace canopy::bench {
namespace {

using namespace std::chrono_literals;
using inspector::Attachment;
using inspector::Mirror;

/// Reads a feed in its own thread, as an inspector does: by name, through its own mapping, into a mirror. Waits a
/// millisecond when there is nothing to read.
class MirrorThread {
 public:
  explicit MirrorThread(std::unique_ptr<Attachment> attachment)
      : attachment_(std::move(attachment)), mirror_(attachment_->header()), thread_([this] { look(); }) {}
  /// Reads the rest and ends. The mirror is complete only then.
  const Mirror& end() {
    if (thread_.joinable()) done_ = true, thread_.join();
    return mirror_;
  }
  ~MirrorThread() { end(); }
  std::uint64_t laps() const { return laps_; }

 private:
  void look() {
    std::vector<Event> events(8192);
    for (;;) {
      const bool last = done_;
      std::size_t count = 0;
      const auto outcome = attachment_->reader().read(events.data(), events.size(), count);
      if (outcome == FeedReader::Outcome::events) {
        mirror_.take({events.data(), count});
      } else if (outcome == FeedReader::Outcome::lapped) {
        mirror_.lost();
        ++laps_;
      } else if (last) {
        return;
      } else {
        std::this_thread::sleep_for(1ms);
      }
    }
  }

  std::unique_ptr<Attachment> attachment_;
  Mirror mirror_;
  std::uint64_t laps_ = 0;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

/// One kind of feed, in the order of feed_names().
struct FeedWay {
  std::string feed;  ///< its value in an engine file
  bool read = false;
  Repeated seconds{}, index{}, cpu{};  ///< divided by the figures of the previous replay, which has no feed
};

std::string own_name() { return fmt::format("bench-{}", ::getpid()); }
std::string own_file() { return (std::filesystem::temp_directory_path() / ("canopy-" + own_name())).string(); }

std::vector<std::string> feed_names() {
  std::vector<std::string> names;
  for (const char* const feed : {"none", "heap, no reader", "shm, no reader", "shm, one reader", "file"})
    for (const char* const what : {"whole replay", "index calls", "CPU time"})
      names.push_back(fmt::format("feed: {}, {}", feed, what));
  return names;
}

Result<std::monostate> measure_feed(const Setting& setting, Report& report) {
  FeedWay ways[] = {{"{ heap: {} }"},
                    {fmt::format("{{ shm: {{ name: {} }} }}", own_name())},
                    {fmt::format("{{ shm: {{ name: {} }} }}", own_name()), true},
                    {fmt::format("{{ file: {{ path: {} }} }}", own_file())}};
  Repeated none, none_index, none_cpu;
  std::string section;
  std::uint64_t events = 0, commits = 0, laps = 0;
  // The effect is a few per cent, and times on a machine vary by ten per cent, so there are many short turns.
  for (std::size_t repetition = 0; repetition <= 2 * setting.repetitions; ++repetition) {
    auto off = replay_engine(setting, "{ off: {} }");
    if (!off) return off.error();
    // Frees its memory now, because a virtual machine may have none left for the next engine.
    off->engine.reset();
    if (repetition > 0)
      none.add(off->seconds), none_index.add(off->report.index_seconds), none_cpu.add(off->cpu_seconds);
    report.source = off->source;
    section = fmt::format("A feed, page 16, no store: {} requests of {}", off->report.requests, off->source);
    for (FeedWay& way : ways) {
      std::unique_ptr<MirrorThread> onlooker;
      const auto on = replay_engine(setting, way.feed, [&](Engine&) -> Result<std::monostate> {
        if (!way.read) return std::monostate{};
        auto attachment = Attachment::attach(own_name());
        if (!attachment) return attachment.error();
        onlooker = std::make_unique<MirrorThread>(std::move(*attachment));
        return std::monostate{};
      });
      if (!on) return on.error();
      if (on->report.digest != off->report.digest) return Error{"canopy-dev bench: a feed changed what the replay did"};
      if (onlooker) {
        const Mirror& mirror = onlooker->end();
        if (mirror.drift() != 0) return Error{"canopy-dev bench: the feed and the engine's ledger differ"};
        events = on->engine->feed()->writer().at(), commits = mirror.commits(), laps += onlooker->laps();
      }
      if (repetition == 0) continue;  // warm-up
      way.seconds.add(on->seconds / off->seconds);
      way.index.add(on->report.index_seconds / off->report.index_seconds);
      way.cpu.add(on->cpu_seconds / off->cpu_seconds);
    }
    std::error_code ignored;
    std::filesystem::remove(own_file(), ignored);
  }
  std::vector<std::string> names = feed_names();
  auto name = names.begin();
  for (const Repeated* figures : {&none, &none_index, &none_cpu})
    report.rows.push_back({section, *name++, Kind::time, "a replay", figures->spread()});
  for (const FeedWay& way : ways)
    for (const Repeated* figures : {&way.seconds, &way.index, &way.cpu})
      report.rows.push_back(
          {section, *name++, Kind::share, "of the replay without a feed before it", figures->spread()});
  report.remarks.push_back(fmt::format(
      "feed: {} events of 32 bytes a replay; the reader mirrored {} operations, drift 0, lapped {} times in all.",
      events, commits, laps));
  return std::monostate{};
}

const char* const kEventNames[] = {"feed: an event, no reader", "feed: an event, one reader"};

/// Measures only events, in operations of 16, into a ring that is larger than the caches and was filled before.
Result<std::monostate> measure_events(const Setting& setting, Report& report) {
  constexpr std::uint64_t kRing = std::uint64_t{1} << 21, kOperation = 16;
  const std::uint64_t written = setting.options.quick ? kRing : 4 * kRing;
  FeedConfig config;
  config.kind = FeedConfig::Kind::shm;
  config.name = own_name();
  config.events = kRing;
  FeedShape shape;
  shape.page_size = 16, shape.groups = 1;
  auto sink = FeedSink::open(config, shape);
  if (!sink) return sink.error();
  FeedWriter& writer = (*sink)->writer();
  Measured alone, read;
  for (std::size_t repetition = 0; repetition <= setting.repetitions; ++repetition)
    for (const bool is_read : {false, true}) {
      std::unique_ptr<MirrorThread> onlooker;
      if (is_read) {
        auto attachment = Attachment::attach(own_name());
        if (!attachment) return attachment.error();
        onlooker = std::make_unique<MirrorThread>(std::move(*attachment));
      }
      const double seconds = seconds_of([&] {
        for (std::uint64_t i = 0; i < written; ++i) {
          const bool last = (i + 1) % kOperation == 0;
          if (!last) {
            writer.push(event::NodeUsed{.node = NodeId{i}, .tick = i});
          } else {
            writer.push(event::Commit{.operation = Operation::none, .tick = i, .operations = i, .us = i});
            writer.publish();
          }
        }
      });
      if (repetition > 0) (is_read ? read : alone).ours.add(seconds / static_cast<double>(written));
    }
  const std::string section = "Events alone, in operations of 16, through shared memory";
  report.rows.push_back(alone.row(section, kEventNames[0], "an event"));
  report.rows.push_back(read.row(section, kEventNames[1], "an event", "written without a pause"));
  return std::monostate{};
}

}  // namespace

void add_feed_cases(const Options&, std::vector<Case>& cases) {
  cases.push_back({feed_names(), measure_feed});
  cases.push_back({{std::begin(kEventNames), std::end(kEventNames)}, measure_events});
}

}  // namespace canopy::bench
