#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace canopy::test {

/// What was tested did not do what a model says it must.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void disagree(fmt::format_string<Args...> format, Args&&... args) {
  throw Mismatch(fmt::format(format, std::forward<Args>(args)...));
}

/// `what` names the thing compared, for the message.
template <class A, class B>
void expect_equal(const char* what, const A& came, const B& expected) {
  if (came != expected) disagree("{}: expected {}, came {}", what, expected, came);
}

}  // namespace canopy::test
