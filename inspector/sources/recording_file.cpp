#include <canopy/base/file.h>
#include <canopy/feed/shared_mapping.h>

#include <cerrno>
#include <cstring>

#include "recording.h"

namespace canopy::inspector {
namespace {

class MappedBytes final : public RecordedBytes {
 public:
  /// Returns false, with errno set, if the file cannot be mapped.
  bool map(int descriptor, std::size_t bytes) {
    bytes_ = bytes;
    return memory_.map(descriptor, bytes, SharedMapping::Access::read_private);
  }
  std::span<const std::byte> bytes() const override { return {memory_.base(), bytes_}; }
  bool cut() const override { return memory_.cut(); }

 private:
  SharedMapping memory_;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Recording>> Recording::begin(const std::string& path) {
  const auto cannot = [&](const std::string& why) { return Error{path + ": " + why}; };
  const OpenedFile file = open_regular(path);
  if (file.error != 0) return cannot(std::strerror(file.error));
  if (!file.descriptor) return cannot("expected a regular file");
  auto memory = std::make_unique<MappedBytes>();
  // An empty file cannot be mapped: begin() then reports that it is too short.
  if (file.facts.st_size > 0 && !memory->map(file.descriptor.get(), static_cast<std::size_t>(file.facts.st_size)))
    return cannot(std::strerror(errno));
  return begin(std::move(memory), path);
}

Result<std::unique_ptr<Recording>> Recording::open(const std::string& path) {
  auto recording = begin(path);
  if (!recording) return recording;
  (*recording)->scan((*recording)->end_);
  if ((*recording)->commits_ == 0) return Error{path + ": " + kNothing};
  return recording;
}

}  // namespace canopy::inspector
