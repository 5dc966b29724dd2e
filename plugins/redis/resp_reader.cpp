#include "resp_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace canopy::redis {

namespace {

constexpr std::size_t kScratch = 64 << 10;

bool read_number(std::string_view text, std::int64_t& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

}  // namespace

std::array<iovec, 2> RespReader::room() {
  const iovec buffer{buffer_.data() + end_, kBuffer - end_};
  if (state_ != State::body) return {buffer, iovec{nullptr, 0}};
  if (kept_ != Kept::dropped) return {iovec{target_, left_}, buffer};
  scratch_.resize(kScratch);
  // Bytes after a value go into the buffer only when the value is complete.
  const std::size_t now = std::min<std::uint64_t>(left_, kScratch);
  return {iovec{scratch_.data(), now}, now == left_ ? buffer : iovec{nullptr, 0}};
}

bool RespReader::took(std::size_t bytes) {
  if (state_ == State::body) {
    const std::size_t direct = std::min<std::uint64_t>(bytes, left_);
    take_body(direct);
    bytes -= direct;
  }
  end_ += bytes;
  return read_buffer();
}

void RespReader::drop_value() {
  if (in_value()) kept_ = Kept::dropped;
}

void RespReader::take_body(std::size_t bytes) {
  if (kept_ != Kept::dropped) target_ += bytes;
  left_ -= bytes;
  if (left_ == 0) state_ = State::body_end;
}

bool RespReader::read_buffer() {
  for (;;) {
    const std::size_t there = end_ - begin_;
    if (state_ == State::body) {
      const std::size_t bytes = std::min<std::uint64_t>(there, left_);
      if (kept_ != Kept::dropped) std::memcpy(target_, buffer_.data() + begin_, bytes);
      begin_ += bytes;
      take_body(bytes);
      if (state_ == State::body) break;
    } else if (state_ == State::body_end) {
      if (there < 2) break;
      if (buffer_[begin_] != '\r' || buffer_[begin_ + 1] != '\n') return false;
      begin_ += 2;
      state_ = State::line;
      constexpr std::array kinds{Element::Kind::value, Element::Kind::text, Element::Kind::dropped};
      report({.kind = kinds[static_cast<std::size_t>(kept_)],
              .number = static_cast<std::int64_t>(length_),
              .text = kept_ == Kept::text ? std::string_view(text_) : std::string_view()});
    } else {
      const std::string_view seen(buffer_.data() + begin_, there);
      const std::size_t end = seen.find('\n');
      if (end == std::string_view::npos) {
        if (there == kBuffer) return false;
        break;
      }
      if (end < 2 || seen[end - 1] != '\r') return false;
      begin_ += end + 1;
      if (!read_line(seen.substr(0, end - 1))) return false;
    }
  }
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_, begin_ = 0;
  return true;
}

bool RespReader::read_line(std::string_view line) {
  const std::string_view rest = line.substr(1);
  if (line[0] == '+' || line[0] == '-') {
    report({.kind = line[0] == '+' ? Element::Kind::status : Element::Kind::error, .text = rest});
    return true;
  }
  std::int64_t number = 0;
  if (!read_number(rest, number)) return false;
  if (line[0] == '$') return begin_string(number);
  if (line[0] == '*') return begin_array(number);
  if (line[0] == ':') report({.kind = Element::Kind::integer, .number = number});
  return line[0] == ':';
}

bool RespReader::begin_string(std::int64_t bytes) {
  if (bytes == -1) report({.kind = Element::Kind::nil});
  if (bytes < 0 || bytes > kLongestValue) return bytes == -1;
  left_ = length_ = static_cast<std::uint64_t>(bytes);
  target_ = depth_ == 0 ? sink_.place(length_) : nullptr;
  kept_ = target_ != nullptr ? Kept::placed : length_ <= kLongestText ? Kept::text : Kept::dropped;
  if (kept_ == Kept::text) {
    text_.resize(length_);
    target_ = reinterpret_cast<std::byte*>(text_.data());
  }
  state_ = left_ > 0 ? State::body : State::body_end;
  return true;
}

bool RespReader::begin_array(std::int64_t elements) {
  if (elements == -1) report({.kind = Element::Kind::nil});
  if (elements < 0 || elements > kMostElements) return elements == -1;
  if (elements == 0) {
    report({.kind = Element::Kind::array});
    return true;
  }
  if (depth_ == kDeepest) return false;
  pending_[depth_++] = elements;
  sink_.element({.kind = Element::Kind::array, .last = false, .number = elements});
  return true;
}

void RespReader::report(Element element) {
  while (depth_ > 0 && --pending_[depth_ - 1] == 0) --depth_;
  element.last = depth_ == 0;
  sink_.element(element);
}

}  // namespace canopy::redis
