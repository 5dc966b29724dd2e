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
  /// Appends a number of 8 bytes, as msgspec writes it.
  void real(double value);
  void text(std::string_view text);
  void bytes(std::string_view bytes);
  /// Begins an array. REQUIRES: `count` values follow.
  void array(std::size_t count);
  /// Begins a map. REQUIRES: `count` keys follow, each with its value.
  void map(std::size_t count);
  /// Appends bytes of a value that is already packed.
  void write(const char* data, std::size_t size) { to_.append(data, size); }

 private:
  std::string& to_;
};

struct Value {
  enum class Type : std::uint8_t { nil, boolean, number, negative, real, text, bytes, extension, array, map };
  Type type = Type::nil;
  std::uint64_t number = 0;  ///< Number; a negative one in two's complement; for an array or a map, its entries.
  double real = 0;
  std::string_view bytes{};
};

/// Returns the value as text for an error message.
std::string shown(const Value& value);

/// Reads values from bytes that may be hostile. Allocates nothing for the lengths that they contain.
class Unpacker {
 public:
  static constexpr unsigned kMostLevels = 32;
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  /// Reads a value; of an array or a map only the head, after which its entries follow. Returns false, and sets flaw(),
  /// if there is no value.
  bool next(Value& value);
  /// Skips the entries of the value that next() read last, with their contents; nothing if it has no entries. Returns
  /// false, and sets flaw(), if they are invalid or nest more than kMostLevels deep.
  bool skip(const Value& value);

  /// Returns the offset of the value that next() read last.
  std::size_t value_at() const { return value_at_; }
  /// Returns the offset of the first byte that was not read.
  std::size_t at() const { return at_; }
  /// Returns an error message. Empty: none.
  std::string_view flaw() const { return flaw_; }

 private:
  bool fail(std::string_view flaw) { return flaw_ = flaw, false; }

  std::string_view bytes_, flaw_;
  std::size_t at_ = 0, value_at_ = 0;
};

}  // namespace canopy::kv_events
