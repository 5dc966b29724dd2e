#pragma once

#include <canopy/base/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Messages with payloads. The frames come from a socket or a recording; this code opens neither.
namespace canopy::kv_events {

struct Message {
  std::string_view topic;
  std::uint64_t sequence = 0;
  std::string_view payload;
  bool is_end = false;  ///< True for the mark after the last message of a replay, which has no payload.
};

/// Returns the frame of a sequence: 8 bytes, most significant first.
std::string sequence_frame(std::uint64_t sequence);

/// Returns the message in the frames that a subscriber or a client of a replay socket receives. The last two frames are
/// the sequence (8 bytes, most significant first) and the payload; depending on the release, up to two frames precede
/// them. The views of the message point into the frames.
Result<Message> message_of(std::span<const std::string_view> frames);

/// Reads the messages of a recorded stream in memory. A message is a number of frames and, for each frame, its length
/// and its bytes; both numbers have 4 bytes, least significant first.
class RecordedStream {
 public:
  explicit RecordedStream(std::string_view bytes) : bytes_(bytes) {}
  /// Reads the next message. Returns false at the end. An error names the byte; no message can be read after it.
  Result<bool> next(Message& message);
  std::size_t at() const { return at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::vector<std::string_view> frames_;
};

}  // namespace canopy::kv_events
