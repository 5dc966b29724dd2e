#pragma once

#include <canopy/base/result.h>
#include <canopy/plugin.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace canopy {

class ElfImage;

/// A plugin whose descriptor this host can read. Keeps the plugin's library mapped.
class LoadedPlugin {
 public:
  /// Checks a descriptor. `path`: name of the plugin in lists and messages. `library`: object that keeps the library
  /// mapped. May be null (a plugin that is linked into the program). The error is a message to follow the path.
  static Result<std::shared_ptr<LoadedPlugin>> check(std::filesystem::path path, std::shared_ptr<const void> library,
                                                     const CanopyPlugin& descriptor);

  const std::filesystem::path& path() const { return path_; }
  const CanopyPlugin& descriptor() const { return descriptor_; }
  /// Returns a component, whose fields are not checked. REQUIRES: i < descriptor().count.
  const CanopyComponent& component(std::size_t i) const;

 private:
  LoadedPlugin(std::filesystem::path path, std::shared_ptr<const void> library, const CanopyPlugin& descriptor)
      : path_(std::move(path)), library_(std::move(library)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  std::shared_ptr<const void> library_;
  const CanopyPlugin& descriptor_;
};

/// Returns an error message if this host cannot read the components of a descriptor, else an empty text. Reads no field
/// before the fields in front of it have been checked.
std::string why_unreadable(const CanopyPlugin& descriptor);
/// Returns the same for a descriptor at an address of a file that is not loaded: none of a plugin's code runs before
/// the plugin is known to be one for this host.
std::string why_unreadable(const ElfImage& image, std::uint64_t descriptor);

}  // namespace canopy
