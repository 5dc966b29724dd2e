/// The cost of publishing KV events for the engine's thread: the events of an index in a replay, sent again to a
/// publisher that has a subscriber, next to a copy of the same words.
#include <canopy/kv_events/kv_publisher.h>
#include <fmt/format.h>
#include <kv_events/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>
#include <thread>
#include <utility>

#include "cases.h"
#include "clock.h"
#include "engine_replay.h"

namespace canopy::bench {
namespace {

using kv_events::KVPublisher;

/// A call to a TreeListener.
struct Call {
  enum class Kind : std::uint8_t { space, added, split, removed, turn } kind{};
  event::NodeAdded added{};
  event::NodeSplit split{};
  event::NodeRemoved removed{};
  std::size_t words = 0;  ///< added: their beginning in Recorded::words
  std::string salt{};
};

/// The calls of a replay, until `kMostWords` words were inserted. There is one group, so nothing becomes a tombstone.
class Recorded final : public TreeListener {
 public:
  static constexpr std::size_t kMostWords = std::size_t{1} << 23;
  FeedShape shape;
  std::vector<Call> calls;
  std::vector<std::uint32_t> words;

  std::string begin(const Facts& facts) override { return shape = facts.shape, std::string(); }
  void space(NamespaceId space, std::string_view salt, std::string_view) override {
    if (Call* call = next(Call::Kind::space)) call->salt = salt, call->added.space = space;
  }
  void added(const event::NodeAdded& node, const std::uint32_t* from) override {
    Call* const call = next(Call::Kind::added);
    if (!call) return;
    call->added = node, call->words = words.size();
    words.insert(words.end(), from, from + node.length);
  }
  void split(const event::NodeSplit& node) override {
    if (Call* call = next(Call::Kind::split)) call->split = node;
  }
  void removed(const event::NodeRemoved& node) override {
    if (Call* call = next(Call::Kind::removed)) call->removed = node;
  }
  bool turn() override { return next(Call::Kind::turn), false; }
  void filled(NodeId, std::uint8_t, Units, const std::uint32_t*) override {}
  void tombstoned(const event::NodeTombstoned&) override {}
  void cleared(const event::Cleared&) override {}
  void resync() override {}

 private:
  Call* next(Call::Kind kind) {
    if (words.size() >= kMostWords) return nullptr;
    Call& call = calls.emplace_back();
    call.kind = kind;
    return &call;
  }
};

/// A subscriber in its own thread that reads and discards.
class DiscardingSubscriber {
 public:
  DiscardingSubscriber(const std::string& endpoint, bool reads)
      : socket_(std::move(*kv_events::Socket::open(context_, zmq::socket_type::sub, {1000, 1000, 0}))) {
    static_cast<void>(socket_.connect(endpoint));
    socket_.subscribe("");
    if (reads) thread_ = std::thread([this] { read(); });
  }
  ~DiscardingSubscriber() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t messages() const { return messages_; }

 private:
  void read() {
    std::vector<std::string> frames;
    while (!done_)
      if (socket_.wait(20))
        while (socket_.receive(frames)) ++messages_;
  }
  zmq::context_t context_;
  kv_events::Socket socket_;
  std::atomic<bool> done_{false};
  std::atomic<std::uint64_t> messages_{0};
  std::thread thread_;
};

/// Takes the calls in parts that insert a few thousand words. Before `copy` and before `report` the words of the part
/// are read, because those of an insert are in the caches too. The two take turns at being first. Adds up the seconds
/// of both, without those of `between`.
template <class Copy, class Report, class Between>
std::pair<double, double> seconds_in_parts(const Recorded& recorded, Copy&& copy, Report&& report, Between&& between) {
  constexpr std::size_t kPart = std::size_t{1} << 14;
  double copied = 0, reported = 0;
  std::uint32_t sum = 0;
  bool copy_first = false;
  for (std::size_t from = 0, at = 0, words = 0; at < recorded.calls.size(); from = at, words = 0) {
    for (; at < recorded.calls.size() && (words < kPart || recorded.calls[at - 1].kind != Call::Kind::turn); ++at)
      if (recorded.calls[at].kind == Call::Kind::added) words += recorded.calls[at].added.length;
    const auto part = std::span(recorded.calls).subspan(from, at - from);
    const auto read_words = [&] {
      for (const Call& call : part)
        for (std::size_t i = 0; call.kind == Call::Kind::added && i < call.added.length; ++i)
          sum += recorded.words[call.words + i];
    };
    copy_first = !copy_first;
    for (const bool copies : {copy_first, !copy_first}) {
      read_words();
      if (copies) copied += seconds_of([&] { copy(part); });
      else reported += seconds_of([&] { report(part); });
    }
    between();
  }
  [[maybe_unused]] static volatile std::uint32_t s_kept;
  s_kept = sum;
  return {copied, reported};
}

const char* const kPublishNames[] = {"publish: an inserted token, a subscriber reads",
                                     "publish: an inserted token, the subscriber is stuck"};

Result<std::monostate> measure_publishing(const Setting& setting, Report& report) {
  Recorded recorded;
  const auto replayed = replay_engine(setting, "{ off: {} }", {}, &recorded);
  if (!replayed) return replayed.error();
  report.source = replayed->source;
  const auto tokens = static_cast<double>(recorded.words.size());
  KVEventsConfig config;
  config.publish =
      "ipc://" + (std::filesystem::temp_directory_path() / fmt::format("canopy-bench-{}.sock", ::getpid())).string();
  Measured figures[2];
  std::uint64_t messages = 0;
  std::vector<std::uint32_t> copy(recorded.words.size());
  for (std::size_t repetition = 0; repetition <= setting.repetitions; ++repetition) {
    for (const bool reads : {true, false}) {
      auto publisher = KVPublisher::open(config, kv_events::TreeQueue::WhenFull::drop);
      if (!publisher) return publisher.error();
      const DiscardingSubscriber onlooker((*publisher)->published_at(), reads);
      while ((*publisher)->figures().subscribers == 0) std::this_thread::yield();
      TreeListener& listener = (*publisher)->listener();
      if (std::string why = listener.begin({recorded.shape, kUnlimited, {}}); !why.empty()) return Error{why};
      const auto [floor, seconds] = seconds_in_parts(
          recorded,
          [&](std::span<const Call> calls) {
            std::size_t to = 0;  // as in the queue, a part begins where the previous one did
            for (const Call& call : calls)
              if (call.kind == Call::Kind::added) {
                std::memcpy(copy.data() + to, recorded.words.data() + call.words, call.added.length * sizeof(Token));
                to += call.added.length;
              }
          },
          [&](std::span<const Call> calls) {
            for (const Call& call : calls) {
              switch (call.kind) {
                case Call::Kind::space:
                  listener.space(call.added.space, call.salt, {});
                  break;
                case Call::Kind::added:
                  listener.added(call.added, recorded.words.data() + call.words);
                  break;
                case Call::Kind::split:
                  listener.split(call.split);
                  break;
                case Call::Kind::removed:
                  listener.removed(call.removed);
                  break;
                case Call::Kind::turn:
                  listener.turn();
                  break;
              }
            }
          },
          [&] { (*publisher)->flush(); });
      if ((*publisher)->figures().losses > 0) return Error{"canopy-dev bench: the publisher's queue was full"};
      if (repetition == 0) continue;  // warm-up
      figures[reads ? 0 : 1].floor.add(floor / tokens), figures[reads ? 0 : 1].ours.add(seconds / tokens);
      messages += onlooker.messages();
    }
  }
  const std::string section = fmt::format("KV events, the engine's thread: {:.1f} M tokens inserted, {} calls, of {}",
                                          tokens / 1e6, recorded.calls.size(), replayed->source);
  for (std::size_t i = 0; i < std::size(kPublishNames); ++i)
    report.rows.push_back(figures[i].row(section, kPublishNames[i], "a token", "floor: a copy of the inserted tokens"));
  report.remarks.push_back(fmt::format("publish: the subscriber that reads received {} batches in total.", messages));
  return std::monostate{};
}

}  // namespace

void add_publish_cases(const Options&, std::vector<Case>& cases) {
  cases.push_back({{std::begin(kPublishNames), std::end(kPublishNames)}, measure_publishing});
}

}  // namespace canopy::bench
