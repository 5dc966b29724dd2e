#include "loaded_plugin.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "elf_image.h"

namespace canopy {
namespace {

constexpr std::uint32_t kMaxComponents = 4096;
constexpr std::uint32_t kMaxComponentBytes = 4096;

}  // namespace

Result<std::shared_ptr<LoadedPlugin>> LoadedPlugin::check(std::filesystem::path path,
                                                          std::shared_ptr<const void> library,
                                                          const CanopyPlugin& descriptor) {
  if (std::string why = why_unreadable(descriptor); !why.empty()) return Error{std::move(why)};
  return std::shared_ptr<LoadedPlugin>(new LoadedPlugin(std::move(path), std::move(library), descriptor));
}

const CanopyComponent& LoadedPlugin::component(std::size_t i) const {
  // The stride is that of the plugin: its CanopyComponent may have more fields than the host's.
  const auto* first = reinterpret_cast<const std::byte*>(descriptor_.components);
  return *reinterpret_cast<const CanopyComponent*>(first + i * descriptor_.component_size);
}

std::string why_unreadable(const CanopyPlugin& descriptor) {
  if (descriptor.magic != kPluginMagic)
    return fmt::format("its magic is {:#010x}; expected {:#010x}", descriptor.magic, kPluginMagic);
  if (descriptor.size < sizeof(CanopyPlugin))
    return fmt::format("its CanopyPlugin has {} bytes; expected at least {}", descriptor.size, sizeof(CanopyPlugin));
  if (descriptor.component_size < sizeof(CanopyComponent) || descriptor.component_size > kMaxComponentBytes ||
      descriptor.component_size % alignof(CanopyComponent) != 0)
    return fmt::format("its CanopyComponent has {} bytes; expected {} to {}, a multiple of {}",
                       descriptor.component_size, sizeof(CanopyComponent), kMaxComponentBytes,
                       alignof(CanopyComponent));
  if (descriptor.toolchain == nullptr)
    return fmt::format("it does not name its toolchain; this host is {}", CANOPY_TOOLCHAIN);
  if (std::strcmp(descriptor.toolchain, CANOPY_TOOLCHAIN) != 0)
    return fmt::format("it was built for {}; this host is {}", descriptor.toolchain, CANOPY_TOOLCHAIN);
  if (descriptor.version == nullptr) return "it has no version";
  if (descriptor.count == 0 || descriptor.count > kMaxComponents)
    return fmt::format("it has {} components; expected 1 to {}", descriptor.count, kMaxComponents);
  if (descriptor.components == nullptr)
    return fmt::format("it has {} components, but its list of components is null", descriptor.count);
  return {};
}

/// Returns an error message if the list of components is not one within the file's data, else an empty text. A count
/// that is too large would make components of whatever lies behind the list.
static std::string why_no_list(const ElfImage& image, std::uint64_t first, const CanopyPlugin& plugin) {
  if (!image.at(first, std::uint64_t{plugin.count} * plugin.component_size))
    return fmt::format("its list of {} components is not within its data", plugin.count);
  constexpr std::size_t kTexts[] = {offsetof(CanopyComponent, implements), offsetof(CanopyComponent, name),
                                    offsetof(CanopyComponent, summary)};
  for (std::uint64_t i = 0; i < plugin.count; ++i)
    for (const std::size_t field : kTexts) {
      // Null is the component's own flaw. A pointer that the loader looks up by name has no value here.
      const auto text = image.pointer_at(first + i * plugin.component_size + field);
      if (text && *text != 0 && !image.text_at(*text))
        return fmt::format("component {} of {} has a text that is not within its data: is the count right?", i + 1,
                           plugin.count);
    }
  return {};
}

std::string why_unreadable(const ElfImage& image, std::uint64_t address) {
  CanopyPlugin descriptor{};
  constexpr std::size_t kFirst = offsetof(CanopyPlugin, toolchain);  // the fields that every version has
  const auto first = image.at(address, kFirst);
  if (!first) return "its descriptor is not within its data";
  std::memcpy(&descriptor, first->data(), kFirst);
  if (descriptor.magic == kPluginMagic && descriptor.size >= sizeof(CanopyPlugin)) {
    const auto whole = image.at(address, sizeof(CanopyPlugin));
    if (!whole) return "its descriptor is not within its data";
    std::memcpy(&descriptor, whole->data(), sizeof(CanopyPlugin));
  }
  // The pointers have no final values yet: the texts are read from the places to which they will lead.
  std::string texts[2];
  const char* CanopyPlugin::* const kTexts[] = {&CanopyPlugin::toolchain, &CanopyPlugin::version};
  const std::uint64_t kAt[] = {offsetof(CanopyPlugin, toolchain), offsetof(CanopyPlugin, version)};
  for (std::size_t i = 0; i < 2; ++i) {
    descriptor.*kTexts[i] = nullptr;
    const auto to = image.pointer_at(address + kAt[i]);
    if (to && *to == 0) continue;
    const auto text = to ? image.text_at(*to) : std::nullopt;
    texts[i] = text.value_or("an unknown toolchain");
    descriptor.*kTexts[i] = texts[i].c_str();
  }
  const auto components = image.pointer_at(address + offsetof(CanopyPlugin, components));
  descriptor.components = nullptr;
  static constexpr CanopyComponent kSome{};
  if (components && *components != 0) descriptor.components = &kSome;
  std::string why = why_unreadable(descriptor);
  return why.empty() && components ? why_no_list(image, *components, descriptor) : why;
}

}  // namespace canopy
