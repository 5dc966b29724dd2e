#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// MessagePack, value by value.
namespace canopy::kv_events {

/// Appends the low `bytes` bytes of a number, most significant first.
void append_big_endian(std::string& to, std::uint64_t number, unsigned bytes);
/// Returns the number in at most 8 bytes, most significant first.
std::uint64_t big_endian(std::string_view bytes);

/// Appends values, each in its shortest form.
class Packer {
 public:
  explicit Packer(std::string& to) : to_(to) {}

  void nil();
  void number(std::uint64_t value);
  void signed_number(std::int64_t value);
  /// Always 8 bytes, as msgspec writes it.
  void real(double value);
  void text(std::string_view text);
  void bytes(std::string_view bytes);
  /// Begins an array. REQUIRES: `count` values follow.
  void array(std::size_t count);
  /// Begins a map. REQUIRES: `count` keys follow, each with its value.
  void map(std::size_t count);
  /// Appends a value that is packed already, or a part of one.
  void write(const char* data, std::size_t size) { to_.append(data, size); }

 private:
  std::string& to_;
};

struct Value {
  enum class Type : std::uint8_t { nil, boolean, number, negative, real, text, bytes, extension, array, map };
  Type type = Type::nil;
  std::uint64_t number = 0;  ///< A negative one in two's complement. Of an array or a map, the count of its entries.
  double real = 0;
  std::string_view bytes{};
};

/// Returns the value as an error message names it.
std::string shown(const Value& value);

/// Reads values from bytes that may be hostile. Allocates nothing for a length that they claim.
class Unpacker {
 public:
  static constexpr unsigned kMostLevels = 32;
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  /// Reads a value; of an array or a map only the head, which its entries follow. Returns false if there is none, and
  /// sets flaw().
  bool next(Value& value);
  /// Reads the entries of the value that next() returned last, with all they contain; nothing if it has no entries.
  /// Returns false if they nest more than kMostLevels deep.
  bool skip(const Value& value);

  /// Offset of the value that next() returned last, and of the byte behind what was read.
  std::size_t value_at() const { return value_at_; }
  std::size_t at() const { return at_; }
  std::string_view flaw() const { return flaw_; }

 private:
  bool fail(std::string_view flaw) { return flaw_ = flaw, false; }

  std::string_view bytes_, flaw_;
  std::size_t at_ = 0, value_at_ = 0;
};

}  // namespace canopy::kv_events
