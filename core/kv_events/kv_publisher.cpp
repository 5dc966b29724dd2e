#include <canopy/kv_events/block_events.h>
#include <canopy/kv_events/codec.h>
#include <canopy/kv_events/kv_publisher.h>
#include <canopy/kv_events/stream.h>

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

namespace canopy::kv_events {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kBlocksABatch = 512;  // blocks at which a batch is sent; fewer if the queue is empty
constexpr auto kNap = 1ms;                  // time between two checks of an empty queue
constexpr Socket::Limits kLimits{1000, 1000, 1000, 4096};  // a request or a subscription has some bytes

class ThreadedPublisher final : public KvPublisher {
 public:
  ThreadedPublisher(const KvEventsConfig& config, TreeQueue::WhenFull when_full)
      : config_(config), queue_(when_full), desk_(config.topic) {}
  ~ThreadedPublisher() override { stop(); }

  Result<std::monostate> bind() {
    auto bound = bind(publish_, zmq::socket_type::xpub, config_.publish, "events.zmq.publish: ", published_at_);
    if (!bound || config_.replay.empty()) return bound;
    return bind(router_, zmq::socket_type::router, config_.replay, "events.zmq.replay: ", replayed_at_);
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
    context_.reset();  // waits until subscribers have received the queued batches, at most the time of kLimits
    remove_ipc_path(published_at_);
    remove_ipc_path(replayed_at_);
  }

 private:
  Result<std::monostate> bind(std::optional<Socket>& socket, zmq::socket_type type, const std::string& endpoint,
                              const char* key, std::string& bound_at) {
    auto opened = Socket::open(*context_, type, kLimits);
    if (!opened) return opened.error();
    socket.emplace(std::move(*opened));
    auto bound = socket->bind(endpoint);
    if (!bound) return Error{key + bound.error().text};
    bound_at = *bound;
    return std::monostate{};
  }

  void run() {
    while (!queue_.has_begun()) {
      if (nap()) return close();
      serve();
    }
    BlockEvents events(config_, queue_);
    events.clear(batch_);  // the events of an earlier publisher at this endpoint are no longer valid
    publish(events);
    std::uint64_t breaks = 0;
    for (bool last_round = false;;) {
      const std::uint64_t breaks_now = queue_.breaks();
      idle_.store(false);
      while (const TreeQueue::Record* record = queue_.next()) take(*record, events);
      publish(events);
      if (breaks_now != breaks) {
        // After a loss nothing is queued until the engine sends everything again.
        breaks = breaks_now;
        events.clear(batch_);
        publish(events);
        queue_.want_resync();
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
    if (++taken_ % 256 == 0) serve();  // also while the queue is never empty
  }

  void publish(const BlockEvents& events) {
    if (!batch_.events.empty()) {
      batch_.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
      batch_.rank = 0;
      payload_.clear();
      write_batch(batch_, config_.dialect == KvEventsConfig::Dialect::maps ? Form::maps : Form::arrays, payload_);
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

  /// Serves the replay endpoint, and counts subscribers. Returns true if it sent batches or read requests.
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

  /// Waits a little. Returns true if stop() was called.
  bool nap() {
    std::unique_lock lock(mutex_);
    return wake_.wait_for(lock, kNap, [&] { return stopping_; });
  }
  /// Closes the sockets, in the thread that owns them. Subscribers have the time of kLimits to receive queued batches.
  void close() { publish_.reset(), router_.reset(); }

  const KvEventsConfig config_;
  TreeQueue queue_;
  std::optional<zmq::context_t> context_{std::in_place};
  std::optional<Socket> publish_, router_;
  std::string published_at_, replayed_at_;
  ReplayDesk desk_;
  EventBatch batch_;
  std::string payload_;
  std::uint64_t sequence_ = 0, bytes_ = 0, taken_ = 0, subscribers_ = 0;
  std::vector<std::string> frames_;
  std::atomic<bool> idle_{false};  ///< True if everything that next() returned is published.
  mutable std::mutex mutex_;
  Figures figures_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<KvPublisher>> KvPublisher::open(const KvEventsConfig& config,
                                                       TreeQueue::WhenFull when_full) try {
  auto publisher = std::make_unique<ThreadedPublisher>(config, when_full);
  if (auto bound = publisher->bind(); !bound) return bound.error();
  publisher->start();
  return std::unique_ptr<KvPublisher>(std::move(publisher));
} catch (const zmq::error_t& error) {  // the context could not be created
  return Error{std::string("ZeroMQ: ") + error.what()};
}

}  // namespace canopy::kv_events
