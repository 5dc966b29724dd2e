#pragma once

#include <canopy/base/registry.h>
#include <doctest/doctest.h>
#include <stdlib.h>

#include <support/sanitizers.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace canopy::test {

namespace fs = std::filesystem;

/// A new folder that goes with its object.
class Scratch {
 public:
  explicit Scratch(const fs::path& in = fs::temp_directory_path()) {
    std::string name = (in / "canopy_loading_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = fs::canonical(name);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  fs::path operator/(const char* name) const { return folder_ / name; }
  const fs::path& folder() const { return folder_; }
  fs::path copy_of(const fs::path& file, const char* name) const {
    fs::copy_file(file, folder_ / name);
    fs::permissions(folder_ / name, fs::perms{0755});
    return folder_ / name;
  }
  fs::path text(const char* name, std::string_view content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }

 private:
  fs::path folder_;
};

inline fs::path own_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }
inline fs::path fixture(const std::string& name) {
  return fs::canonical(own_folder().parent_path() / "bad_plugins" / (name + ".so"));
}

/// Returns the only refusal of a file; "" if there is none.
inline std::string refusal_of(const fs::path& file, Trust trust = Trust::as_ourselves) {
  Registry registry;
  registry.add(file, trust);
  if (registry.refusals().empty()) return {};
  CHECK(registry.refusals().size() == 1);
  CHECK(registry.offers().empty());
  CHECK(registry.refusals()[0].file == file);
  return registry.refusals()[0].why;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline bool is_mapped(const fs::path& file) {
  std::ifstream maps("/proc/self/maps");
  return contains({std::istreambuf_iterator<char>(maps), {}}, file.string());
}

}  // namespace canopy::test
