#pragma once
/// The header that every plugin includes. A plugin is a shared library that exports one constant:
///
///   CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::EvictionStrategy, Slru>("slru", "evicts one-hit prefixes first"));
///
/// It begins with C: magic, sizes, toolchain, and a version for each interface. So a library of another version is
/// refused with a sentence before any function of it is called, and a library without the symbol is not even loaded.
/// C++ vtables follow, which g++ and clang lay out alike. Only plain structs, spans and `const char*` cross; no
/// exception does.

#include <canopy/eviction_strategy.h>
#include <canopy/index_upkeep.h>
#include <canopy/key_codec.h>
#include <canopy/kv_store.h>
#include <canopy/options.h>
#include <canopy/page_storage.h>
#include <canopy/prefix_index.h>
#include <canopy/slot_allocator.h>

#include <exception>
#include <iterator>
#include <type_traits>
#include <version>

#if defined(_LIBCPP_VERSION)
#define CANOPY_TOOLCHAIN "itanium/libc++/64"
#else
#define CANOPY_TOOLCHAIN "itanium/libstdc++/64"
#endif
static_assert(sizeof(void*) == 8, "Canopy plugins are 64-bit");

extern "C" {

/// What a plugin offers under one name. Fields are only ever appended.
struct CanopyComponent {
  const char* implements;  ///< an interface and its version, "canopy.EvictionStrategy/4"
  const char* name;        ///< what a configuration calls it
  const char* summary;     ///< one line for a list
  /// An instance as a pointer to its interface, or null; then `fail` was told why, unless options.ok() is
  /// false. `context` points to the interface's Context.
  void* (*create)(canopy::Options& options, const void* context, void (*fail)(void*, const char*),
                  void* fail_to) noexcept;
  void (*destroy)(void* instance) noexcept;
  /// Walks over the options, defaults first.
  void (*options)(canopy::Options& options) noexcept;
  /// Whether this machine can run the component. It passes one line about what it found to `say`. Null: always.
  bool (*available)(void (*say)(void*, const char*), void* say_to) noexcept;
};

struct CanopyPlugin {
  std::uint32_t magic;
  std::uint32_t size;  ///< sizeof(CanopyPlugin) in the build that made it
  const char* toolchain;
  const char* version;  ///< the plugin's own
  const CanopyComponent* components;
  std::uint32_t component_size;  ///< sizeof(CanopyComponent), likewise
  std::uint32_t count;
};
}

namespace canopy {

inline constexpr std::uint32_t kPluginMagic = 0x31504E43;  // "CNP1"
inline constexpr const char* kPluginSymbol = "canopy_plugin_";

namespace detail {

struct NoConfig {
  void visit(Options&) {}
};
template <class T>
struct ConfigOf {
  using type = NoConfig;
};
template <class T>
  requires requires { typename T::Config; }
struct ConfigOf<T> {
  using type = typename T::Config;
};

template <class Interface, class T>
Interface* make(const typename ConfigOf<T>::type& config, const typename Interface::Context& context) {
  if constexpr (std::is_constructible_v<T, decltype(config), decltype(context)>) return new T(config, context);
  else if constexpr (std::is_constructible_v<T, decltype(config)>) return new T(config);
  else if constexpr (std::is_constructible_v<T, decltype(context)>) return new T(context);
  else return new T();
}

template <class T>
constexpr auto available_of() -> bool (*)(void (*)(void*, const char*), void*) noexcept {
  if constexpr (requires { &T::available; }) return &T::available;
  else return nullptr;
}

}  // namespace detail

/// A component of `Interface` made by T(), T(config), T(context) or T(config, context), whichever T has; its
/// options are those of T::Config, if it has one. An exception of the constructor becomes the reason why
/// there is no instance. What needs more than a processor and memory has a static T::available (see CanopyComponent).
template <class Interface, class T>
constexpr CanopyComponent provide(const char* name, const char* summary) {
  static_assert(std::is_base_of_v<Interface, T>, "the component must implement the interface it is provided for");
  using Config = typename detail::ConfigOf<T>::type;
  return {Interface::kInterface,
          name,
          summary,
          [](Options& options, const void* context, void (*fail)(void*, const char*), void* fail_to) noexcept -> void* {
            try {
              Config config;
              config.visit(options);
              if (!options.ok()) return nullptr;
              return detail::make<Interface, T>(config, *static_cast<const typename Interface::Context*>(context));
            } catch (const std::exception& error) {
              fail(fail_to, error.what());
            } catch (...) {
              fail(fail_to, "it threw something that is not a std::exception");
            }
            return nullptr;
          },
          [](void* instance) noexcept { delete static_cast<Interface*>(instance); },
          [](Options& options) noexcept {
            Config config;
            config.visit(options);
          },
          detail::available_of<T>()};
}

}  // namespace canopy

/// The one symbol a plugin exports, and constant data: CANOPY_PLUGIN(version, component, ...).
#define CANOPY_PLUGIN(plugin_version, ...)                                                                         \
  static constexpr CanopyComponent canopy_components_[] = {__VA_ARGS__};                                           \
  extern "C" [[gnu::visibility("default")]] constinit const CanopyPlugin canopy_plugin_;                           \
  constinit const CanopyPlugin canopy_plugin_ = {                                                                  \
      canopy::kPluginMagic,    sizeof(CanopyPlugin),         CANOPY_TOOLCHAIN, plugin_version, canopy_components_, \
      sizeof(CanopyComponent), std::size(canopy_components_)}
