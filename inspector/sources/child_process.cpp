#include "child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace canopy::inspector {
namespace {

bool make_pipe(UniqueFd& reads, UniqueFd& writes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  reads.reset(ends[0]), writes.reset(ends[1]);
  return true;
}

/// In the child, between fork and exec: other threads of the parent may have held any lock, so system calls only.
[[noreturn]] void become(char* const* arguments, pid_t parent, int nowhere, int errors, int trouble) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it ended before the line above
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::sigaction(signal, &usual, nullptr);
  const bool ready =
      ::dup2(nowhere, STDIN_FILENO) >= 0 && ::dup2(nowhere, STDOUT_FILENO) >= 0 && ::dup2(errors, STDERR_FILENO) >= 0;
  if (ready) ::execv(arguments[0], arguments);
  const int why = errno;
  [[maybe_unused]] const auto told = ::write(trouble, &why, sizeof(why));
  ::_exit(127);
}

bool can_run(const std::filesystem::path& path) {
  std::error_code none;
  return std::filesystem::is_regular_file(path, none) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::vector<std::string>& command) {
  const auto cannot = [&](int why) { return Error{"'" + command[0] + "' cannot be started: " + std::strerror(why)}; };
  UniqueFd errors, its_errors, trouble, its_trouble;
  if (!make_pipe(errors, its_errors) || !make_pipe(trouble, its_trouble)) return cannot(errno);
  const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nowhere || ::fcntl(errors.get(), F_SETFL, O_NONBLOCK) != 0) return cannot(errno);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) return cannot(errno);
  if (child == 0) become(arguments.data(), parent, nowhere.get(), its_errors.get(), its_trouble.get());
  its_errors.reset(), its_trouble.reset();
  // The pipe closes without a word when the program has been started.
  int why = 0;
  ssize_t read = 0;
  while ((read = ::read(trouble.get(), &why, sizeof(why))) < 0 && errno == EINTR) continue;
  std::unique_ptr<ChildProcess> process(new ChildProcess(child, std::move(errors)));
  if (read == sizeof(why)) return cannot(why);
  return process;
}

/// By SIGKILL: a program that takes its time to end would stop this one.
ChildProcess::~ChildProcess() {
  if (exit_code_) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

std::vector<std::string> ChildProcess::lines() {
  std::vector<std::string> whole;
  char bytes[4096];
  ssize_t count = 0;
  // A program that writes faster than this reads has the rest read at the next call.
  for (int times = 0; times < 64 && (count = ::read(errors_.get(), bytes, sizeof(bytes))) > 0; ++times)
    for (const char byte : std::string_view(bytes, static_cast<std::size_t>(count)))
      if (byte == '\n') whole.push_back(std::exchange(line_, {}));
      else if (line_.size() < kMostLine) line_ += byte;
  if (exit_code_ && count <= 0 && !line_.empty()) whole.push_back(std::exchange(line_, {}));
  return whole;
}

std::optional<int> ChildProcess::exit_code() {
  if (exit_code_) return exit_code_;
  int status = 0;
  if (::waitpid(process_, &status, WNOHANG) != process_) return {};
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

std::string find_program(const std::string& name) {
  std::error_code none;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", none);
  if (const auto beside = self.parent_path() / name; !none && can_run(beside)) return beside.string();
  const char* const folders = std::getenv("PATH");
  for (std::string_view rest = folders ? folders : ""; !rest.empty();) {
    const std::size_t end = rest.find(':');
    const std::filesystem::path folder(rest.substr(0, end));
    if (folder.is_absolute() && can_run(folder / name)) return (folder / name).string();
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return {};
}

}  // namespace canopy::inspector
