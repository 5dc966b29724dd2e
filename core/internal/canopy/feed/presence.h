#pragma once

#include <fcntl.h>

#include <cstdint>

namespace canopy::presence {

/// Detects that a feed's writer or any reader is alive, by an open-file-description lock on a byte of the shared memory
/// object. The kernel releases the lock when the process ends in any way, and shows it across PID namespaces. The lock
/// belongs to the descriptor: closing another descriptor of the same object does not release it. A reader's forked
/// child that executes no other program keeps it until the child ends; a writer's closes it at once (FeedSink).
enum class Place : std::uint8_t { writer, reader };

inline struct flock byte_of(Place place, short kind) {
  struct flock one{};
  one.l_type = kind;
  one.l_whence = SEEK_SET;
  one.l_start = static_cast<off_t>(place);
  one.l_len = 1;
  return one;
}

/// Takes the place until the descriptor is closed. There is at most one writer and any number of readers. Returns false
/// if there already is a writer. REQUIRES: the descriptor is open for reading and writing.
inline bool take(int descriptor, Place place) {
  struct flock one = byte_of(place, place == Place::writer ? F_WRLCK : F_RDLCK);
  return ::fcntl(descriptor, F_OFD_SETLK, &one) == 0;
}

/// Returns true if another descriptor has taken the place. Costs one system call.
inline bool taken(int descriptor, Place place) {
  struct flock one = byte_of(place, F_WRLCK);
  return ::fcntl(descriptor, F_OFD_GETLK, &one) != 0 || one.l_type != F_UNLCK;
}

}  // namespace canopy::presence
