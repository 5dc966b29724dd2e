#include <canopy/helpers/at_fork.h>
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

#include "inherited_sockets.h"
#include "ipc_path.h"
#include "replay_desk.h"
#include "socket.h"

namespace canopy::kv_events {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kBlocksABatch = 512;  // blocks at which a batch is sent; fewer if the queue is empty
constexpr auto kNap = 1ms;                  // time between two checks of an empty queue
constexpr Socket::Limits kLimits{1000, 1000, 1000, 4096};  // a request or a subscription has some bytes

class ThreadedPublisher final : public KVPublisher {
 public:
  ThreadedPublisher(const KVEventsConfig& config, TreeQueue::WhenFull when_full)
      : config_(config), queue_(when_full), desk_(config.topic) {}
  ~ThreadedPublisher() override { stop(); }
  /// For a forked child, which has neither the thread nor the threads of ZeroMQ.
  void leave() noexcept {
    queue_.stop();
    close_inherited_sockets(published_at_);
    close_inherited_sockets(replayed_at_);
  }

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

  /// Without memory for a record or a batch, everything is sent again, as after a loss.
  void run() noexcept {
    for (bool stopped = false; !stopped;) {
      try {
        publish_all();
        stopped = true;
      } catch (const std::bad_alloc&) {
        passes_over_ = true;
        queue_.lose();
        stopped = nap();
      }
    }
    close();
  }

  /// Publishes what is queued until stop() is called.
  void publish_all() {
    while (!queue_.has_begun()) {
      if (nap()) return;
      serve();
    }
    BlockEvents events(config_, queue_);
    batch_.clear();
    events.clear(batch_);  // the events of an earlier publisher at this endpoint are no longer valid
    publish(events);
    for (bool last_round = false;;) {
      const std::uint64_t breaks_now = queue_.breaks();
      idle_.store(false);
      while (const TreeQueue::Record* record = queue_.next())
        if (!passes_over_) take(*record, events);
      publish(events);
      if (breaks_now != breaks_) {
        // After a loss nothing is queued until the engine sends everything again.
        events.clear(batch_);
        publish(events);
        breaks_ = breaks_now, passes_over_ = false;
        queue_.want_resync();
      }
      const bool busy = serve();
      idle_.store(true);
      if (last_round) return;
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
      write_batch(batch_, config_.dialect == KVEventsConfig::Dialect::maps ? Form::maps : Form::arrays, payload_);
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

  const KVEventsConfig config_;
  TreeQueue queue_;
  std::optional<zmq::context_t> context_{std::in_place};
  std::optional<Socket> publish_, router_;
  std::string published_at_, replayed_at_;
  ReplayDesk desk_;
  EventBatch batch_;
  std::string payload_;
  std::uint64_t sequence_ = 0, bytes_ = 0, taken_ = 0, subscribers_ = 0, breaks_ = 0;
  bool passes_over_ = false;  ///< true after memory was refused, until what is queued is lost
  std::vector<std::string> frames_;
  std::atomic<bool> idle_{false};  ///< True if everything that next() returned is published.
  mutable std::mutex mutex_;
  Figures figures_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

/// A publisher that a forked child neither uses nor destroys.
class PublisherOfOneProcess final : public KVPublisher {
 public:
  explicit PublisherOfOneProcess(std::unique_ptr<ThreadedPublisher> publisher) : publisher_(std::move(publisher)) {}
  ~PublisherOfOneProcess() override {
    if (own_.left()) static_cast<void>(publisher_.release());
  }
  PublisherOfOneProcess(const PublisherOfOneProcess&) = delete;

  TreeListener& listener() override { return publisher_->listener(); }
  const std::string& published_at() const override { return publisher_->published_at(); }
  const std::string& replayed_at() const override { return publisher_->replayed_at(); }
  Figures figures() const override { return own_.left() ? Figures() : publisher_->figures(); }
  void flush() override {
    if (!own_.left()) publisher_->flush();
  }
  void stop() override {
    if (!own_.left()) publisher_->stop();
  }

 private:
  std::unique_ptr<ThreadedPublisher> publisher_;
  AtFork own_{[](void* publisher) noexcept { static_cast<ThreadedPublisher*>(publisher)->leave(); }, publisher_.get()};
};

}  // namespace

Result<std::unique_ptr<KVPublisher>> KVPublisher::open(const KVEventsConfig& config,
                                                       TreeQueue::WhenFull when_full) try {
  auto publisher = std::make_unique<ThreadedPublisher>(config, when_full);
  if (auto bound = publisher->bind(); !bound) return bound.error();
  publisher->start();
  return std::unique_ptr<KVPublisher>(std::make_unique<PublisherOfOneProcess>(std::move(publisher)));
} catch (const zmq::error_t& error) {  // the context could not be created
  return Error{std::string("ZeroMQ: ") + error.what()};
}

}  // namespace canopy::kv_events
