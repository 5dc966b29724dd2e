#pragma once

#include <redis/resp_reader.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::test {

/// Writes the elements of a stream that a RespReader reports, one per line. Strings of `placed` bytes get memory of
/// their own.
class ReplyText final : public redis::ReplySink {
 public:
  explicit ReplyText(std::uint64_t placed) : placed_(placed) {}

  std::byte* place(std::uint64_t bytes) override {
    if (bytes != placed_) return nullptr;
    return memory_.emplace_back(bytes, std::byte{0xAA}).data();
  }
  void element(const redis::Element& element) override {
    constexpr const char* kKinds[] = {"status", "error", "integer", "text", "value", "dropped", "nil", "array"};
    text_ += kKinds[static_cast<std::size_t>(element.kind)];
    text_ += " " + std::to_string(element.number) + " ";
    if (element.kind == redis::Element::Kind::value)
      text_.append(reinterpret_cast<const char*>(memory_.back().data()), memory_.back().size());
    text_ += element.text;
    text_ += element.last ? ".\n" : ",\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::uint64_t placed_;
  std::vector<std::vector<std::byte>> memory_;
  std::string text_;
};

/// Gives the reader bytes as a socket does: into its room, which is never empty, at most `most` at a time. False: they
/// are no RESP2.
inline bool feed(redis::RespReader& reader, std::string_view bytes, std::size_t most) {
  while (!bytes.empty()) {
    std::size_t given = 0;
    for (const iovec& piece : reader.room()) {
      const std::size_t now = std::min({piece.iov_len, bytes.size() - given, most - given});
      if (now > 0) std::memcpy(piece.iov_base, bytes.data() + given, now);
      given += now;
    }
    if (given == 0) throw std::logic_error("the reader has no room, and did not refuse what it has");
    bytes.remove_prefix(given);
    if (!reader.took(given)) return false;
  }
  return true;
}

}  // namespace canopy::test
