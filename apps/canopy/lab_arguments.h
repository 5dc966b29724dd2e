#pragma once

#include <canopy/base/result.h>
#include <workload/request_source.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lab_commands.h"

namespace canopy::app {

/// The parts of a list with commas between them; a comma inside { } parts nothing. An error if a part is empty.
Result<std::vector<std::string>> parts_of(std::string_view option, const std::string& list);

/// One number of a list, such as 3M, with what was written.
struct Amount {
  std::string text;
  std::uint64_t value = 0;
};
/// Numbers as in an engine file, each from `least` to `most` and no two alike; `what` says what they count.
Result<std::vector<Amount>> amounts_of(std::string_view option, const std::string& list, const char* what,
                                       std::uint64_t least, std::uint64_t most);
/// Sizes such as 80GiB or 64GB, in bytes.
Result<std::vector<Amount>> sizes_of(std::string_view option, const std::string& list);

/// Opens the trace or the workload. `command` is in front of the sentence if neither is named.
Result<std::unique_ptr<workload::RequestSource>> open_source(const LabSource& source, std::string_view command);
/// Finds what LabSource::block is where it is 0, from the first request; 1 where a trace has token ids. With `blocks`
/// (a unit is a block) such a trace is an error, and a block of a workload has 512 tokens.
Result<std::uint64_t> block_of(const LabSource& source, bool blocks);
/// The file of either, for check_files, and its name without folder, for people.
std::vector<RunFile> files_of(const LabSource& source);
std::string name_of(const LabSource& source);

/// How this process was called, so that a shell takes it for the same.
std::string command_line();

}  // namespace canopy::app
