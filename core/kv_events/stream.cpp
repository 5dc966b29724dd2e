#include <canopy/kv_events/msgpack.h>
#include <canopy/kv_events/stream.h>
#include <fmt/format.h>

#include <optional>

namespace canopy::kv_events {
namespace {

constexpr std::uint32_t kMostFrames = 16;

std::optional<std::uint32_t> number_at(std::string_view bytes, std::size_t at) {
  if (bytes.size() - at < 4) return std::nullopt;
  std::uint32_t number = 0;
  for (std::size_t i = 4; i-- > 0;) number = number << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return number;
}

}  // namespace

std::string sequence_frame(std::uint64_t sequence) {
  std::string frame;
  append_big_endian(frame, sequence, 8);
  return frame;
}

Result<Message> message_of(std::span<const std::string_view> frames) {
  if (frames.size() < 2)
    return Error{fmt::format("a message has {} frames; expected at least a sequence and a payload", frames.size())};
  const std::string_view sequence = frames[frames.size() - 2];
  if (sequence.size() != 8)
    return Error{fmt::format("the frame before the payload has {} bytes; expected a sequence of 8", sequence.size())};
  Message message;
  message.sequence = big_endian(sequence);
  message.payload = frames.back();
  message.is_end = message.payload.empty() && message.sequence == ~std::uint64_t{0};
  if (frames.size() > 2) message.topic = frames[frames.size() - 3];
  return message;
}

Result<bool> RecordedStream::next(Message& message) {
  if (at_ == bytes_.size()) return false;
  const std::size_t begin = at_;
  const auto cut = [&] {
    return Error{
        fmt::format("byte {}: the stream ends within the message that begins at byte {}", bytes_.size(), begin)};
  };
  const std::optional<std::uint32_t> count = number_at(bytes_, at_);
  if (!count) return cut();
  if (*count > kMostFrames)
    return Error{fmt::format("byte {}: a message has {} frames; expected at most {}: this is not a recorded stream",
                             begin, *count, kMostFrames)};
  std::size_t at = at_ + 4;
  frames_.clear();
  for (std::uint32_t i = 0; i < *count; ++i) {
    const std::optional<std::uint32_t> size = number_at(bytes_, at);
    if (!size || bytes_.size() - at - 4 < *size) return cut();
    frames_.push_back(bytes_.substr(at + 4, *size));
    at += 4 + *size;
  }
  Result<Message> read = message_of(frames_);
  if (!read) return Error{fmt::format("byte {}: {}", begin, read.error().text)};
  message = *read;
  at_ = at;
  return true;
}

}  // namespace canopy::kv_events
