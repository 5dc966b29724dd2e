#pragma once

#include <canopy/support/result.h>

#include <span>
#include <string>
#include <vector>

namespace canopy {

/// A file that a run reads or writes, and what the run calls it: {"--trace", "t.jsonl"}.
struct RunFile {
  std::string called, path;
};

/// Whether a run writes to none of the files that it reads, and to no file twice. Two paths are one file if they lead
/// to one inode, by whatever links, or would make one new file. A file that is empty by name is passed over; standard
/// output and standard error are outputs of every run, where they are files. The error names both.
///
/// Ask before anything is written.
Result<std::monostate> check_run_files(std::span<const RunFile> inputs, std::span<const RunFile> outputs);

}  // namespace canopy
