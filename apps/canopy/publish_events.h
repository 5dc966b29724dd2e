#pragma once

#include <canopy/feed/kv_events_config.h>
#include <canopy/sockets/kv_publisher.h>

#include <memory>

#include <replay/replay.h>

namespace canopy::app {

/// The publisher that an engine's file asks for; null if it asks for none. It waits where a server's would drop, since
/// a replay has no clients. Says on stderr where it listens, and if other machines can connect.
Result<std::unique_ptr<sockets::KvPublisher>> open_publisher(const KvEventsConfig& config);

/// Waits until a subscriber is connected, or a signal comes. REQUIRES: an Interrupt lives.
void await_subscriber(const sockets::KvPublisher& publisher);

/// What was published, once all that the engine has told is. REQUIRES: the engine's thread, between its calls.
replay::PublishedReport published_by(sockets::KvPublisher& publisher);

/// Publishes the rest, answers for past batches until a signal comes (`stay`), and prints what was published. REQUIRES:
/// an Interrupt lives; the engine does nothing more.
void end_publishing(sockets::KvPublisher& publisher, bool stay);

}  // namespace canopy::app
