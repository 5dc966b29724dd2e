#pragma once

#include <fcntl.h>

#include <cstdint>

namespace canopy::presence {

/// Detects whether a feed's writer or any reader is alive, with an open-file-description lock on a byte of the shared
/// memory object. The kernel drops the lock when the process ends, however it ends, and shows it across PID namespaces.
/// The lock belongs to the descriptor: closing another descriptor of the same object does not end it. A child that is
/// forked and executes no other program keeps it as long as the child lives.
enum class Place : std::uint8_t { writer, reader };

inline struct flock byte_of(Place place, short kind) {
  struct flock one{};
  one.l_type = kind;
  one.l_whence = SEEK_SET;
  one.l_start = static_cast<off_t>(place);
  one.l_len = 1;
  return one;
}

/// Takes the place until the descriptor is closed. There is one writer and any number of readers. Returns false if
/// there is already a writer. REQUIRES: a descriptor opened for reading and writing.
inline bool take(int descriptor, Place place) {
  struct flock one = byte_of(place, place == Place::writer ? F_WRLCK : F_RDLCK);
  return ::fcntl(descriptor, F_OFD_SETLK, &one) == 0;
}

/// Returns true if another descriptor has taken the place. One system call.
inline bool taken(int descriptor, Place place) {
  struct flock one = byte_of(place, F_WRLCK);
  return ::fcntl(descriptor, F_OFD_GETLK, &one) != 0 || one.l_type != F_UNLCK;
}

}  // namespace canopy::presence
