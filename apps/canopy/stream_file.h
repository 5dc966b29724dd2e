#pragma once

#include <canopy/support/result.h>
#include <canopy/wire/event.h>
#include <canopy/wire/sequence.h>
#include <canopy/wire/stream.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace canopy::app {

/// The bytes of a file with a recorded stream.
Result<std::string> stream_content(const std::string& path);

/// The messages of a file with a recorded stream. A publisher is known by topic and rank, and its sequence numbers are
/// its own.
class StreamFile {
 public:
  using Publisher = std::pair<std::string, std::optional<std::int64_t>>;

  /// Calls `visit` with each message whose payload can be read. What cannot be read is said on stderr. Returns the exit
  /// code.
  int read(
      const std::string& path,
      const std::function<void(const wire::Message&, const Publisher&, wire::Order, const wire::EventBatch&)>& visit);

  std::uint64_t messages = 0, unreadable = 0, bytes = 0;  ///< bytes: of payloads
  const std::map<Publisher, wire::SequenceWatch>& watches() const { return watches_; }
  /// "1 gap (1 missing, 1 repaired), 1 repeated, 1 restart": of all publishers.
  std::string gaps_in_words() const;

 private:
  std::map<Publisher, wire::SequenceWatch> watches_;
};

}  // namespace canopy::app
