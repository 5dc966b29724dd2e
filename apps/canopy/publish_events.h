#pragma once

#include <canopy/feed/kv_events_config.h>
#include <canopy/kv_events/kv_publisher.h>

#include <memory>

#include <replay/replay.h>

namespace canopy::app {

/// Opens the publisher of an engine's file. May be null (the file has none). It waits where a server's would drop,
/// because a replay has no clients. Prints on stderr where it listens, and whether other machines can connect.
Result<std::unique_ptr<kv_events::KVPublisher>> open_publisher(const KVEventsConfig& config);

/// Waits until a subscriber is connected, or a signal comes. REQUIRES: an Interrupt exists.
void await_subscriber(const kv_events::KVPublisher& publisher);

/// Returns what was published, after all changes of the index so far are. REQUIRES: the engine's thread, between its
/// calls.
replay::PublishedReport published_by(kv_events::KVPublisher& publisher);

/// Publishes the rest, sends past batches again until a signal comes (`stay`), and prints what was published. REQUIRES:
/// an Interrupt exists; the engine makes no further calls.
void end_publishing(kv_events::KVPublisher& publisher, bool stay);

}  // namespace canopy::app
