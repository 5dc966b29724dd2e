#pragma once

#include <doctest/doctest.h>

/// Defines a case of a contract: a function over one component, which `each` calls for every component, followed by the
/// arguments after it.
#define CONTRACT(each, parameters, ...) CANOPY_CONTRACT(DOCTEST_ANONYMOUS(contract_), each, parameters, __VA_ARGS__)
#define CANOPY_CONTRACT(function, each, parameters, title, ...)   \
  static void function parameters;                                \
  TEST_CASE(title) { each(function __VA_OPT__(, ) __VA_ARGS__); } \
  static void function parameters
