#pragma once

#include <cstddef>

namespace canopy {

/// A mapping of a file or a shared memory object that another process may cut short. Touching a page behind the new end
/// would end this process with SIGBUS. Here the whole mapping becomes zeroed memory of this process instead, and cut()
/// says so: the reader or writer goes on with what is there, and no other process sees what it writes.
///
/// The first mapping installs a handler for SIGBUS. It hands every fault outside these mappings to the handler that was
/// there before. A program that installs its own handler later must hand on in the same way.
class SharedMapping {
 public:
  SharedMapping() = default;
  ~SharedMapping();
  SharedMapping(SharedMapping&& other) noexcept { *this = static_cast<SharedMapping&&>(other); }
  SharedMapping& operator=(SharedMapping&& other) noexcept;

  enum class Access { read, write, read_private };
  /// False, and errno says why, if it cannot be mapped. REQUIRES: nothing is mapped yet.
  bool map(int descriptor, std::size_t bytes, Access access);
  /// Gives or takes the right to write a part, in whole pages of the machine. REQUIRES: the descriptor may be written.
  bool let_write(std::size_t from, std::size_t bytes, bool write);

  explicit operator bool() const { return base_ != nullptr; }
  std::byte* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }
  /// Whether another process has cut the file or object short, and a page that is gone was touched.
  bool cut() const;

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0, place_ = 0;
};

}  // namespace canopy
