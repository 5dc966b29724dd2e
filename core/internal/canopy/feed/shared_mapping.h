#pragma once

#include <cstddef>

namespace canopy {

/// A mapping of a file or a shared memory object that another process may shorten. Access to a page beyond the new end
/// would end this process with SIGBUS. Instead, the whole mapping then becomes zeroed memory of this process, and cut()
/// returns true: the reader or writer continues with this memory, which no other process can read.
///
/// The first mapping installs a handler for SIGBUS. It passes every fault outside these mappings to the previous
/// handler. A program that installs its own handler later must do the same.
class SharedMapping {
 public:
  SharedMapping() = default;
  ~SharedMapping();
  SharedMapping(SharedMapping&& other) noexcept { *this = static_cast<SharedMapping&&>(other); }
  SharedMapping& operator=(SharedMapping&& other) noexcept;

  enum class Access { read, write, read_private };
  /// Maps the first `bytes` of a descriptor. Returns false and sets errno on failure. REQUIRES: nothing is mapped yet.
  bool map(int descriptor, std::size_t bytes, Access access);
  /// Sets or clears write permission for a range of whole machine pages. Returns false on failure. REQUIRES: the
  /// descriptor is open for writing.
  bool let_write(std::size_t from, std::size_t bytes, bool write);

  /// Replaces the memory by zeroed memory of this process, as if it had been cut short; cut() does not count it. Safe
  /// in a forked child.
  void detach();

  explicit operator bool() const { return base_ != nullptr; }
  std::byte* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }
  /// Returns true if another process has shortened the file or object, and this process accessed a missing page.
  bool cut() const;

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0, place_ = 0;
};

}  // namespace canopy
