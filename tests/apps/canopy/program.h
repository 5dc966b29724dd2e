#pragma once

#include <support/source_folder.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace cli {

namespace fs = std::filesystem;

inline const fs::path kSource = kSourceFolder;
inline const fs::path kBin = fs::read_symlink("/proc/self/exe").parent_path();

struct Ended {
  int status = -1;
  std::string out, err;
};

inline std::string slurp(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A folder of this test's own, gone at the end.
struct Workshop {
  fs::path path = fs::temp_directory_path() / ("canopy_cli_" + std::to_string(getpid()) + "_" + std::to_string(next()));
  Workshop() { fs::create_directories(path); }
  ~Workshop() { fs::remove_all(path); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }

 private:
  static int next() {
    static int number = 0;
    return number++;
  }
};

/// Runs a program beside the tests.
inline Ended run(const Workshop& workshop, const std::string& program, const std::string& arguments) {
  const fs::path err = workshop.path / "stderr", out = workshop.path / "stdout";
  const std::string line = "timeout 120 " + (kBin / program).string() + " " + arguments + " >" + out.string() + " 2>" +
                           err.string() + " </dev/null";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(out), slurp(err)};
}
/// Returns the program whose command begins the arguments: bench, check and verify are those of canopy-dev.
inline std::string program_of(const std::string& arguments) {
  const std::string command = arguments.substr(0, arguments.find(' '));
  return command == "bench" || command == "check" || command == "verify" ? "canopy-dev" : "canopy";
}
inline Ended run_canopy(const Workshop& workshop, const std::string& arguments) {
  return run(workshop, program_of(arguments), arguments);
}
/// A command that runs beside the test. What it prints lies in the workshop as NAME.out and NAME.err.
class Started {
 public:
  Started(const Workshop& workshop, const std::string& name, const std::string& arguments)
      : out_(workshop.path / (name + ".out")), err_(workshop.path / (name + ".err")) {
    std::fflush(nullptr);
    child_ = ::fork();
    if (child_ != 0) return;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_DFL);
    // exec: the signals of the test are the program's, not a shell's.
    const std::string line = "exec " + (kBin / program_of(arguments)).string() + " " + arguments + " >" +
                             out_.string() + " 2>" + err_.string() + " </dev/null";
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  /// Sends SIGTERM first, so that the program removes its segment of shared memory.
  ~Started() {
    if (child_ <= 0) return;
    signal(SIGTERM);
    for (int tries = 0; tries < 250; ++tries) {
      if (::waitpid(child_, nullptr, WNOHANG) == child_) return;
      ::usleep(20'000);
    }
    end(SIGKILL);
  }
  Started(const Started&) = delete;

  pid_t pid() const { return child_; }
  void signal(int number) const { ::kill(child_, number); }
  /// After a signal, 0: none. The exit code, or the negative number of the signal that ended it.
  Ended end(int number) {
    if (number != 0) signal(number);
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = 0;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), slurp(out_), slurp(err_)};
  }

 private:
  fs::path out_, err_;
  pid_t child_ = 0;
};

/// Returns true if `fact` becomes true within ten seconds; calls it every 20 ms.
template <class Fact>
bool soon(Fact&& fact) {
  for (int tries = 0; tries < 500; ++tries) {
    if (fact()) return true;
    ::usleep(20'000);
  }
  return false;
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace cli
