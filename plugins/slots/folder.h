#pragma once

#include <canopy/base/own_fd.h>
#include <canopy/page_storage.h>

#include <string>
#include <vector>

namespace canopy::slots {

/// The folder of one fingerprint and rank, in the folder that the configuration names. It contains these files:
///
///   lock      held by the process that uses the folder, which writes its process id into it
///   table     which record lies in which slot (table_file.h)
///   flushed   which namespaces were flushed (flushed_spaces.h)
///   slots.0   slots of one size (slot_files.h), slots.1, ...
///
/// Its name is derived from the fingerprint and the rank, so that two ranks or two models never share a file. All files
/// have mode 0600; created folders have mode 0700.
class Folder {
 public:
  /// Creates the folder if it does not exist, and locks it for this process. Throws std::runtime_error if it cannot be
  /// created or written, or if another process uses it (the message names the process). The lock ends with its process,
  /// even if that crashes and a child that it forked lives on.
  Folder(const std::string& path, const PageStorage::Context& context);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  OwnFd lock_;
};

/// Returns the name of the folder below `path`.
std::string folder_name(const PageStorage::Context& context);
/// Opens one of a folder's files; never follows a link. `flags` as for ::open; a new file has mode 0600. Throws
/// std::runtime_error if it cannot be opened; with `may_lack`, a missing file is not an error.
UniqueFd open_file(const std::string& path, int flags, bool may_lack = false);
/// An unused folder that no process can start to use during the lifetime of this object.
struct Reserved {
  UniqueFd lock;
  std::string user;  ///< If not empty, nothing is reserved because this process uses the folder ("process 4711").
};
Reserved reserve(const std::string& folder);
/// Returns the folders of fingerprints and ranks below `path`, sorted.
std::vector<std::string> folders_below(const std::string& path);
/// Throws "path: what (text of errno)".
[[noreturn]] void fail(const std::string& path, const std::string& what, int error);

}  // namespace canopy::slots
