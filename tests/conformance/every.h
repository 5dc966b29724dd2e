#pragma once

#include <conformance/model/plugins.h>
#include <doctest/doctest.h>

namespace canopy::test {

/// Calls test(name, an instance) for every component under test, or test(name) if the interface needs a context.
template <class Interface, class Test>
void for_every(Test&& test) {
  for (const std::string& name : names_of<Interface>()) {
    CAPTURE(name);
    if constexpr (requires { test(name); }) test(name);
    else test(name, *make<Interface>(name, {}));
  }
}

}  // namespace canopy::test

/// Defines a case of a contract: a function over one component, which `each` calls for every component, followed by the
/// arguments after it.
#define CONTRACT(each, parameters, ...) CANOPY_CONTRACT(DOCTEST_ANONYMOUS(contract_), each, parameters, __VA_ARGS__)
#define CANOPY_CONTRACT(function, each, parameters, title, ...)   \
  static void function parameters;                                \
  TEST_CASE(title) { each(function __VA_OPT__(, ) __VA_ARGS__); } \
  static void function parameters
