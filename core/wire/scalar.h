#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "packed.h"

namespace canopy::wire {

/// A value that is neither an array nor a map.
struct Scalar {
  enum class Type { nil, boolean, number, negative, real, text, bytes, extension } type = Type::nil;
  std::uint64_t number = 0;  ///< a negative one in two's complement
  double real = 0;
  std::string_view bytes{};
};

/// As a sentence names it.
std::string shown(const Scalar& value);
/// In its shortest form.
void pack(const Scalar& value, Packer& packer);

}  // namespace canopy::wire
