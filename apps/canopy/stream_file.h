#pragma once

#include <canopy/base/doubts.h>
#include <canopy/base/result.h>
#include <canopy/kv_events/event.h>
#include <canopy/kv_events/in_order.h>
#include <canopy/kv_events/stream.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace canopy::app {

/// Returns the bytes of a file with a recorded stream.
Result<std::string> stream_content(const std::string& path);

/// Reads the messages of a file with a recorded stream. A publisher is identified by topic and rank, and has its own
/// sequence numbers.
class StreamFile {
 public:
  using Publisher = std::pair<std::string, std::optional<std::int64_t>>;

  /// Calls `visit` with each message whose payload can be read, in the order of the file. Reports the others on stderr.
  /// Returns the exit code.
  int read(const std::string& path, const std::function<void(const kv_events::Message&, const Publisher&,
                                                             kv_events::Order, const kv_events::EventBatch&)>& visit);

  std::uint64_t messages = 0, unreadable = 0, bytes = 0;  ///< Bytes of payloads.
  /// Returns the doubts of figures of the stream: messages that are missing, or could not be read.
  Doubts doubts() const;
  std::size_t publishers() const { return orders_.size(); }
  /// Returns the sum of all publishers: "1 gap (1 missing, 1 repaired), 1 repeated, 1 restart".
  std::string gaps_in_words() const;

 private:
  kv_events::InOrder::Counts counts() const;

  std::map<Publisher, kv_events::InOrder> orders_;
};

}  // namespace canopy::app
