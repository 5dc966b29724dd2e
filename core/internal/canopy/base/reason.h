#pragma once

#include <exception>
#include <new>
#include <system_error>

namespace canopy {

/// Returns what an exception means to a user. Allocates nothing. Valid as long as the exception.
inline const char* reason_of(const std::exception& thrown) {
  if (dynamic_cast<const std::bad_alloc*>(&thrown)) return "the system does not have enough memory";
  const auto* const error = dynamic_cast<const std::system_error*>(&thrown);
  if (error && error->code() == std::errc::resource_unavailable_try_again)
    return "the system starts no further thread: memory for its stack or the number of processes is limited (ulimit "
           "-v, ulimit -u)";
  return thrown.what();
}

}  // namespace canopy
