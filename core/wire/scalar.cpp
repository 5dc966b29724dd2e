#include "scalar.h"

#include <canopy/support/printable.h>
#include <fmt/format.h>

namespace canopy::wire {

using Type = Scalar::Type;

std::string shown(const Scalar& value) {
  switch (value.type) {
    case Type::nil:
      return "nil";
    case Type::boolean:
      return value.number != 0 ? "true" : "false";
    case Type::number:
      return fmt::format("{}", value.number);
    case Type::negative:
      return fmt::format("{}", static_cast<std::int64_t>(value.number));
    case Type::real:
      return fmt::format("{}", value.real);
    case Type::text:
      return "the text " + in_quotes(value.bytes);
    case Type::bytes:
      return fmt::format("{} raw bytes", value.bytes.size());
    case Type::extension:
      return "an extension type";
  }
  return {};
}

void pack(const Scalar& value, Packer& packer) {
  const std::uint32_t size = static_cast<std::uint32_t>(value.bytes.size());
  switch (value.type) {
    case Type::nil:
      packer.pack_nil();
      break;
    case Type::boolean:
      value.number != 0 ? packer.pack_true() : packer.pack_false();
      break;
    case Type::number:
      packer.pack_uint64(value.number);
      break;
    case Type::negative:
      packer.pack_int64(static_cast<std::int64_t>(value.number));
      break;
    case Type::real:
      packer.pack_real(value.real);
      break;
    case Type::text:
      packer.pack_str(size).pack_str_body(value.bytes.data(), size);
      break;
    case Type::bytes:
      packer.pack_bin(size).pack_bin_body(value.bytes.data(), size);
      break;
    case Type::extension:  // msgpack counts the type's byte among the value's
      packer.pack_ext(size - 1, static_cast<std::int8_t>(value.bytes.front()))
          .pack_ext_body(value.bytes.data() + 1, size - 1);
      break;
  }
}

}  // namespace canopy::wire
