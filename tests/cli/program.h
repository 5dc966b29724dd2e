#pragma once

#include <support/source_folder.h>
#include <sys/wait.h>
#include <unistd.h>

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
inline Ended canopy(const Workshop& workshop, const std::string& arguments) {
  return run(workshop, "canopy", arguments);
}
inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace cli
