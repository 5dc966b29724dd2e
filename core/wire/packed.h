#pragma once

#include <cstddef>
#include <msgpack/pack.hpp>
#include <string>

namespace canopy::wire {

/// Where msgpack's packer writes: the end of a string.
struct Appended {
  std::string& bytes;
  void write(const char* data, std::size_t size) { bytes.append(data, size); }
};
using Packer = msgpack::packer<Appended>;

}  // namespace canopy::wire
