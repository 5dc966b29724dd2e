#pragma once

#include <canopy/feed/kv_events_config.h>
#include <canopy/sockets/tree_queue.h>
#include <canopy/support/result.h>

#include <cstdint>
#include <memory>
#include <string>

namespace canopy::sockets {

/// Publishes what an engine's index holds as KV events, as vLLM and SGLang do, from a thread of its own:
///
///   auto publisher = KvPublisher::open(config.events, TreeQueue::WhenFull::drop);
///   auto engine = Engine::create(config, registry, &(*publisher)->listener());
///
/// A subscriber (SUB) gets topic, sequence and batch. The sequence begins at 0 with a batch that clears, so that a
/// restart is told. A subscriber that is slow or stuck loses batches: at most 1,000 wait for it, then new ones are
/// dropped for it, and it sees a gap in the sequence. A client of the replay endpoint (DEALER) sends an empty frame and
/// a sequence (8 bytes, most significant first). It gets each batch that is kept from there on as an empty frame,
/// topic, sequence and batch; the end is a sequence of eight ff. The newest 10,000 batches are kept, at most 64 MiB of
/// them.
class KvPublisher {
 public:
  /// Binds the endpoints. An error names the endpoint and the system's reason.
  static Result<std::unique_ptr<KvPublisher>> open(const KvEventsConfig& config, TreeQueue::WhenFull when_full);
  /// As stop().
  virtual ~KvPublisher() = default;

  /// What the engine tells. REQUIRES: the engine ends before the publisher does.
  virtual TreeListener& listener() = 0;
  /// Where it listens, with the port that it has; replay is empty where there is none.
  virtual const std::string& published_at() const = 0;
  virtual const std::string& replayed_at() const = 0;

  struct Figures {
    std::uint64_t batches = 0, bytes = 0;   ///< published
    std::uint64_t stored = 0, removed = 0;  ///< blocks
    std::uint64_t losses = 0;       ///< times that the queue was full: then everything was cleared and told anew
    std::uint64_t left_out = 0;     ///< namespaces that are not told: their salt takes more than half of the queue
    std::uint64_t subscribers = 0;  ///< that are connected
    std::uint64_t replayed = 0;     ///< batches sent to clients of the replay endpoint
    std::uint64_t kept = 0, kept_bytes = 0;  ///< for them
  };
  /// May be asked from any thread.
  virtual Figures figures() const = 0;
  /// Waits until everything that the engine told so far is published. REQUIRES: the engine's thread, between its calls.
  virtual void flush() = 0;
  /// Publishes what was told, gives subscribers a second to take it, and ends the thread. The engine may tell no more.
  virtual void stop() = 0;
};

}  // namespace canopy::sockets
