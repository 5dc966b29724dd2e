#include <canopy/base/option_walkers.h>
#include <canopy/base/yaml_options.h>
#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy {
namespace {

using Names = std::span<const char* const>;

std::string braces(const std::string& text) { return text.empty() ? "{}" : "{ " + text + " }"; }

/// Writes options as YAML.
class DumpOptions final : public Options {
 public:
  /// `first`: walker that reads each option before it is written. May be null (the values of the walk are written).
  explicit DumpOptions(const Components* components, Options* first = nullptr)
      : components_(components), first_(first) {}
  bool ok() const override { return !first_ || first_->ok(); }
  std::string flow() const {
    std::string text;
    for (const Written& one : written_) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", one.name, one.value);
    return braces(text);
  }
  std::string lines() const {
    std::string text;
    for (const Written& one : written_)
      text += one.entries.empty() ? fmt::format("{}: {}\n", one.name, one.value)
                                  : fmt::format("{}:\n  {}\n", one.name, fmt::join(one.entries, "\n  "));
    return text;
  }

  void on_number(const char* name, std::uint64_t& value, const NumberRange& range, const char* help) override {
    if (first_) first_->on_number(name, value, range, help);
    if (!range.word || value != range.special) add(name, quantity(value, range.unit));
    else if (range.is_written) add(name, range.word);
  }
  void on_real(const char* name, double& value, double min, double max, const char* help) override {
    if (first_) first_->on_real(name, value, min, max, help);
    add(name, fmt::format("{}", value));
  }
  void on_flag(const char* name, bool& value, const char* help) override {
    if (first_) first_->on_flag(name, value, help);
    add(name, value ? "true" : "false");
  }
  void on_choice(const char* name, std::uint32_t& index, Names names, const char* help) override {
    if (first_) first_->on_choice(name, index, names, help);
    if (index < names.size()) add(name, to_yaml(names[index]));
  }
  void on_entries(const char* name, Entries& value, const char* help) override {
    if (first_) first_->on_entries(name, value, help);
    if (value.size() == 0) return;
    Written all{to_yaml(name), {}, {}};
    for (std::size_t i = 0; i < value.size(); ++i)
      all.entries.push_back(fmt::format("{}: {}", to_yaml(value.key(i)),
                                        dump_options([&](Options& o) { value.visit(i, o); }, components_)));
    all.value = braces(fmt::format("{}", fmt::join(all.entries, ", ")));
    written_.push_back(std::move(all));
  }
  void on_text(const char* name, const char* value, std::size_t longest, const char* help, TextTarget to) override {
    std::string now = value;
    if (first_) first_->on_text(name, value, longest, help, target(now)), to.put(to.to, now.c_str());
    if (longest > 0 || !now.empty()) add(name, to_yaml(now));
  }
  void on_variant(const char* name, std::uint32_t& index, Names names, bool always, const char* help,
                  const Part& part) override {
    if (first_) first_->on_variant(name, index, names, always, help, part);
    if (index < names.size() && (always || index > 0))
      add(name, fmt::format("{{ {}: {} }}", names[index], dump_options(part, components_)));
  }
  void on_section(const char* name, bool given, const char* help, const Part& part) override {
    if (first_) first_->on_section(name, given, help, part);
    if (given) add(name, dump_options(part, components_));
  }
  void on_component(const char* name, Component& value, const char* help, const char* otherwise) override {
    if (first_) first_->on_component(name, value, help, otherwise);
    const std::string called = value.name();
    if (called.empty()) return;
    const Walk walk = components_->options_of(value.interface(), called);
    const auto options = parse_yaml(value.options(), called);
    const std::string all = walk && options ? dump_options(walk, *options) : "{}";
    add(name, all == "{}" ? to_yaml(called) : fmt::format("{{ {}: {} }}", to_yaml(called), all));
  }

 private:
  struct Written {
    std::string name, value;           ///< both as YAML
    std::vector<std::string> entries;  ///< entries of the value
  };
  void add(std::string_view name, std::string value) { written_.push_back({to_yaml(name), std::move(value), {}}); }

  const Components* components_;
  Options* first_;
  std::vector<Written> written_;
};

/// Collects options with range, default and help.
class HelpOptions final : public Options {
 public:
  HelpOptions(std::string prefix, std::vector<OptionHelp>& found, const Components* components)
      : prefix_(std::move(prefix)), found_(found), components_(components) {}
  bool ok() const override { return true; }

  void on_number(const char* name, std::uint64_t& value, const NumberRange& range, const char* help) override {
    const std::string numbers = range_of(range.min, range.max, range.unit);
    add(name, range.is_written ? fmt::format("{} or {}", range.word, numbers) : numbers,
        range.word && value == range.special ? range.word : quantity(value, range.unit), help);
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
    const std::string text = dump_options([&](Options& o) { o.entries(name, value, help); }, components_);
    const std::size_t begin = text.find(": ") + 2;  // { name: ... }
    const std::string now = value.size() == 0 ? "{}" : text.substr(begin, text.size() - begin - 2);
    add(name, "a map with names of your choice", now, help);
    // Only an existing entry can be described.
    if (value.size() == 0 && value.add("name") != nullptr) return;
    if (value.size() > 0) inside(fmt::format("{}.<name>", name), [&](Options& o) { value.visit(0, o); });
  }
  void on_text(const char* name, const char* value, std::size_t longest, const char* help, TextTarget) override {
    if (longest > 0) return add(name, fmt::format("text of at most {} bytes", longest), to_yaml(value), help);
    add(name, "text", *value == '\0' ? "none" : value, help);
  }
  void on_variant(const char* name, std::uint32_t& index, Names names, bool, const char* help,
                  const Part& part) override {
    on_choice(name, index, names, help);
    for (index = 1; index < names.size(); ++index) inside(fmt::format("{}.{}", name, names[index]), part);
  }
  void on_section(const char* name, bool, const char* help, const Part& part) override {
    if (help) add(name, "a map", "none", help);
    inside(name, part);
  }
  void on_component(const char* name, Component& value, const char* help, const char* otherwise) override {
    auto names = components_->names(value.interface());
    if (otherwise) names.insert(names.begin(), "none");
    const std::string now = value.name();
    add(name, fmt::format("{}", fmt::join(names, " or ")), now.empty() && otherwise ? otherwise : now, help);
  }
  void on_required(const char* name, const char*) override { required_ = name; }

 private:
  void inside(std::string_view name, const Walk& walk) {
    HelpOptions inner(fmt::format("{}{}.", prefix_, name), found_, components_);
    walk(inner);
  }
  void add(std::string_view name, std::string range, std::string value, std::string_view help) {
    if (name == required_) value.clear();
    found_.push_back({prefix_ + std::string(name), std::move(range), std::move(value), std::string(help)});
  }

  std::string prefix_;
  std::vector<OptionHelp>& found_;
  const Components* components_;
  std::string required_;
};

/// Keeps the first flaw.
class CheckOptions final : public Options {
 public:
  CheckOptions(std::string prefix, std::string& flaw) : prefix_(std::move(prefix)), flaw_(flaw) {}
  bool ok() const override { return flaw_.empty(); }

  void on_number(const char* name, std::uint64_t& value, const NumberRange& range, const char* help) override {
    if ((range.word && value == range.special) || (value >= range.min && value <= range.max)) return;
    keep(fmt::format("{} = {} is outside {} ({})", name, quantity(value, range.unit),
                     range_of(range.min, range.max, range.unit), help));
  }
  void on_real(const char*, double&, double, double, const char*) override {}
  void on_flag(const char*, bool&, const char*) override {}
  void on_choice(const char*, std::uint32_t&, Names, const char*) override {}
  void on_entries(const char* name, Entries& value, const char*) override {
    for (std::size_t i = 0; i < value.size(); ++i)
      inside(fmt::format("{}.{}", name, value.key(i)), [&](Options& o) { value.visit(i, o); });
  }
  void on_text(const char*, const char*, std::size_t, const char*, TextTarget) override {}
  void on_variant(const char* name, std::uint32_t& index, Names names, bool, const char*, const Part& part) override {
    if (index < names.size()) inside(fmt::format("{}.{}", name, names[index]), part);
    else keep(fmt::format("{} is {}; expected one of {}", name, index, fmt::join(names, ", ")));
  }
  void on_section(const char* name, bool given, const char*, const Part& part) override {
    if (given) inside(name, part);
  }
  void on_component(const char*, Component&, const char*, const char*) override {}
  void on_rule(const char* flaw) override { keep(flaw); }

 private:
  void keep(const std::string& flaw) {
    if (ok() && !flaw.empty()) flaw_ = prefix_ + flaw;
  }
  void inside(std::string_view name, const Walk& walk) {
    CheckOptions inner(fmt::format("{}{}.", prefix_, name), flaw_);
    walk(inner);
  }

  std::string prefix_;
  std::string& flaw_;
};

}  // namespace

std::string dump_options(const Walk& walk, const Components* components) {
  DumpOptions walker(components);
  walk(walker);
  return walker.flow();
}

std::string dump_options(const Walk& walk, const YamlNode& node) {
  Complaints complaints;
  YamlOptions reader(node, {}, complaints);
  DumpOptions dump(nullptr, &reader);
  walk(dump);
  return dump.flow();
}

std::string dump_lines(const Walk& walk, const Components* components) {
  DumpOptions walker(components);
  walk(walker);
  return walker.lines();
}

std::vector<OptionHelp> help_of(const Walk& walk, const Components* components) {
  std::vector<OptionHelp> found;
  HelpOptions walker({}, found, components);
  walk(walker);
  return found;
}

std::string flaw_of_options(const Walk& walk) {
  std::string flaw;
  CheckOptions walker({}, flaw);
  walk(walker);
  return flaw;
}

}  // namespace canopy
