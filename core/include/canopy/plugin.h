#pragma once
/// The header that every plugin includes. A plugin is a shared library that exports one constant:
///
///   CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::EvictionStrategy, Slru>("slru", "evicts one-hit prefixes first"));
///
/// The ABI promise:
///  1. The descriptor is C: magic, sizes, toolchain, and a version for each component. A plugin that does not fit is
///     refused with an error message before any of its functions is called. A library without the symbol is never
///     loaded.
///  2. Interfaces are Itanium vtables, which g++ and clang lay out alike. Only plain structs, spans and `const char*`
///     cross the boundary.
///  3. An interface has a version, "canopy.PrefixIndex/12.0". A new major version may change anything. A new minor
///     version only appends: virtual functions with a default, and fields of Context with a default.
///  4. A host accepts components of its own major version whose minor version is at most its own. It calls an appended
///     function only if the component's minor version has it (Offer::minor).
///  5. No exception crosses the boundary. A library stays loaded as long as one of its components exists.

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

/// A component that a plugin offers under one name. Fields are only ever appended.
struct CanopyComponent {
  const char* implements;  ///< an interface and its version, "canopy.EvictionStrategy/4.0"
  const char* name;        ///< its name in a configuration
  const char* summary;     ///< one line for lists
  /// Returns an instance as a pointer to its interface; null if there is none. `fail` was then called with the reason,
  /// unless options.ok() is false. `context` points to the interface's Context.
  void* (*create)(canopy::Options& options, const void* context, void (*fail)(void*, const char*),
                  void* fail_to) noexcept;
  void (*destroy)(void* instance) noexcept;
  /// Walks over the options, whose values are then the defaults.
  void (*options)(canopy::Options& options) noexcept;
  /// Returns true if this machine can run the component. Calls `say` with one line on the reason. May be null (every
  /// machine can).
  bool (*available)(void (*say)(void*, const char*), void* say_to) noexcept;
};

struct CanopyPlugin {
  std::uint32_t magic;
  std::uint32_t size;  ///< sizeof(CanopyPlugin) when the plugin was built
  const char* toolchain;
  const char* version;  ///< version of the plugin itself
  const CanopyComponent* components;
  std::uint32_t component_size;  ///< sizeof(CanopyComponent) when the plugin was built
  std::uint32_t count;
};
}

namespace canopy {

inline constexpr std::uint32_t kPluginMagic = 0x33504E43;  // "CNP3"
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

/// Returns a component that creates a T with the first of these that T has: T(config, context), T(config), T(context),
/// T(). Its options are those of T::Config, if there is one. An exception of the constructor becomes the reason passed
/// to `fail`. A component that needs more than a processor and memory has a static T::available (see CanopyComponent).
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

/// Defines the one symbol that a plugin exports, as constant data: CANOPY_PLUGIN(version, component, ...).
#define CANOPY_PLUGIN(plugin_version, ...)                                                                         \
  static constexpr CanopyComponent canopy_components_[] = {__VA_ARGS__};                                           \
  extern "C" [[gnu::visibility("default")]] constinit const CanopyPlugin canopy_plugin_;                           \
  constinit const CanopyPlugin canopy_plugin_ = {                                                                  \
      canopy::kPluginMagic,    sizeof(CanopyPlugin),         CANOPY_TOOLCHAIN, plugin_version, canopy_components_, \
      sizeof(CanopyComponent), std::size(canopy_components_)}
