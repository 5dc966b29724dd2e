#pragma once

#include <canopy/support/result.h>

#include <string>
#include <string_view>

namespace canopy {

/// Whether a report can be written to `path`. Ask before a long run, not after it.
Result<std::monostate> can_write_file(const std::string& path);

/// Writes `text` to a draft beside `path`, flushes it to disk and renames it. A reader of `path` finds the old bytes or
/// all of the new ones, never a part. A symbolic link stays a link. On an error, `path` is unchanged.
Result<std::monostate> write_file_atomically(const std::string& path, std::string_view text);

}  // namespace canopy
