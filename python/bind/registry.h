#pragma once

#include <canopy/base/registry.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "policy.h"

namespace canopy::python {

/// Returns the components of this process: those in the package, and those that load_plugins() loaded.
Registry& registry();

/// Throws ValueError with the error's message.
[[noreturn]] void refuse(const Error& error);
template <class T>
T take(Result<T> result) {
  if (!result) refuse(result.error());
  return std::move(*result);
}

/// Returns a path, or the name of a feed. Throws ValueError if it has a null character, at which the system would cut
/// it.
std::string for_system(std::string text);

/// Returns None, a number, text, a list or a dictionary as YAML flow text. Throws TypeError for anything else.
std::string yaml_of(nb::handle value);

/// A policy by name ("slru"), with options ({"slru": {"protect_after": 3}}), or in Python (an object with `rank`).
struct Policy {
  std::shared_ptr<EvictionStrategy> strategy;
  std::shared_ptr<PythonPolicy> in_python;  ///< may be null (a component of a plugin)
  std::string name;
};
Policy make_policy(nb::handle policy);
/// Returns true if it is a name, or a name with options.
bool is_named(nb::handle policy);

void bind_registry(nb::module_& module);

}  // namespace canopy::python
