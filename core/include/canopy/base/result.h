#pragma once

#include <string>
#include <utility>
#include <variant>

namespace canopy {

/// The reason for a failure: error messages for the user, one per line.
struct Error {
  std::string text;
};

/// A T, or the reason for its absence. For setup and for reading files, where failures occur; the hot path has none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  /// REQUIRES: it holds a value.
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  /// REQUIRES: it holds an error.
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace canopy
