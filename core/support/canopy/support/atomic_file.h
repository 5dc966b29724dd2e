#pragma once

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

/// Writes `text` to a draft beside `path`, flushes it to disk and renames it. A reader of `path` finds the old bytes or
/// all of the new ones, never a part. A file that is replaced keeps its mode; a new one has that of the umask. On an
/// error, `path` is unchanged.
Result<std::monostate> write_file_atomically(const std::string& path, std::string_view text);

}  // namespace canopy
