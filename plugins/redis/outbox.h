#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

namespace canopy::redis {

/// Commands on their way into a socket, as RESP2: words are kept here, records stay where they are.
class Outbox {
 public:
  void array(std::size_t elements);
  void word(std::string_view text);
  /// A string of these bytes. They belong to the outbox until they are sent; `owner` names them for lends_from().
  void record(std::span<const std::byte> bytes, const void* owner);

  /// The next bytes to send, in as many pieces as fit. Returns how many pieces.
  std::size_t next(std::span<iovec> pieces) const;
  void sent(std::size_t bytes);
  std::uint64_t unsent() const { return unsent_; }
  bool lends_from(const void* owner) const;
  void clear();

 private:
  struct Piece {
    const std::byte* record;  ///< nullptr: words
    const void* owner;
    std::size_t begin, size;  ///< words: of `words_`, counted from its first byte ever
  };
  void add(std::string_view words);

  std::deque<Piece> pieces_;
  std::string words_;
  std::size_t forgotten_ = 0;  ///< words that were sent and are not in `words_` any more
  std::uint64_t unsent_ = 0;
};

}  // namespace canopy::redis
