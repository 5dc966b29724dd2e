#include <canopy/config/yaml_options.h>
#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "option_words.h"

namespace canopy {
namespace {

using Names = std::span<const char* const>;

/// Writes what a walk passes as YAML flow text.
class DumpWalker final : public Options {
 public:
  std::string text() const { return text_.empty() ? "{}" : "{ " + text_ + " }"; }
  bool ok() const override { return true; }

 protected:
  void on_number(const char* name, std::uint64_t& value, std::uint64_t, std::uint64_t, const char*) override {
    add(name, std::to_string(value));
  }
  void on_real(const char* name, double& value, double, double, const char*) override {
    add(name, fmt::format("{}", value));
  }
  void on_flag(const char* name, bool& value, const char*) override { add(name, value ? "true" : "false"); }
  void on_choice(const char* name, std::uint32_t& index, Names names, const char*) override {
    if (index < names.size()) add(name, to_yaml(names[index]));
  }
  void on_entries(const char* name, Entries& value, const char*) override {
    DumpWalker all;
    for (std::size_t i = 0; i < value.size(); ++i) {
      DumpWalker one;
      value.visit(i, one);
      all.add(value.key(i), one.text());
    }
    add(name, all.text());
  }

 private:
  void add(const char* name, const std::string& value) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", to_yaml(name), value);
  }
  std::string text_;
};

class HelpWalker final : public Options {
 public:
  HelpWalker(std::string prefix, std::vector<OptionHelp>& found) : prefix_(std::move(prefix)), found_(found) {}
  bool ok() const override { return true; }

 protected:
  void on_number(const char* name, std::uint64_t& value, std::uint64_t min, std::uint64_t max,
                 const char* help) override {
    add(name, range_of(min, max), std::to_string(value), help);
  }
  void on_real(const char* name, double& value, double min, double max, const char* help) override {
    add(name, fmt::format("{}..{}", min, max), fmt::format("{}", value), help);
  }
  void on_flag(const char* name, bool& value, const char* help) override {
    add(name, "true or false", value ? "true" : "false", help);
  }
  void on_choice(const char* name, std::uint32_t& index, Names names, const char* help) override {
    add(name, fmt::format("{}", fmt::join(names, " or ")), index < names.size() ? names[index] : "none", help);
  }
  void on_entries(const char* name, Entries& value, const char* help) override {
    DumpWalker dump;
    dump.entries(name, value, help);
    const std::string all = dump.text();  // { name: ... }
    const std::size_t begin = all.find(": ") + 2;
    add(name, "a map with names of your choice", all.substr(begin, all.size() - begin - 2), help);
    // What an entry looks like can only be asked of one that is there.
    if (value.size() == 0 && value.add("name") != nullptr) return;
    if (value.size() == 0) return;
    HelpWalker inner(prefix_ + name + ".<name>.", found_);
    value.visit(0, inner);
  }

 private:
  void add(const char* name, std::string range, std::string value, const char* help) {
    found_.push_back({prefix_ + name, std::move(range), std::move(value), help});
  }
  std::string prefix_;
  std::vector<OptionHelp>& found_;
};

/// Shows each option to a reader first and then, with the value it has now, to somebody else.
class ThenWalker final : public Options {
 public:
  ThenWalker(Options& first, Options& then) : first_(first), then_(then) {}
  bool ok() const override { return first_.ok() && then_.ok(); }

 protected:
  void on_number(const char* name, std::uint64_t& value, std::uint64_t min, std::uint64_t max,
                 const char* help) override {
    first_.number(name, value, min, max, help);
    then_.number(name, value, min, max, help);
  }
  void on_real(const char* name, double& value, double min, double max, const char* help) override {
    first_.real(name, value, min, max, help);
    then_.real(name, value, min, max, help);
  }
  void on_flag(const char* name, bool& value, const char* help) override {
    first_.flag(name, value, help);
    then_.flag(name, value, help);
  }
  void on_choice(const char* name, std::uint32_t& index, Names names, const char* help) override {
    first_.choice(name, index, names, help);
    then_.choice(name, index, names, help);
  }
  void on_entries(const char* name, Entries& value, const char* help) override {
    first_.entries(name, value, help);
    then_.entries(name, value, help);
  }

 private:
  Options& first_;
  Options& then_;
};

}  // namespace

std::vector<OptionHelp> help_of(const std::function<void(Options&)>& walk) {
  std::vector<OptionHelp> found;
  HelpWalker walker({}, found);
  walk(walker);
  return found;
}

std::string dump_options(const std::function<void(Options&)>& walk) {
  DumpWalker walker;
  walk(walker);
  return walker.text();
}

std::string dump_options(const std::function<void(Options&)>& walk, const YamlNode& node) {
  Complaints complaints;
  YamlOptions reader(node, {}, complaints);
  DumpWalker dump;
  ThenWalker both(reader, dump);
  walk(both);
  return dump.text();
}

}  // namespace canopy
