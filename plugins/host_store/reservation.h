#pragma once

#include <cstddef>
#include <cstdint>

/// Addresses on the host, reserved once and never moved, with memory behind parts of them. Reserving costs
/// microseconds whatever the size; touching a part without memory faults.
class Reservation {
 public:
  struct Options {
    bool populate = false;    ///< memory is there when a part gets it, not when it is first touched
    bool huge_pages = false;  ///< asked for; the system decides
    bool lock = false;        ///< never swapped out
    bool share = false;       ///< memory of a file without a name, which another process can map
  };

  explicit Reservation(Options options) : options_(options) {}
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation();

  /// False if the process may not have so many. REQUIRES: it has none yet.
  bool reserve(std::uint64_t bytes);
  std::byte* base() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Parts begin and end on multiples of it.
  std::uint64_t granularity() const;

  /// Memory behind [offset, offset + bytes); false if there is none to be had, and then there is none.
  bool back(std::uint64_t offset, std::uint64_t bytes);
  void unback(std::uint64_t offset, std::uint64_t bytes);

  /// A descriptor that reads the memory, offsets as here; -1 without `share`. The caller closes it.
  int reader() const;

 private:
  Options options_;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  int file_ = -1;
};
