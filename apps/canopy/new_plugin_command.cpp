#include <canopy/base/atomic_file.h>
#include <canopy/base/nearest_name.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.h"
#include "plugin_examples.h"

namespace canopy::app {
namespace {

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
  return type == "Config" ? "ConfigPlugin" : type;
}

/// Returns the example of a kind. Null: there is no such kind.
const std::string* example_of(const std::string& name) {
  for (const PluginExample& each : plugin_examples())
    if (name == each.kind) return &each.text;
  return nullptr;
}

/// Replaces each occurrence of a text.
std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
  return text;
}

}  // namespace

int new_plugin(std::vector<std::string> words) {
  namespace fs = std::filesystem;
  if (words.size() == 1 && example_of(words[0])) words.push_back("my_" + words[0]);
  if (words.size() == 1) words.insert(words.begin(), "policy");
  const std::string &kind = words[0], &name = words[1];
  const std::string* const example = example_of(kind);
  if (!example) {
    std::vector<std::string> kinds;
    for (const PluginExample& each : plugin_examples()) kinds.push_back(each.kind);
    return unusable(fmt::format("no kind of plugin is called '{}'{}", kind, did_you_mean(kind, kinds)));
  }
  if (!is_plain(name))
    return unusable("'" + name +
                    "' is not a name for a plugin; expected lower-case letters, digits and _, beginning with a letter");
  if (is_reserved(name)) return unusable("'" + name + "' is a name that CMake reserves; expected another one");
  std::error_code error;
  if (!fs::create_directory(name, error))
    return unusable(name + ": " + (error ? error.message() : "already exists; nothing was written"));
  const std::pair<std::string, std::string> files[] = {
      {name + ".cpp", replaced(replaced(*example, "Example", type_of(name)), "\"example\"", "\"" + name + "\"")},
      {"CMakeLists.txt", fmt::format(kBuild, fmt::arg("name", name))}};
  for (const auto& [file, text] : files)
    if (auto written = write_file_atomically(fs::path(name) / file, text); !written) {
      fs::remove_all(name, error);
      return unusable(written.error().text);
    }
  fmt::print(
      "{0}/{0}.cpp and {0}/CMakeLists.txt: {1} to change. With an installed Canopy in PREFIX:\n\n"
      "  cmake -S {0} -B {0}/build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build {0}/build\n"
      "  canopy plugins check {0}/build/{0}.so\n",
      name, (kind.find_first_of("aeiou") == 0 ? "an " : "a ") + kind);
  return kFine;
}

}  // namespace canopy::app
