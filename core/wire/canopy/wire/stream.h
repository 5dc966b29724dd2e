#pragma once

#include <canopy/support/result.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// Messages around payloads. No socket: frames come from whatever received or recorded them.
namespace canopy::wire {

struct Message {
  std::string_view topic;
  std::uint64_t sequence = 0;
  std::string_view payload;
  bool is_end = false;  ///< the mark behind the last message of a replay; it has no payload
};

/// A message from its frames, as a subscriber or a client of a replay socket gets them. Releases put zero to two frames
/// before the last two, which are the sequence (8 bytes, most significant first) and the payload. The views are the
/// frames'.
Result<Message> message_of(std::span<const std::string_view> frames);

/// The messages of a recorded stream in memory. A message is a count of frames and, for each, its length and bytes;
/// both numbers have 4 bytes, least significant first.
class RecordedStream {
 public:
  explicit RecordedStream(std::string_view bytes) : bytes_(bytes) {}
  /// False at the end. An error names the byte; nothing can be read after it.
  Result<bool> next(Message& message);
  std::size_t at() const { return at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::vector<std::string_view> frames_;
};

}  // namespace canopy::wire
