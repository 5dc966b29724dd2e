#pragma once

#include <canopy/support/file.h>
#include <canopy/support/result.h>

#include <string>
#include <string_view>

namespace canopy {

// Outputs. A symbolic link stays a link: what it leads to is written, also where nothing is there yet. A link of
// another user (and not root's) is refused, since that user would choose the file that is replaced.

/// `path` with its symbolic links followed.
Result<std::string> output_target(const std::string& path);

/// Whether a report can be written to `path`. Ask before a long run, not after it.
Result<std::monostate> can_write_file(const std::string& path);

/// A file that is written piece by piece to a draft beside it, flushed to disk and renamed. A reader of the path finds
/// the old bytes or all of the new ones, never a part. A file that is replaced keeps its mode; a new one has that of
/// the umask. Without commit(), the path is unchanged and the draft is gone.
class AtomicFile {
 public:
  static Result<AtomicFile> begin(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// One write of the system: gather small pieces first.
  Result<std::monostate> append(std::string_view text);
  Result<std::monostate> commit();

 private:
  AtomicFile(std::string path, std::string target);

  std::string path_, target_, draft_;
  UniqueFd opened_;
};

/// The same for a text that is there.
Result<std::monostate> write_file_atomically(const std::string& path, std::string_view text);

}  // namespace canopy
