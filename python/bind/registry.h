#pragma once

#include <canopy/base/registry.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "policy.h"

namespace canopy::python {

/// The components of this process: those in the package, and those that load_plugins() brought.
Registry& registry();

/// Throws ValueError with the error's sentences.
[[noreturn]] void refuse(const Error& error);
template <class T>
T take(Result<T> result) {
  if (!result) refuse(result.error());
  return std::move(*result);
}

/// None, numbers, text, lists and dictionaries as YAML flow text. Throws TypeError for anything else.
std::string yaml_of(nb::handle value);

/// A policy by name ("slru"), with options ({"slru": {"protect_after": 3}}), or in Python (an object with `rank`).
struct Policy {
  std::shared_ptr<EvictionStrategy> strategy;
  std::shared_ptr<PythonPolicy> in_python;  ///< null: it is a component
  std::string name;
};
Policy make_policy(nb::handle policy);
/// Whether it is a name, or a name with options.
bool is_named(nb::handle policy);

void bind_registry(nb::module_& module);

}  // namespace canopy::python
