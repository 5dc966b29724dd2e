#include <canopy/base/atomic_file.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "commands.h"

namespace canopy::app {
namespace {

constexpr const char* kPolicy = R"(#include <canopy/plugin.h>

/// Describe here the node that is evicted first, and the reason. Facts and calls: canopy/eviction_strategy.h.
class {type} final : public canopy::EvictionStrategy {{
 public:
  struct Config {{
    std::uint64_t protect_after = 2;
    void visit(canopy::Options& o) {{ o.number("protect_after", protect_after, 1, 64, "hits that protect a prefix"); }}
  }};
  explicit {type}(const Config& config) : protect_after_(config.protect_after) {{}}

  /// Returns the rank of a node. The node with the smallest rank is evicted first.
  canopy::Rank rank(const canopy::NodeFacts& node) override {{
    return {{node.hits >= protect_after_, node.last_access}};
  }}

 private:
  std::uint64_t protect_after_;
}};

CANOPY_PLUGIN("0.1.0", canopy::provide<canopy::EvictionStrategy, {type}>("{name}", "describe in one line what is evicted first"));
)";

constexpr const char* kBuild = R"(cmake_minimum_required(VERSION 3.25)
project({name} LANGUAGES CXX)
find_package(canopy REQUIRED)
canopy_add_plugin(NAME {name} SOURCES {name}.cpp)
)";

bool is_plain(const std::string& name) {
  return !name.empty() && std::islower(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '_'; });
}

/// Names that CMake refuses for a target (its policy CMP0037).
bool is_reserved(const std::string& name) {
  static constexpr std::string_view kReserved[] = {"all",        "clean",         "edit_cache", "help",
                                                   "install",    "install_local", "package",    "package_source",
                                                   "preinstall", "rebuild_cache", "test"};
  return std::ranges::find(kReserved, name) != std::end(kReserved);
}

/// Converts two_hits to TwoHits. A class cannot have the name of its member Config.
std::string type_of(const std::string& name) {
  std::string type;
  bool starts = true;
  for (const char c : name) {
    if (c != '_') type += starts ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    starts = c == '_';
  }
  return type == "Config" ? "ConfigPolicy" : type;
}

}  // namespace

int new_plugin(const std::string& name) {
  namespace fs = std::filesystem;
  if (!is_plain(name))
    return unusable("'" + name +
                    "' is not a name for a plugin; expected lower-case letters, digits and _, beginning with a letter");
  if (is_reserved(name)) return unusable("'" + name + "' is a name that CMake reserves; expected another one");
  std::error_code error;
  if (!fs::create_directory(name, error))
    return unusable(name + ": " + (error ? error.message() : "already exists; nothing was written"));
  const std::pair<std::string, std::string> files[] = {
      {name + ".cpp", fmt::format(kPolicy, fmt::arg("type", type_of(name)), fmt::arg("name", name))},
      {"CMakeLists.txt", fmt::format(kBuild, fmt::arg("name", name))}};
  for (const auto& [file, text] : files)
    if (auto written = write_file_atomically(fs::path(name) / file, text); !written) {
      fs::remove_all(name, error);
      return unusable(written.error().text);
    }
  fmt::print(
      "{0}/{0}.cpp and {0}/CMakeLists.txt: a policy to change. With an installed Canopy in PREFIX:\n\n"
      "  cmake -S {0} -B {0}/build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build {0}/build\n"
      "  canopy plugins check {0}/build/{0}.so\n",
      name);
  return kFine;
}

}  // namespace canopy::app
