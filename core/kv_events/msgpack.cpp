#include <canopy/base/printable.h>
#include <canopy/kv_events/msgpack.h>
#include <fmt/format.h>

#include <bit>
#include <msgpack/null_visitor.hpp>
#include <msgpack/pack.hpp>
#include <msgpack/unpack.hpp>
#include <utility>

namespace canopy::kv_events {

void append_big_endian(std::string& to, std::uint64_t number, unsigned bytes) {
  while (bytes-- > 0) to += static_cast<char>(number >> (8 * bytes));
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<std::uint8_t>(byte);
  return number;
}

namespace {

using Packing = msgpack::packer<Packer>;

std::uint32_t size_of(std::string_view text) { return static_cast<std::uint32_t>(text.size()); }

/// Keeps the value that the parser finds. For an array or a map deeper than `levels`, keeps the head and stops the
/// parser.
struct Visitor : msgpack::null_visitor {
  Value value;
  unsigned levels = 0;
  std::string_view flaw{};

  bool take(Value taken) { return value = taken, true; }
  bool open(Value::Type type, std::uint32_t count) { return take({type, count}) && levels > 0 && levels-- > 0; }
  bool close() { return ++levels, true; }

  bool visit_nil() { return take({}); }
  bool visit_boolean(bool is_true) { return take({Value::Type::boolean, is_true}); }
  bool visit_positive_integer(std::uint64_t number) { return take({Value::Type::number, number}); }
  bool visit_negative_integer(std::int64_t number) {
    return take({number < 0 ? Value::Type::negative : Value::Type::number, static_cast<std::uint64_t>(number)});
  }
  bool visit_float32(float real) { return take({Value::Type::real, 0, static_cast<double>(real)}); }
  bool visit_float64(double real) { return take({Value::Type::real, 0, real}); }
  bool visit_str(const char* data, std::uint32_t size) { return take({Value::Type::text, 0, 0, {data, size}}); }
  bool visit_bin(const char* data, std::uint32_t size) { return take({Value::Type::bytes, 0, 0, {data, size}}); }
  bool visit_ext(const char* data, std::uint32_t size) { return take({Value::Type::extension, 0, 0, {data, size}}); }
  bool start_array(std::uint32_t count) { return open(Value::Type::array, count); }
  bool start_map(std::uint32_t count) { return open(Value::Type::map, count); }
  bool end_array() { return close(); }
  bool end_map() { return close(); }
  void parse_error(std::size_t, std::size_t) { flaw = "a byte that MessagePack does not use"; }
  void insufficient_bytes(std::size_t, std::size_t) { flaw = "the payload ends in the middle of a value"; }
};

}  // namespace

void Packer::nil() { Packing(*this).pack_nil(); }
void Packer::number(std::uint64_t value) { Packing(*this).pack_uint64(value); }
void Packer::signed_number(std::int64_t value) { Packing(*this).pack_int64(value); }
void Packer::text(std::string_view text) { Packing(*this).pack_str(size_of(text)), to_ += text; }
void Packer::bytes(std::string_view bytes) { Packing(*this).pack_bin(size_of(bytes)), to_ += bytes; }
void Packer::array(std::size_t count) { Packing(*this).pack_array(static_cast<std::uint32_t>(count)); }
void Packer::map(std::size_t count) { Packing(*this).pack_map(static_cast<std::uint32_t>(count)); }
void Packer::real(double value) {  // msgpack would write 2.0 as a whole number
  to_ += '\xCB';
  append_big_endian(to_, std::bit_cast<std::uint64_t>(value), 8);
}

std::string shown(const Value& value) {
  switch (value.type) {
    case Value::Type::nil:
      return "nil";
    case Value::Type::boolean:
      return value.number != 0 ? "true" : "false";
    case Value::Type::number:
      return fmt::format("{}", value.number);
    case Value::Type::negative:
      return fmt::format("{}", static_cast<std::int64_t>(value.number));
    case Value::Type::real:
      return fmt::format("{}", value.real);
    case Value::Type::text:
      return "the text " + in_quotes(value.bytes);
    case Value::Type::bytes:
      return fmt::format("{} raw bytes", value.bytes.size());
    case Value::Type::extension:
      return "an extension type";
    case Value::Type::array:
      return "an array";
    case Value::Type::map:
      return "a map";
  }
  return {};
}

bool Unpacker::next(Value& value) {
  Visitor visitor;
  value_at_ = at_;
  const bool is_whole = msgpack::parse(bytes_.data(), bytes_.size(), at_, visitor);
  if (!is_whole && !visitor.flaw.empty()) return fail(visitor.flaw);
  if (!is_whole) ++at_;  // the parser stopped on the last byte of a head
  value = visitor.value;
  return true;
}

bool Unpacker::skip(const Value& value) {
  if (value.type != Value::Type::array && value.type != Value::Type::map) return true;
  Visitor visitor;
  visitor.levels = kMostLevels;
  at_ = value_at_;
  if (msgpack::parse(bytes_.data(), bytes_.size(), at_, visitor)) return true;
  value_at_ = at_;
  return fail(visitor.flaw.empty() ? "arrays and maps are nested more than 32 deep" : visitor.flaw);
}

}  // namespace canopy::kv_events
