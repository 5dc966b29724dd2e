#include "outbox.h"

#include <algorithm>
#include <charconv>

namespace canopy::redis {

namespace {

/// "$64\r\n"
struct Head {
  Head(char kind, std::size_t number) {
    text[0] = kind;
    char* end = std::to_chars(text + 1, text + sizeof text - 2, number).ptr;
    *end++ = '\r', *end++ = '\n';
    size = static_cast<std::size_t>(end - text);
  }
  operator std::string_view() const { return {text, size}; }
  char text[24];
  std::size_t size;
};

constexpr std::size_t kForgetAt = 64 << 10;  // bytes of sent words from which moving the others is worth it

}  // namespace

void Outbox::array(std::size_t elements) { add(Head('*', elements)); }

void Outbox::word(std::string_view text) {
  add(Head('$', text.size()));
  add(text);
  add("\r\n");
}

void Outbox::record(std::span<const std::byte> bytes, const void* owner) {
  add(Head('$', bytes.size()));
  pieces_.push_back({bytes.data(), owner, 0, bytes.size()});
  unsent_ += bytes.size();
  add("\r\n");
}

void Outbox::add(std::string_view words) {
  if (pieces_.empty() || pieces_.back().record != nullptr)
    pieces_.push_back({nullptr, nullptr, forgotten_ + words_.size(), 0});
  words_ += words;
  pieces_.back().size += words.size();
  unsent_ += words.size();
}

std::size_t Outbox::next(std::span<iovec> pieces) const {
  const std::size_t count = std::min(pieces.size(), pieces_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Piece& piece = pieces_[i];
    const void* bytes = piece.record;
    if (piece.record == nullptr) bytes = words_.data() + (piece.begin - forgotten_);
    pieces[i] = {const_cast<void*>(bytes), piece.size};  // writev() only reads
  }
  return count;
}

void Outbox::sent(std::size_t bytes) {
  unsent_ -= bytes;
  while (bytes > 0) {
    Piece& piece = pieces_.front();
    const std::size_t now = std::min(bytes, piece.size);
    if (piece.record != nullptr) piece.record += now;
    else piece.begin += now;
    piece.size -= now, bytes -= now;
    if (piece.size == 0) pieces_.pop_front();
  }
  if (pieces_.empty()) return clear();
  const auto words = std::find_if(pieces_.begin(), pieces_.end(), [](const Piece& p) { return p.record == nullptr; });
  const std::size_t done = (words == pieces_.end() ? forgotten_ + words_.size() : words->begin) - forgotten_;
  if (done < kForgetAt) return;
  words_.erase(0, done);
  forgotten_ += done;
}

bool Outbox::lends_from(const void* owner) const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [&](const Piece& p) { return p.record != nullptr && p.owner == owner; });
}

void Outbox::clear() {
  pieces_.clear();
  words_.clear();
  forgotten_ = 0, unsent_ = 0;
}

}  // namespace canopy::redis
