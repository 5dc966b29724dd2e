#include <canopy/base/atomic_file.h>
#include <canopy/base/printable.h>
#include <canopy/base/run_files.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>

namespace canopy {
namespace {

namespace fs = std::filesystem;

/// The identity of a file, equal for all of its names: the inode, or for a new file its folder's inode and its name
/// there.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;
  bool operator==(const Identity&) const = default;
};

Identity identity_of(const std::string& path) {
  const auto target = output_target(path);
  const fs::path at = target ? *target : path;  // an input may be behind another user's link
  struct stat facts{};
  if (::stat(at.c_str(), &facts) == 0) return {facts.st_dev, facts.st_ino, {}};
  const fs::path folder = at.has_parent_path() ? at.parent_path() : fs::path(".");
  if (::stat(folder.c_str(), &facts) == 0) return {facts.st_dev, facts.st_ino, at.filename().string()};
  std::error_code ignored;
  return {0, 0, fs::absolute(at, ignored).lexically_normal().string()};
}

struct Known {
  std::string called, path;
  Identity identity;
  bool is_input = false;
};

std::string in_words(const std::string& called, const std::string& path) {
  return path.empty() ? called : called + " " + in_quotes(path);
}

}  // namespace

Result<std::monostate> check_run_files(std::span<const RunFile> inputs, std::span<const RunFile> outputs) {
  std::vector<Known> known;
  for (const RunFile& file : inputs)
    if (!file.path.empty()) known.push_back({file.called, file.path, identity_of(file.path), true});
  const std::size_t read = known.size();
  // Adds an output. Returns an error if it is one of the first `others` known files.
  const auto clash = [&known](const Known& output, std::size_t others) -> std::optional<Error> {
    for (std::size_t i = 0; i < others; ++i)
      if (known[i].identity == output.identity)
        return Error{in_words(output.called, output.path) + " is the same file as " +
                     in_words(known[i].called, known[i].path) + ", which this run " +
                     (known[i].is_input ? "reads" : "writes as well") + "; nothing was written"};
    known.push_back(output);
    return {};
  };
  for (const auto& [number, called] :
       {std::pair(STDOUT_FILENO, "standard output"), {STDERR_FILENO, "standard error"}}) {
    struct stat facts{};
    if (::fstat(number, &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    // Standard output and standard error may be the same file.
    if (auto error = clash({called, {}, {facts.st_dev, facts.st_ino, {}}, false}, read)) return *error;
  }
  for (const RunFile& file : outputs)
    if (!file.path.empty())
      if (auto error = clash({file.called, file.path, identity_of(file.path), false}, known.size())) return *error;
  return std::monostate{};
}

}  // namespace canopy
