#pragma once

#include <canopy/base/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Messages around payloads. Frames come from a socket or a recording; this code opens neither.
namespace canopy::kv_events {

struct Message {
  std::string_view topic;
  std::uint64_t sequence = 0;
  std::string_view payload;
  bool is_end = false;  ///< The mark behind the last message of a replay. It has no payload.
};

/// Returns the frame of a sequence: 8 bytes, most significant first.
std::string sequence_frame(std::uint64_t sequence);

/// Returns the message in the frames that a subscriber or a client of a replay socket receives. Releases put zero to
/// two frames before the last two, which are the sequence (8 bytes, most significant first) and the payload. The
/// message's views point into the frames.
Result<Message> message_of(std::span<const std::string_view> frames);

/// Reads the messages of a recorded stream in memory. A message is a count of frames and, for each, its length and
/// bytes; both numbers have 4 bytes, least significant first.
class RecordedStream {
 public:
  explicit RecordedStream(std::string_view bytes) : bytes_(bytes) {}
  /// Returns false at the end. An error names the byte; no message can be read after it.
  Result<bool> next(Message& message);
  std::size_t at() const { return at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::vector<std::string_view> frames_;
};

}  // namespace canopy::kv_events
