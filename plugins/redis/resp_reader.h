#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::redis {

/// One element of a reply. A reply is one element, or an array's head followed by its elements, which may be arrays.
struct Element {
  enum class Kind {
    status,   ///< `text`, such as OK
    error,    ///< `text`, such as MOVED 3999 127.0.0.1:6381
    integer,  ///< `number`
    text,     ///< string that the reader kept in `text`
    value,    ///< string of `number` bytes, in the memory from ReplySink::place()
    dropped,  ///< string of `number` bytes that was discarded
    nil,      ///< missing string or array
    array,    ///< `number` elements follow
  };
  Kind kind = Kind::nil;
  bool last = true;  ///< true if it ends the reply
  std::int64_t number = 0;
  std::string_view text = {};  ///< valid during the call
};

/// Receives replies. REQUIRES: the functions change the reader only by drop_value().
class ReplySink {
 public:
  /// Returns the memory for a string reply of `bytes` bytes, or null: the reader then keeps it as text if it is short.
  /// The memory belongs to the reader until the element arrives or drop_value() is called.
  virtual std::byte* place(std::uint64_t bytes) = 0;
  virtual void element(const Element& element) = 0;

 protected:
  ~ReplySink() = default;
};

/// Reads replies in RESP2, the protocol of Redis and Valkey (redis.io/docs/latest/develop/reference/protocol-spec), in
/// fragments of any size. Long values are not copied: room() directs the next readv() to their memory, and a small
/// buffer takes the bytes after them.
class RespReader {
 public:
  static constexpr std::size_t kBuffer = 4096;             ///< bytes; also the longest line
  static constexpr std::uint64_t kLongestText = 64 << 10;  ///< most bytes of a string that is kept
  static constexpr std::int64_t kLongestValue = 512 << 20;
  static constexpr std::int64_t kMostElements = 1 << 20;  ///< elements of an array
  static constexpr std::size_t kDeepest = 8;              ///< nesting of arrays

  explicit RespReader(ReplySink& sink) : sink_(sink) {}

  /// Returns the memory for the next bytes, in order. Never empty.
  std::array<iovec, 2> room();
  /// Handles `bytes` received bytes. Returns false if they are not RESP2; nothing after them can be read.
  bool took(std::size_t bytes);
  /// Discards the rest of the arriving value and ends the use of its memory.
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
  void report(Element element);

  ReplySink& sink_;
  State state_ = State::line;
  Kept kept_ = Kept::dropped;
  std::byte* target_ = nullptr;  ///< position in a string that is placed or kept
  std::uint64_t left_ = 0;       ///< missing bytes of the string, without its line end
  std::uint64_t length_ = 0;
  std::string text_;
  std::vector<std::byte> scratch_;                ///< receives discarded bytes
  std::array<std::int64_t, kDeepest> pending_{};  ///< missing elements of the enclosing arrays
  std::size_t depth_ = 0;
  std::size_t begin_ = 0, end_ = 0;  ///< unread part of the buffer
  std::array<char, kBuffer> buffer_;
};

}  // namespace canopy::redis
