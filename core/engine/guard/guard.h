#pragma once

#include <canopy/engine/ledger.h>
#include <canopy/loading/plugin_call.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace canopy {

/// Stands between the engine and one component of a plugin. What the component returns is checked here, once. What it
/// throws goes no further: the engine gets an answer that changes nothing, and the ledger has a violation. Each
/// sentence names the component, its file and the call.
class Guard {
 public:
  /// `component`: "slot allocator 'x' (x.so)". REQUIRES: the ledger outlives all calls.
  Guard(std::string component, Ledger& ledger) : component_(std::move(component)), ledger_(ledger) {}
  virtual ~Guard() = default;
  Guard(const Guard&) = delete;

  const std::string& component() const { return component_; }
  /// A violation: what the component did in a call of `function`.
  void wrong(const char* function, std::string_view what) const;

 protected:
  /// call(), or an empty answer if it throws. A crash or a hang in it can be told.
  template <class Call>
  auto ask(const char* function, Call&& call) const {
    const InPlugin in(component_.c_str(), function);
    return look(function, call);
  }
  /// The same for what only reads a number and is asked after every operation: a crash in it has no name.
  template <class Call>
  auto look(const char* function, Call&& call) const {
    try {
      return call();
    } catch (const std::exception& error) {
      threw(function, error.what());
    } catch (...) {
      threw(function, "something that is not a std::exception");
    }
    return decltype(call())();
  }
  virtual void failed() const {}

 private:
  void threw(const char* function, const char* what) const;

  std::string component_;
  Ledger& ledger_;
};

}  // namespace canopy
