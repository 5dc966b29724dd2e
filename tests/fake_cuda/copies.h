#pragma once

#include "state.h"

namespace canopy::fake_cuda {

/// One end of a copy, as it was when the copy was asked for.
struct Side {
  std::byte* at = nullptr;
  std::size_t bytes = 0;
  bool device = false;
  std::uint64_t pinned = 0;  ///< number of the pinned memory that it lies in; 0: none
};

/// Returns the side of an address of the device: its own memory, or an alias of pinned memory.
Side device_side(DevicePtr at, std::size_t bytes);
Side host_side(const void* at, std::size_t bytes);
/// Returns one of both, by the address.
Side any_side(DevicePtr at, std::size_t bytes);

/// Returns success if both are as they were. Otherwise the context is gone.
Result still_there(const Side& to, const Side& from);
Result copy(const Side& to, const Side& from);

}  // namespace canopy::fake_cuda
