#include "contract_suite.h"

#include <canopy/loading/registry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <system_error>

namespace canopy::app {
namespace {

namespace fs = std::filesystem;

constexpr int kAnswers = 3;  ///< the descriptor that the suite answers on

[[noreturn]] void cannot(const char* what, int code) { throw std::system_error(code, std::system_category(), what); }

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) cannot("a pipe for the contract suite", errno);
  }
  ~Pipe() {
    ::close(ends_[0]);
    close_writing();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writing() const { return ends_[1]; }
  void close_writing() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  std::string read_all() const {
    std::string all;
    char some[4096];
    for (;;) {
      const ssize_t count = ::read(ends_[0], some, sizeof some);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return all;
      all.append(some, static_cast<std::size_t>(count));
    }
  }

 private:
  int ends_[2] = {-1, -1};
};

/// "signal 11: segmentation fault"
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

std::optional<ContractSuite> ContractSuite::find(unsigned seconds) {
  std::error_code failed;
  const fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (const fs::path& program :
       {folder / "canopy-contract", folder.parent_path() / "libexec" / "canopy" / "canopy-contract"})
    if (fs::is_regular_file(program, failed)) return ContractSuite(program, seconds);
  return {};
}

Result<std::vector<ContractSuite::Case>> ContractSuite::cases(const std::string& file) const {
  const Ended ended = run({"list", file, own_plugin_folder().string(), std::to_string(seconds_)});
  if (WIFSIGNALED(ended.status)) {
    if (WTERMSIG(ended.status) == SIGALRM) return Error{fmt::format("it did not load within {} s", seconds_)};
    return Error{fmt::format("it crashed when it was loaded ({})", signal_in_words(WTERMSIG(ended.status)))};
  }
  if (WEXITSTATUS(ended.status) != 0)
    return Error{fmt::format("it ended the process when it was loaded (exit code {})", WEXITSTATUS(ended.status))};
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

ContractSuite::Ended ContractSuite::run(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), program_.string());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  Pipe pipe;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // What the plugin prints stays out of our report; what the system says of a crash does not.
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, pipe.writing(), kAnswers);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, program_.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) cannot(program_.c_str(), failed);

  pipe.close_writing();
  Ended ended;
  ended.answers = pipe.read_all();
  while (::waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

}  // namespace canopy::app
