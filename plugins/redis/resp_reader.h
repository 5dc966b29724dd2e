#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::redis {

/// One element of a reply. A reply is one element, or the head of an array and the elements in it, which may be arrays.
struct Element {
  enum class Kind {
    status,   ///< `text`: OK
    error,    ///< `text`: MOVED 3999 127.0.0.1:6381
    integer,  ///< `number`
    text,     ///< a string that the reader kept in `text`
    value,    ///< a string of `number` bytes, which is where ReplySink::place() said
    dropped,  ///< a string of `number` bytes that nothing was done with
    nil,      ///< no string, or no array
    array,    ///< `number` elements follow
  };
  Kind kind = Kind::nil;
  bool last = true;  ///< the reply ends with this element
  std::int64_t number = 0;
  std::string_view text = {};  ///< valid during the call
};

/// What is done with replies. Neither function may change the reader but by drop_value().
class ReplySink {
 public:
  /// Where to put a reply that is a string of so many bytes; nullptr: the reader keeps it as text if it is short. The
  /// memory is the reader's until the element, or drop_value().
  virtual std::byte* place(std::uint64_t bytes) = 0;
  virtual void element(const Element& element) = 0;

 protected:
  ~ReplySink() = default;
};

/// Reads replies in RESP2, the protocol of Redis and Valkey (redis.io/docs/latest/develop/reference/protocol-spec),
/// wherever the bytes are cut. Long values are not copied: room() leads the next readv() to where they belong, and a
/// small buffer takes what follows them.
class RespReader {
 public:
  static constexpr std::size_t kBuffer = 4096;             ///< also the longest line
  static constexpr std::uint64_t kLongestText = 64 << 10;  ///< bytes of a string that is kept
  static constexpr std::int64_t kLongestValue = 512 << 20;
  static constexpr std::int64_t kMostElements = 1 << 20;  ///< of an array
  static constexpr std::size_t kDeepest = 8;              ///< arrays in arrays

  explicit RespReader(ReplySink& sink) : sink_(sink) {}

  /// Where the next bytes go, in this order. Never empty.
  std::array<iovec, 2> room();
  /// So many bytes are there now. False: they are no RESP2, and nothing behind them can be read.
  bool took(std::size_t bytes);
  /// The rest of the value that is arriving is not wanted any more; its memory is not touched from now on.
  void drop_value();
  bool in_value() const { return state_ == State::body && kept_ == Kept::placed; }

 private:
  enum class State { line, body, body_end };
  enum class Kept { placed, text, dropped };

  bool read_buffer();
  bool read_line(std::string_view line);
  bool begin_string(std::int64_t bytes);
  bool begin_array(std::int64_t elements);
  void take_body(std::size_t bytes);
  void tell(Element element);

  ReplySink& sink_;
  State state_ = State::line;
  Kept kept_ = Kept::dropped;
  std::byte* target_ = nullptr;  ///< of a string that is placed or kept
  std::uint64_t left_ = 0;       ///< of the string, without its line end
  std::uint64_t length_ = 0;
  std::string text_;
  std::vector<std::byte> scratch_;                ///< takes what is dropped
  std::array<std::int64_t, kDeepest> pending_{};  ///< elements that the arrays around still lack
  std::size_t depth_ = 0;
  std::size_t begin_ = 0, end_ = 0;  ///< of what is in the buffer and not read yet
  std::array<char, kBuffer> buffer_;
};

}  // namespace canopy::redis
