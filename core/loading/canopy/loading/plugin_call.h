#pragma once

#include <atomic>
#include <cstdint>

namespace canopy {

/// The plugin's function that a thread is in, for sentences about crashes and hangs. Other threads may read it.
struct PluginCall {
  std::atomic<const char*> component{nullptr};  ///< "eviction strategy 'x' (x.so)"; null: none
  std::atomic<const char*> function{nullptr};
  std::atomic<std::uint64_t> entered{0};  ///< how often a plugin was entered

  static PluginCall& of_this_thread();
};

namespace detail {
extern thread_local constinit PluginCall plugin_call;
}
inline PluginCall& PluginCall::of_this_thread() { return detail::plugin_call; }

/// This thread is in a function of a plugin as long as this object lives. One may lie in another: a policy is called by
/// an index. REQUIRES: both texts live as long.
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
