#pragma once

#include <canopy/base/result.h>

#include <span>
#include <string>
#include <vector>

namespace canopy {

/// A file that a run reads or writes, and its name in messages: {"--trace", "t.jsonl"}.
struct RunFile {
  std::string called, path;
};

/// Returns an error, which names both files, if a run writes to a file that it reads, or writes to one file twice. Two
/// paths are one file if they lead to the same inode, by any links, or would create the same file. Files with an empty
/// path are ignored. Standard output and standard error are outputs of every run if they are files.
///
/// Call it before anything is written.
Result<std::monostate> check_run_files(std::span<const RunFile> inputs, std::span<const RunFile> outputs);

}  // namespace canopy
