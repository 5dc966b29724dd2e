#pragma once

#include <atomic>
#include <cstdint>

namespace canopy {

/// The plugin function that a thread is executing, for messages about crashes and hangs. Other threads may read it.
struct PluginCall {
  std::atomic<const char*> component{nullptr};  ///< "eviction strategy 'x' (x.so)"; null: in no plugin
  std::atomic<const char*> function{nullptr};   ///< "rank"; null: in no plugin
  std::atomic<std::uint64_t> entered{0};        ///< number of calls into plugins

  static PluginCall& of_this_thread();
};

namespace detail {
/// Initial-exec, because it is read at each call of a plugin: in a shared library (libcanopy, Python's module) the
/// default model would call a function for it.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit PluginCall plugin_call;
}  // namespace detail
inline PluginCall& PluginCall::of_this_thread() { return detail::plugin_call; }

/// Marks this thread as executing a plugin function while the object exists. Objects may nest: an index calls a policy.
/// REQUIRES: both texts outlive the object.
class InPlugin {
 public:
  InPlugin(const char* component, const char* function)
      : call_(PluginCall::of_this_thread()), component_(get(call_.component)), function_(get(call_.function)) {
    set(call_.function, function);
    set(call_.component, component);
    set(call_.entered, get(call_.entered) + 1);
  }
  ~InPlugin() {
    set(call_.function, function_);
    set(call_.component, component_);
  }
  InPlugin(const InPlugin&) = delete;

 private:
  template <class T>
  static T get(const std::atomic<T>& word) {
    return word.load(std::memory_order_relaxed);
  }
  template <class T>
  static void set(std::atomic<T>& word, T value) {
    word.store(value, std::memory_order_relaxed);
  }

  PluginCall& call_;
  const char *component_, *function_;
};

}  // namespace canopy
