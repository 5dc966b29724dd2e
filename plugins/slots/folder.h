#pragma once

#include <canopy/page_storage.h>
#include <canopy/support/file.h>

#include <string>
#include <vector>

namespace canopy::slots {

/// The folder of one fingerprint and rank, below the one that a configuration names. It has these files:
///
///   lock      held by the process that uses the folder, which writes its process id into it
///   table     which record lies in which slot (table_file.h)
///   flushed   which namespaces were flushed (flushed_spaces.h)
///   slots.0   slots of one size (slot_files.h), slots.1, ...
///
/// Its name is made of the fingerprint and the rank, so that two ranks or two models never share a file. All files have
/// mode 0600, folders that are made here 0700.
class Folder {
 public:
  /// Makes the folder where it is absent, and locks it for this process. Throws std::runtime_error with a sentence: it
  /// cannot be made or written, or a process has it (which one). A lock ends with its process, however that ends.
  Folder(const std::string& path, const PageStorage::Context& context);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  UniqueFd lock_;
};

/// The name of the folder below `path`.
std::string folder_name(const PageStorage::Context& context);
/// Opens one of a folder's files, and never a link to another one. `flags` as for ::open; a new file has mode 0600.
/// Throws std::runtime_error with a sentence if it cannot be opened; with `may_lack`, a file that is not there is no
/// error.
UniqueFd open_file(const std::string& path, int flags, bool may_lack = false);
/// A folder that no process uses, and that none can begin to use while this object is there.
struct Reserved {
  UniqueFd lock;
  std::string user;  ///< not empty: nothing is reserved, since this process uses the folder ("process 4711")
};
Reserved reserve(const std::string& folder);
/// The folders of fingerprints and ranks below `path`, sorted.
std::vector<std::string> folders_below(const std::string& path);
/// "path: what (the system's words for errno)" as an exception.
[[noreturn]] void fail(const std::string& path, const std::string& what, int error);

}  // namespace canopy::slots
