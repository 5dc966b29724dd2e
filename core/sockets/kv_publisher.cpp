#include <canopy/sockets/block_events.h>
#include <canopy/sockets/kv_publisher.h>
#include <canopy/wire/codec.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "ipc_path.h"
#include "replay_desk.h"
#include "socket.h"

namespace canopy::sockets {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kBlocksABatch = 512;  ///< a batch is sent when it has so many, or when nothing more is there
constexpr auto kNap = 1ms;                  ///< between two looks at an empty queue
constexpr Socket::Limits kLimits{1000, 1000, 1000};

class ThreadedPublisher final : public KvPublisher {
 public:
  ThreadedPublisher(const KvEventsConfig& config, TreeQueue::WhenFull when_full)
      : config_(config), queue_(when_full), desk_(config.topic) {}
  ~ThreadedPublisher() override { stop(); }

  Result<std::monostate> bind() {
    auto publish = Socket::open(*context_, Kind::publish, kLimits);
    if (!publish) return publish.error();
    publish_.emplace(std::move(*publish));
    auto bound = publish_->bind(config_.publish);
    if (!bound) return Error{"events.zmq.publish: " + bound.error().text};
    published_at_ = *bound;
    if (config_.replay.empty()) return std::monostate{};
    auto router = Socket::open(*context_, Kind::router, kLimits);
    if (!router) return router.error();
    router_.emplace(std::move(*router));
    bound = router_->bind(config_.replay);
    if (!bound) return Error{"events.zmq.replay: " + bound.error().text};
    replayed_at_ = *bound;
    return std::monostate{};
  }
  void start() {
    thread_ = std::thread([this] { run(); });
  }

  TreeListener& listener() override { return queue_; }
  const std::string& published_at() const override { return published_at_; }
  const std::string& replayed_at() const override { return replayed_at_; }
  Figures figures() const override {
    const std::lock_guard lock(mutex_);
    return figures_;
  }
  void flush() override {
    while (queue_.has_begun() && (queue_.has_more() || !idle_.load())) std::this_thread::sleep_for(100us);
  }
  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    if (!thread_.joinable()) return;
    thread_.join();
    context_.reset();  // waits for what subscribers have not taken yet, at most kLimits' time
    remove_ipc_path(published_at_);
    remove_ipc_path(replayed_at_);
  }

 private:
  void run() {
    while (!queue_.has_begun()) {
      if (nap()) return close();
      serve();
    }
    BlockEvents events(config_, queue_);
    events.clear(batch_);  // what a publisher of this endpoint told before does not hold any more
    publish(events);
    std::uint64_t breaks = 0;
    for (bool last_round = false;;) {
      const std::uint64_t breaks_now = queue_.breaks();
      idle_.store(false);
      while (const TreeQueue::Record* record = queue_.next()) take(*record, events);
      publish(events);
      if (breaks_now != breaks) {
        // Nothing comes behind a loss before the engine is asked.
        breaks = breaks_now;
        events.clear(batch_);
        publish(events);
        queue_.want_anew();
      }
      const bool busy = serve();
      idle_.store(true);
      if (last_round) return close();
      if (!queue_.has_more() && !busy) last_round = nap();
    }
  }

  void take(const TreeQueue::Record& record, BlockEvents& events) {
    for (bool whole = false; !whole;) {
      whole = events.take(record, batch_);
      if (batch_.hashes.size() >= kBlocksABatch) publish(events);
    }
    if (++taken_ % 256 == 0) serve();  // also while much is told
  }

  void publish(const BlockEvents& events) {
    if (!batch_.events.empty()) {
      batch_.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
      batch_.rank = 0;
      payload_.clear();
      wire::write_batch(
          batch_, config_.dialect == KvEventsConfig::Dialect::maps ? wire::Form::maps : wire::Form::arrays, payload_);
      batch_.clear();
      const std::string sequence = sequence_frame(sequence_);
      const std::array<std::string_view, 3> frames{config_.topic, sequence, payload_};
      publish_->send(frames);
      if (router_) desk_.keep(sequence_, payload_);
      ++sequence_, bytes_ += payload_.size();
    }
    const std::lock_guard lock(mutex_);
    figures_.batches = sequence_, figures_.bytes = bytes_;
    figures_.stored = events.stored, figures_.removed = events.removed, figures_.losses = queue_.breaks();
    figures_.left_out = queue_.left_out();
    figures_.kept = desk_.kept(), figures_.kept_bytes = desk_.kept_bytes();
  }

  /// Answers for past batches, and counts subscribers. Whether there was something to do.
  bool serve() {
    const std::uint64_t before = subscribers_;
    while (publish_->receive(frames_))
      if (!frames_[0].empty()) frames_[0][0] != 0 ? ++subscribers_ : --subscribers_;
    const bool busy = router_ && desk_.serve(*router_);
    if (busy || subscribers_ != before) {
      const std::lock_guard lock(mutex_);
      figures_.subscribers = subscribers_, figures_.replayed = desk_.replayed();
    }
    return busy;
  }

  /// Waits a little. Whether the end was asked for.
  bool nap() {
    std::unique_lock lock(mutex_);
    return wake_.wait_for(lock, kNap, [&] { return stopping_; });
  }
  /// In this thread, whose sockets they are. Subscribers have kLimits' time to take what waits for them.
  void close() { publish_.reset(), router_.reset(); }

  const KvEventsConfig config_;
  TreeQueue queue_;
  std::optional<Context> context_{std::in_place};
  std::optional<Socket> publish_, router_;
  std::string published_at_, replayed_at_;
  ReplayDesk desk_;
  wire::EventBatch batch_;
  std::string payload_;
  std::uint64_t sequence_ = 0, bytes_ = 0, taken_ = 0, subscribers_ = 0;
  std::vector<std::string> frames_;
  std::atomic<bool> idle_{false};  ///< everything that next() returned is published
  mutable std::mutex mutex_;
  Figures figures_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<KvPublisher>> KvPublisher::open(const KvEventsConfig& config, TreeQueue::WhenFull when_full) {
  auto publisher = std::make_unique<ThreadedPublisher>(config, when_full);
  if (auto bound = publisher->bind(); !bound) return bound.error();
  publisher->start();
  return std::unique_ptr<KvPublisher>(std::move(publisher));
}

}  // namespace canopy::sockets
