#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <msgpack/pack.hpp>
#include <string>

namespace canopy::wire {

/// Where msgpack's packer writes: the end of a string.
struct Appended {
  std::string& bytes;
  void write(const char* data, std::size_t size) { bytes.append(data, size); }
};

class Packer : public msgpack::packer<Appended> {
 public:
  explicit Packer(Appended& to) : packer(to), to_(to) {}
  /// Nine bytes, as msgspec writes it. pack_double() makes an integer of 2.0.
  void pack_real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    char bytes[9] = {static_cast<char>(0xCB)};
    for (int i = 0; i < 8; ++i) bytes[1 + i] = static_cast<char>(bits >> (56 - 8 * i));
    to_.write(bytes, sizeof bytes);
  }

 private:
  Appended& to_;
};

}  // namespace canopy::wire
