#pragma once

#include <canopy/base/file.h>
#include <canopy/base/result.h>

#include <string>
#include <string_view>

namespace canopy {

// Output files. If the path is a symbolic link, the file to which it leads is written or created, and the link stays. A
// link of another user (not root) is an error, since that user could then choose the file that is replaced.

/// Returns the path to which the symbolic links of `path` lead.
Result<std::string> output_target(const std::string& path);

/// Returns an error if a report cannot be written to `path`. Call it before a long run.
Result<std::monostate> can_write_file(const std::string& path);

/// Writes a file piece by piece to a draft beside it, flushes the draft to disk and renames it. A reader of the path
/// finds either the old bytes or all of the new ones. A replaced file keeps its mode; a new one has the mode of the
/// umask. Without commit(), the path is unchanged and the draft is deleted.
class AtomicFile {
 public:
  /// Creates the draft.
  static Result<AtomicFile> begin(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Appends text to the draft with one system call: collect small pieces first.
  Result<std::monostate> append(std::string_view text);
  /// Replaces the file by the draft.
  Result<std::monostate> commit();

 private:
  AtomicFile(std::string path, std::string target);

  std::string path_, target_, draft_;
  UniqueFd opened_;
};

/// Writes a complete text in the same way.
Result<std::monostate> write_file_atomically(const std::string& path, std::string_view text);

}  // namespace canopy
