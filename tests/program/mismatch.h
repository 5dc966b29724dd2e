#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace canopy::test {

/// Thrown when the tested component differs from a model.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void disagree(fmt::format_string<Args...> format, Args&&... args) {
  throw Mismatch(fmt::format(format, std::forward<Args>(args)...));
}

/// Compares two values. `what` names them in the message.
template <class A, class B>
void expect_equal(const char* what, const A& came, const B& expected) {
  if (came != expected) disagree("{}: expected {}, got {}", what, expected, came);
}

}  // namespace canopy::test
