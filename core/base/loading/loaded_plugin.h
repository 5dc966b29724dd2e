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
  /// `path` is the plugin's name in lists and messages; `library` is what has to live as long as the plugin, null for
  /// one that is linked into the program. The error is one sentence that fits behind the path.
  static Result<std::shared_ptr<LoadedPlugin>> check(std::filesystem::path path, std::shared_ptr<const void> library,
                                                     const CanopyPlugin& descriptor);

  const std::filesystem::path& path() const { return path_; }
  const CanopyPlugin& descriptor() const { return descriptor_; }
  /// REQUIRES: i < descriptor().count. Its fields are as the plugin wrote them, unchecked.
  const CanopyComponent& component(std::size_t i) const;

 private:
  LoadedPlugin(std::filesystem::path path, std::shared_ptr<const void> library, const CanopyPlugin& descriptor)
      : path_(std::move(path)), library_(std::move(library)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  std::shared_ptr<const void> library_;
  const CanopyPlugin& descriptor_;
};

/// Why this host cannot read the components behind a descriptor, in one sentence; empty if it can. Reads no field
/// before the fields in front of it have been checked.
std::string why_unreadable(const CanopyPlugin& descriptor);
/// The same for a descriptor at an address of a file that is not loaded: nothing of a plugin runs before it is known to
/// be one for this host.
std::string why_unreadable(const ElfImage& image, std::uint64_t descriptor);

}  // namespace canopy
