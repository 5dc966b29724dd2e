#pragma once

#include <canopy/helpers/at_fork.h>

#include <cstddef>
#include <cstdint>

/// A range of addresses on the host, reserved once and fixed, with memory behind parts of it. Reserving takes
/// microseconds whatever the size; touching a part without memory faults. In a forked child memory is private: what the
/// child writes or gives back changes nothing of its parent's. With `share` it is no copy: a part that the child has
/// not written yet changes when the parent writes it.
class Reservation {
 public:
  struct Options {
    bool populate = false;    ///< back() takes the memory, instead of the first touch
    bool huge_pages = false;  ///< pages of 2 MiB, if the system gives them
    bool lock = false;        ///< the memory is never swapped out
    bool share = false;       ///< memory of an unnamed file, which another process can map
  };

  explicit Reservation(Options options) : options_(options) {}
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation();

  /// Returns false if the process may not have that many addresses. REQUIRES: none are reserved yet.
  bool reserve(std::uint64_t bytes);
  std::byte* base() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Returns the granularity: parts begin and end on multiples of it.
  std::uint64_t granularity() const;

  /// Commits memory for [offset, offset + bytes). Returns false, and no memory is there, if the system has none.
  bool back(std::uint64_t offset, std::uint64_t bytes);
  void unback(std::uint64_t offset, std::uint64_t bytes);

  /// Returns a descriptor of the memory for reading, with the same offsets; -1 without `share`. The caller closes it.
  int reader() const;

 private:
  void leave() noexcept;

  Options options_;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  int file_ = -1;
  canopy::AtFork own_{[](void* of) noexcept { static_cast<Reservation*>(of)->leave(); }, this};
};
