#include <canopy/config/option_walkers.h>
#include <canopy/config/yaml_options.h>
#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace canopy {
namespace {

using Names = std::span<const char* const>;

/// Passes each option to a reader first and then, with the value it has now, to a second walker.
class ThenOptions final : public Options {
 public:
  ThenOptions(Options& first, Options& then) : first_(first), then_(then) {}
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
  void on_text(const char* name, const char* value, std::size_t longest, const char* help, TextTarget target) override {
    std::string now = value;
    first_.text(name, now, longest, help);
    then_.text(name, now, longest, help);
    target.put(target.to, now.c_str());
  }

 private:
  Options& first_;
  Options& then_;
};

}  // namespace

std::string DumpOptions::flow() const {
  std::string text;
  for (const auto& [name, value] : written_) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, value);
  return text.empty() ? "{}" : "{ " + text + " }";
}

void DumpOptions::on_number(const char* name, std::uint64_t& value, std::uint64_t, std::uint64_t, const char*) {
  add(name, std::to_string(value));
}
void DumpOptions::on_real(const char* name, double& value, double, double, const char*) {
  add(name, fmt::format("{}", value));
}
void DumpOptions::on_flag(const char* name, bool& value, const char*) { add(name, value ? "true" : "false"); }
void DumpOptions::on_choice(const char* name, std::uint32_t& index, Names names, const char*) {
  if (index < names.size()) add(name, to_yaml(names[index]));
}
void DumpOptions::on_entries(const char* name, Entries& value, const char*) {
  DumpOptions all;
  for (std::size_t i = 0; i < value.size(); ++i) {
    DumpOptions one;
    value.visit(i, one);
    all.add(value.key(i), one.flow());
  }
  add(name, all.flow());
}
void DumpOptions::on_text(const char* name, const char* value, std::size_t, const char*, TextTarget) {
  add(name, to_yaml(value));
}
void DumpOptions::add(std::string_view name, std::string value) {
  written_.emplace_back(to_yaml(name), std::move(value));
}

void HelpOptions::on_number(const char* name, std::uint64_t& value, std::uint64_t min, std::uint64_t max,
                            const char* help) {
  add(name, range_of(min, max), std::to_string(value), help);
}
void HelpOptions::on_real(const char* name, double& value, double min, double max, const char* help) {
  add(name, fmt::format("{}..{}", min, max), fmt::format("{}", value), help);
}
void HelpOptions::on_flag(const char* name, bool& value, const char* help) {
  add(name, "true or false", value ? "true" : "false", help);
}
void HelpOptions::on_choice(const char* name, std::uint32_t& index, Names names, const char* help) {
  add(name, fmt::format("{}", fmt::join(names, " or ")), index < names.size() ? names[index] : "none", help);
}
void HelpOptions::on_entries(const char* name, Entries& value, const char* help) {
  const std::string text = dump_options([&](Options& o) { o.entries(name, value, help); });  // { name: ... }
  const std::size_t begin = text.find(": ") + 2;
  add(name, "a map with names of your choice", text.substr(begin, text.size() - begin - 2), help);
  // An entry can only be described if there is one.
  if (value.size() == 0 && value.add("name") != nullptr) return;
  if (value.size() == 0) return;
  HelpOptions inner(prefix_ + name + ".<name>.", found_);
  value.visit(0, inner);
}
void HelpOptions::on_text(const char* name, const char* value, std::size_t longest, const char* help, TextTarget) {
  add(name, fmt::format("text of at most {} bytes", longest), to_yaml(value), help);
}
void HelpOptions::add(std::string_view name, std::string range, std::string value, std::string_view help) {
  found_.push_back({prefix_ + std::string(name), std::move(range), std::move(value), std::string(help)});
}

std::vector<OptionHelp> help_of(const Walk& walk) {
  std::vector<OptionHelp> found;
  HelpOptions walker({}, found);
  walk(walker);
  return found;
}

std::string dump_options(const Walk& walk) {
  DumpOptions walker;
  walk(walker);
  return walker.flow();
}

std::string dump_options(const Walk& walk, const YamlNode& node) {
  Complaints complaints;
  YamlOptions reader(node, {}, complaints);
  DumpOptions dump;
  ThenOptions both(reader, dump);
  walk(both);
  return dump.flow();
}

}  // namespace canopy
