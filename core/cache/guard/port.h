#pragma once

#include <canopy/base/plugin_call.h>
#include <canopy/engine/ledger.h>

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sentence.h"

namespace canopy {

/// Returns true if a span has an address or no elements. What lies behind the address cannot be checked.
template <class T>
bool has_address(std::span<T> items) {
  return items.data() != nullptr || items.empty();
}

/// Calls one component of a plugin for the engine. Catches exceptions: the caller then gets an empty value, and the
/// ledger records a violation that names the component, its file and the call, which needs no memory. The ports of the
/// interfaces also check results. An engine calls its components only through ports.
template <class Interface>
class Port {
 public:
  /// `name`: "slot allocator 'x' (x.so)". Sets `any_thrown` when the component throws. It may be null (not needed).
  /// REQUIRES: the ledger outlives all calls.
  Port(std::shared_ptr<Interface> component, std::string name, Ledger& ledger, bool* any_thrown = nullptr)
      : component_(std::move(component)), name_(std::move(name)), ledger_(ledger), any_thrown_(any_thrown) {}
  Port(const Port&) = delete;

  const std::string& name() const { return name_; }
  /// Returns the component itself, for callers outside the engine.
  Interface& component() const { return *component_; }

  /// Calls `function`, a member of the interface or a callable that takes it. A crash or a hang is reported with
  /// `name`.
  template <class Function, class... Args>
  std::invoke_result_t<Function, Interface&, Args...> call(const char* name, Function function,
                                                           Args&&... args) const noexcept {
    const InPlugin in(name_.c_str(), name);
    return read(name, function, std::forward<Args>(args)...);
  }
  /// Calls `function` without that report: for numbers that are read after every operation.
  template <class Function, class... Args>
  std::invoke_result_t<Function, Interface&, Args...> read(const char* name, Function function,
                                                           Args&&... args) const noexcept {
    try {
      return std::invoke(function, *component_, std::forward<Args>(args)...);
    } catch (const std::exception& error) {
      threw(name, error.what());
    } catch (...) {
      threw(name, "something that is not a std::exception");
    }
    return std::invoke_result_t<Function, Interface&, Args...>();
  }
  /// Calls a function without a result. Returns false if it threw.
  template <class Function, class... Args>
  bool done(const char* name, Function function, Args&&... args) const noexcept {
    return call(name, [&](Interface& component) {
      std::invoke(function, component, std::forward<Args>(args)...);
      return true;
    });
  }
  /// Records a mistake of the component in a call of `function`.
  [[gnu::cold, gnu::noinline]] void wrong(std::string_view function, std::string_view what) const noexcept {
    ledger_.violated(Sentence("{}, {}: {}", name_, function, what));
  }
  /// Returns true if a call of the component threw.
  bool has_thrown() const { return thrown_; }

 private:
  [[gnu::cold, gnu::noinline]] void threw(const char* function, const char* what) const noexcept {
    thrown_ = true;
    if (any_thrown_) *any_thrown_ = true;
    wrong(function, Sentence("it threw: {}", what));
  }

  std::shared_ptr<Interface> component_;
  std::string name_;
  Ledger& ledger_;
  bool* any_thrown_;
  mutable bool thrown_ = false;
};

}  // namespace canopy
