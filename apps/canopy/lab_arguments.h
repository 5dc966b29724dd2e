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

/// Returns the parts of a list separated by commas; a comma inside { } does not separate. Returns an error if a part is
/// empty.
Result<std::vector<std::string>> parts_of(std::string_view option, const std::string& list);

/// One number of a list, such as 3M, with its text as given.
struct Amount {
  std::string text;
  std::uint64_t value = 0;
  double share = 0;  ///< Part of a whole that is not known yet, such as 0.05 for 5%. 0: `value` is given.
};
/// Returns the numbers of a list, written as in an engine file, each from `least` to `most` and all different. `what`
/// names them for error messages.
Result<std::vector<Amount>> amounts_of(std::string_view option, const std::string& list, const char* what,
                                       std::uint64_t least, std::uint64_t most);
/// Returns capacities in tokens: numbers from `least` on, and shares such as 5%, to which shares_of() gives a value.
Result<std::vector<Amount>> capacities_in(const std::string& list, std::uint64_t least);
/// Gives each share its value out of the distinct tokens of a trace. Returns an error if one is less than `least`.
Result<std::vector<Amount>> shares_of(std::vector<Amount> capacities, std::uint64_t distinct, std::uint64_t least);
/// Returns sizes such as 80GiB or 64GB, in bytes.
Result<std::vector<Amount>> sizes_of(std::string_view option, const std::string& list);

/// Returns the seeds of a workload: LabSource::seeds, or only 0 for the seed in its file, or for a trace. Returns an
/// error if there are none to choose, because it is a trace.
Result<std::vector<std::uint64_t>> seeds_of(const LabSource& source);

/// Reads the workload file, and sets LabSource::block, if it is 0, from the first request of a trace: 1 if it has token
/// ids. With `blocks` (a unit is a block), a trace of token ids is an error, and a block of a workload has 512 tokens.
Result<std::monostate> prepare(LabSource& source, bool blocks);
/// Opens the trace or the workload. `command` begins the error message if neither is given. REQUIRES: prepare().
Result<std::unique_ptr<workload::RequestSource>> open_source(const LabSource& source, std::string_view command);
/// Returns the file of the trace or workload, for check_files; name_of() returns its name without the folder, for
/// people.
std::vector<RunFile> files_of(const LabSource& source);
std::string name_of(const LabSource& source);

/// Returns this process's command line, quoted for a shell.
std::string command_line();

}  // namespace canopy::app
