#pragma once

#include <fcntl.h>

#include <cstdint>

namespace canopy::presence {

/// Who is at a feed in shared memory, as the kernel knows it: a lock on a byte of the object is let go when its
/// process ends, however it ends, even where nobody has waited for it, and is seen across PID namespaces. It is the
/// descriptor's, so it does not end when another descriptor of the same object is closed; a child that is forked and
/// runs no other program keeps it as long as it lives.
enum class Place : std::uint8_t { writer, reader };

inline struct flock byte_of(Place place, short kind) {
  struct flock one {};
  one.l_type = kind;
  one.l_whence = SEEK_SET;
  one.l_start = static_cast<off_t>(place);
  one.l_len = 1;
  return one;
}

/// Takes the place until the descriptor is closed: the one writer's, or one of any number of readers'. False if there
/// is a writer already. REQUIRES: a descriptor opened for reading and writing.
inline bool take(int descriptor, Place place) {
  struct flock one = byte_of(place, place == Place::writer ? F_WRLCK : F_RDLCK);
  return ::fcntl(descriptor, F_OFD_SETLK, &one) == 0;
}

/// Whether anybody else has it. One system call.
inline bool taken(int descriptor, Place place) {
  struct flock one = byte_of(place, F_WRLCK);
  return ::fcntl(descriptor, F_OFD_GETLK, &one) != 0 || one.l_type != F_UNLCK;
}

}  // namespace canopy::presence
