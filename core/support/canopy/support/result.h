#pragma once

#include <string>
#include <utility>
#include <variant>

namespace canopy {

/// Why something could not be had: whole sentences for the person who meets them, one a line.
struct Error {
  std::string text;
};

/// A T, or why there is none. For composing and reading, where things fail; the hot path has no errors.
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
