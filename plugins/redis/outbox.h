#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

namespace canopy::redis {

/// Commands to be sent on a socket, as RESP2. Copies words; refers to records in place.
class Outbox {
 public:
  void array(std::size_t elements);
  void word(std::string_view text);
  /// Adds a string of these bytes, which must stay valid until they are sent. `owner` identifies them for lends_from().
  void record(std::span<const std::byte> bytes, const void* owner);

  /// Fills `pieces` with the next bytes to send. Returns the number of pieces.
  std::size_t next(std::span<iovec> pieces) const;
  void sent(std::size_t bytes);
  std::uint64_t unsent() const { return unsent_; }
  bool lends_from(const void* owner) const;
  void clear();

 private:
  struct Piece {
    const std::byte* record;  ///< null: words
    const void* owner;
    std::size_t begin, size;  ///< position in `words_` for words, counted from the first byte ever added
  };
  void add(std::string_view words);

  std::deque<Piece> pieces_;
  std::string words_;
  std::size_t forgotten_ = 0;  ///< bytes of words that were sent and are no longer in `words_`
  std::uint64_t unsent_ = 0;
};

}  // namespace canopy::redis
