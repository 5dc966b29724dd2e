#include "contract_suite.h"

#include <canopy/base/registry.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

// Includes single headers, because <boost/process.hpp> needs compiled parts of Boost.
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/io.hpp>
#include <boost/process/pipe.hpp>
#include <boost/process/posix.hpp>
#include <cctype>
#include <csignal>
#include <cstring>
#include <sstream>

namespace canopy::app {
namespace {

namespace fs = std::filesystem;

constexpr int kAnswers = 3;  ///< file descriptor on which the suite answers

/// Returns "signal 11: segmentation fault".
std::string signal_in_words(int signal) {
  std::string name = ::strsignal(signal);
  name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
  return fmt::format("signal {}: {}", signal, name);
}

bool cut_end(std::string& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.erase(text.size() - end.size());
  return true;
}

}  // namespace

std::string how_loading_ended(int status, unsigned seconds) {
  if (!WIFSIGNALED(status))
    return fmt::format("it ended the process when it was loaded (exit code {})", WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGALRM) return fmt::format("it did not load within {} s", seconds);
  return fmt::format("it crashed when it was loaded ({})", signal_in_words(WTERMSIG(status)));
}

std::optional<ContractSuite> ContractSuite::find(unsigned seconds) {
  std::error_code failed;
  const fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (const fs::path& program : {folder / "canopy-contract", folder / CANOPY_SUITE_FROM_PROGRAMS})
    if (fs::is_regular_file(program, failed)) return ContractSuite(program, seconds);
  return {};
}

Result<std::vector<ContractSuite::Case>> ContractSuite::cases(const std::string& file) const {
  const Ended ended = run({"list", file, own_plugin_folder().string(), std::to_string(seconds_)});
  if (!WIFEXITED(ended.status) || WEXITSTATUS(ended.status) != 0)
    return Error{how_loading_ended(ended.status, seconds_)};
  std::vector<Case> cases;
  std::istringstream lines(ended.answers);
  for (Case one; std::getline(lines, one.interface, '\t') && std::getline(lines, one.component, '\t') &&
                 std::getline(lines, one.number, '\t') && std::getline(lines, one.name);)
    cases.push_back(one);
  return cases;
}

ContractSuite::Answer ContractSuite::check(const std::string& file, const Case& which) const {
  Ended ended = run({"check", file, own_plugin_folder().string(), std::to_string(seconds_), which.interface,
                     which.component, which.number});
  if (WIFSIGNALED(ended.status)) {
    const int signal = WTERMSIG(ended.status);
    if (signal == SIGALRM) return {Verdict::late, fmt::format("did not finish '{}' within {} s", which.name, seconds_)};
    return {Verdict::crashed, fmt::format("crashed ({}) in case '{}'", signal_in_words(signal), which.name)};
  }
  const int code = WEXITSTATUS(ended.status);
  if (code == 0 && cut_end(ended.answers, "passed\n")) return {};
  if (!cut_end(ended.answers, "failed\n"))
    return {Verdict::crashed, fmt::format("ended the process (exit code {}) in case '{}'", code, which.name)};
  cut_end(ended.answers, "\n");
  return {Verdict::failed, fmt::format("fails '{}':\n{}", which.name, ended.answers)};
}

ContractSuite::Ended ContractSuite::run(const std::vector<std::string>& arguments) const {
  namespace process = boost::process;
  process::pipe answers;
  // Drops the plugin's output, but keeps stderr, where the system reports a crash.
  process::child suite(process::exe = program_.string(), process::args = arguments, process::std_in.null(),
                       process::std_out.null(), process::posix::fd.bind(kAnswers, answers.native_sink()));
  // The suite has the only copy now, so reading ends when the suite ends.
  ::close(answers.native_sink());
  answers.assign_sink(-1);
  Ended ended;
  char some[4096];
  while (const int count = answers.read(some, sizeof some)) ended.answers.append(some, static_cast<std::size_t>(count));
  suite.wait();
  ended.status = suite.native_exit_code();
  return ended;
}

}  // namespace canopy::app
