#pragma once

#include <canopy/plugin.h>
#include <canopy/loading/registry.h>
#include <canopy/support/result.h>

#include <filesystem>
#include <memory>
#include <string>

namespace canopy {

/// A plugin's library, mapped as long as this object lives.
class PluginFile {
 public:
  /// Checks the file, then maps it; none of its code runs before it is known to be a library of this machine
  /// that exports a descriptor. The error is one sentence that fits behind the file's name.
  static Result<std::shared_ptr<PluginFile>> load(const std::filesystem::path& file, Trust trust);

  /// Absolute and without symbolic links.
  const std::filesystem::path& path() const { return path_; }
  const CanopyPlugin& descriptor() const { return descriptor_; }
  /// REQUIRES: i < descriptor().count. Its fields are the plugin's word and still unchecked.
  const CanopyComponent& component(std::size_t i) const;

 private:
  PluginFile(std::filesystem::path path, std::shared_ptr<const void> library, const CanopyPlugin& descriptor)
      : path_(std::move(path)), library_(std::move(library)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  std::shared_ptr<const void> library_;  ///< of Boost.DLL, which stays out of every other file
  const CanopyPlugin& descriptor_;
};

/// Why components behind this descriptor cannot be read by this host, in one sentence; empty if they can. No
/// field is read before the ones in front of it have vouched for it.
std::string why_unreadable(const CanopyPlugin& descriptor);

}  // namespace canopy
