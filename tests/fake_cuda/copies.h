#pragma once

#include "state.h"

namespace canopy::fake_cuda {

/// One end of a copy, as it was when the copy was asked for.
struct Side {
  std::byte* at = nullptr;
  std::size_t bytes = 0;
  bool device = false;
  std::uint64_t pinned = 0;  ///< which pinned memory it lies in; 0: none
};

/// An address the device knows: its own memory, or pinned memory's alias.
Side device_side(DevicePtr at, std::size_t bytes);
Side host_side(const void* at, std::size_t bytes);
/// Either, as the address tells.
Side any_side(DevicePtr at, std::size_t bytes);

/// Both are what they were. Otherwise the context is gone.
Result still_there(const Side& to, const Side& from);
Result copy(const Side& to, const Side& from);

}  // namespace canopy::fake_cuda
