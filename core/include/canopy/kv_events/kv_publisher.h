#pragma once

#include <canopy/base/result.h>
#include <canopy/feed/kv_events_config.h>
#include <canopy/kv_events/tree_queue.h>

#include <cstdint>
#include <memory>
#include <string>

namespace canopy::kv_events {

/// Publishes the content of an engine's index as KV events, as vLLM and SGLang do, from its own thread:
///
///   auto publisher = KVPublisher::open(config.events, TreeQueue::WhenFull::drop);
///   auto engine = Engine::create(config, registry, &(*publisher)->listener());
///
/// A subscriber (SUB) receives topic, sequence and batch. The sequence begins at 0 with a batch that clears, which
/// shows a restart. At most 1,000 batches are queued for a slow subscriber. Further ones are dropped for it, which
/// leaves a gap in its sequence. A client of the replay endpoint (DEALER) sends an empty frame and a sequence (8 bytes,
/// most significant first). It receives each kept batch from that sequence on as an empty frame, topic, sequence and
/// batch; a sequence of eight bytes ff marks the end. The newest 10,000 batches are kept, at most 64 MiB.
///
/// A forked child leaves the publisher to its parent: it publishes nothing, and has none of its sockets.
class KVPublisher {
 public:
  /// Binds the endpoints and starts the thread. An error names the endpoint and the system's reason.
  static Result<std::unique_ptr<KVPublisher>> open(const KVEventsConfig& config, TreeQueue::WhenFull when_full);
  /// Calls stop().
  virtual ~KVPublisher() = default;

  /// Returns the listener for the engine. REQUIRES: the engine ends before the publisher does.
  virtual TreeListener& listener() = 0;
  /// Return the endpoints with the ports in use. replayed_at() is empty if there is no replay endpoint.
  virtual const std::string& published_at() const = 0;
  virtual const std::string& replayed_at() const = 0;

  struct Figures {
    std::uint64_t batches = 0, bytes = 0;    ///< Published batches and their bytes.
    std::uint64_t stored = 0, removed = 0;   ///< Blocks.
    std::uint64_t losses = 0;                ///< Times that everything was sent again: see TreeQueue.
    std::uint64_t left_out = 0;              ///< Namespaces left out, because the salt needs over half of the queue.
    std::uint64_t subscribers = 0;           ///< Connected subscribers.
    std::uint64_t replayed = 0;              ///< Batches sent to clients of the replay endpoint.
    std::uint64_t kept = 0, kept_bytes = 0;  ///< Batches kept for these clients, and their bytes.
  };
  /// Returns the figures so far. Any thread may call it.
  virtual Figures figures() const = 0;
  /// Waits until all changes of the index so far are published. REQUIRES: the engine's thread, between its calls.
  virtual void flush() = 0;
  /// Publishes what is queued, gives subscribers a second to receive it, and ends the thread. REQUIRES: the engine
  /// makes no further calls.
  virtual void stop() = 0;
};

}  // namespace canopy::kv_events
