#pragma once

#include <canopy/base/doubts.h>
#include <canopy/base/result.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace canopy::workload {

/// Reads the bytes of a regular file from its beginning to its end: plain, or compressed by gzip or zstd, which its
/// first bytes decide.
class PackedFile {
 public:
  static Result<std::unique_ptr<PackedFile>> open(const std::string& path);
  virtual ~PackedFile() = default;
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  /// Reads at most as many bytes as `to` has room for. Returns 0 at the end of the file. An error has no place yet:
  /// "the gzip data ends too early".
  virtual Result<std::size_t> read(std::span<char> to) = 0;
  /// Returns the part of the file, 0..1, that was read when its reader has used `consumed` unpacked bytes.
  double progress(std::uint64_t consumed) const;

  /// Returns a doubt if the file was changed since it was opened: cut, grown or overwritten.
  Doubts doubts() const;

  const std::string& path() const { return path_; }

 protected:
  PackedFile(std::string path, const struct stat& facts);
  /// Returns the descriptor of the file.
  virtual int descriptor() const = 0;
  /// Returns the position in the file of `consumed` unpacked bytes, or a later one.
  virtual std::uint64_t position(std::uint64_t consumed) const = 0;

 private:
  std::string path_;
  std::uint64_t size_;
  std::int64_t changed_s_, changed_ns_;  ///< time of the last change of its content, when it was opened
};

}  // namespace canopy::workload
