#pragma once

#include <canopy/config/yaml_document.h>
#include <canopy/options.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy {

/// Writes the options of a walk as YAML.
class DumpOptions : public Options {
 public:
  virtual ~DumpOptions() = default;
  bool ok() const override { return true; }
  /// `{ protect_after: 2 }`, or "{}".
  std::string flow() const;

 protected:
  void on_number(const char*, std::uint64_t&, std::uint64_t, std::uint64_t, const char*) override;
  void on_real(const char*, double&, double, double, const char*) override;
  void on_flag(const char*, bool&, const char*) override;
  void on_choice(const char*, std::uint32_t&, std::span<const char* const>, const char*) override;
  void on_entries(const char*, Entries&, const char*) override;
  void on_text(const char*, const char*, std::size_t, const char*, TextTarget) override;
  void add(std::string_view name, std::string value);

  std::vector<std::pair<std::string, std::string>> written_;  ///< name and value of each option, as YAML
};

/// One option as `canopy plugins describe` prints it. An option of an entry is called `streams.<name>.row_bytes`.
struct OptionHelp {
  std::string name, range, value, help;  ///< `value` is the default; empty: it must be given
};

/// Collects the options of a walk with range, default and help.
class HelpOptions : public Options {
 public:
  HelpOptions(std::string prefix, std::vector<OptionHelp>& found) : prefix_(std::move(prefix)), found_(found) {}
  virtual ~HelpOptions() = default;
  bool ok() const override { return true; }

 protected:
  void on_number(const char*, std::uint64_t&, std::uint64_t, std::uint64_t, const char*) override;
  void on_real(const char*, double&, double, double, const char*) override;
  void on_flag(const char*, bool&, const char*) override;
  void on_choice(const char*, std::uint32_t&, std::span<const char* const>, const char*) override;
  void on_entries(const char*, Entries&, const char*) override;
  void on_text(const char*, const char*, std::size_t, const char*, TextTarget) override;
  virtual void add(std::string_view name, std::string range, std::string value, std::string_view help);

  std::string prefix_;
  std::vector<OptionHelp>& found_;
};

/// A walk over a component's options: what `CanopyComponent::options` is.
using Walk = std::function<void(Options&)>;

std::vector<OptionHelp> help_of(const Walk& walk);
std::string dump_options(const Walk& walk);
/// The options as a component has them after it read `node`.
std::string dump_options(const Walk& walk, const YamlNode& node);

/// The values that a whole number may have, for messages and help: "1..64", "at least 1".
std::string range_of(std::uint64_t min, std::uint64_t max);

}  // namespace canopy
