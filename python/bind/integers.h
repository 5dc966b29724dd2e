#pragma once

#include <canopy/types.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace canopy::python {

/// An allocator that does not zero new elements, because they are written at once.
template <class T>
struct Unfilled : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Unfilled<U>;
  };
  template <class U>
  void construct(U* place) noexcept {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... From>
  void construct(U* place, From&&... from) {
    ::new (static_cast<void*>(place)) U(std::forward<From>(from)...);
  }
};

/// A vector of this thread that is reused, so that calls allocate nothing in the long run. Elements that resize() adds
/// are not initialised.
template <class T>
class Scratch {
 public:
  Scratch() {
    spare().reserve(kVectors);
    if (spare().empty()) return;
    values.swap(spare().back());
    spare().pop_back();
    values.clear();
  }
  ~Scratch() {
    if (values.capacity() <= kMostKept && spare().size() < spare().capacity()) spare().push_back(std::move(values));
  }
  Scratch(const Scratch&) = delete;

  std::vector<T, Unfilled<T>> values;

 private:
  static constexpr std::size_t kMostKept = std::size_t{1} << 20;  ///< elements of a vector
  static constexpr std::size_t kVectors = 16;
  static std::vector<std::vector<T, Unfilled<T>>>& spare() {
    thread_local std::vector<std::vector<T, Unfilled<T>>> vectors;
    return vectors;
  }
};

/// A sequence of integers from Python, read in place: anything with a buffer (array, NumPy, memoryview), or a CPU
/// tensor that supports DLPack (torch). The items of a list or a tuple, and those of a buffer with gaps, are copied.
/// Keeps its source alive.
class Integers {
 public:
  enum class Kind : std::uint8_t { u32, i32, i64 };  ///< other widths are widened to i64

  /// Throws TypeError or ValueError. `what` is the subject of error messages: "token ids".
  Integers(nb::handle from, const char* what);
  Integers(const Integers&) = delete;

  std::size_t size() const { return size_; }
  void cut(std::size_t size) { size_ = std::min(size, size_); }
  Kind kind() const { return kind_; }
  const char* what() const { return what_; }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data_);
  }

 private:
  void read_items(nb::handle from);
  bool read_buffer(nb::handle from);
  void read_tensor(nb::handle from);
  void take(const void* data, std::size_t size, std::ptrdiff_t stride, bool is_signed, std::size_t bytes);
  template <class T>
  void gather(const void* data, std::ptrdiff_t stride);

  const char* what_;
  const void* data_ = nullptr;
  std::size_t size_ = 0;
  Kind kind_ = Kind::i64;
  /// A buffer of the source, released also if the constructor throws.
  struct Buffer {
    Py_buffer view{};  ///< view.obj may be null (no buffer is held)
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    ~Buffer() {
      if (view.obj) PyBuffer_Release(&view);
    }
  };
  Buffer buffer_;
  nb::object tensor_;  ///< an nb::ndarray that keeps DLPack memory
  Scratch<std::int64_t> own_;
};

/// A prompt that cannot be a key of an index. In Python a ValueError of its own, which a server can distinguish:
/// the prompt is then not cached.
struct UnfitKey : std::invalid_argument {
  using invalid_argument::invalid_argument;
};

/// Token ids as uint32, the type of the index. uint32 and int32 are not copied; other widths are narrowed. Throws
/// UnfitKey for an id below 0 or above 2^32 - 1.
class Tokens {
 public:
  /// Reads at most the first `limit` ids, if there is a limit.
  explicit Tokens(nb::handle ids, std::optional<std::size_t> limit = {});
  std::span<const Token> get() const { return tokens_; }
  std::size_t size() const { return tokens_.size(); }

 private:
  Integers ids_;
  Scratch<Token> own_;
  std::span<const Token> tokens_;
};

}  // namespace canopy::python
