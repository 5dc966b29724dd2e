#pragma once

#include <canopy/options.h>
#include <canopy/yaml_document.h>

#include <functional>
#include <string>
#include <vector>

namespace canopy {

/// What is wrong with what the user wrote: one sentence each, `file:line:column: ...`.
using Complaints = std::vector<std::string>;

/// Reads a component's options from a map: ranges, types, unknown keys with the nearest known name. `node` may
/// be null (all defaults) or a scalar (the first option). What is wrong is added to `complaints`.
class YamlOptions final : public Options {
 public:
  /// `owner` is what messages call the options' owner: "slru" makes "slru.protect_after = 0 is outside 1..64 (...)".
  YamlOptions(const YamlNode& node, std::string owner, Complaints& complaints);
  ~YamlOptions();

  /// Complains of keys that nobody asked for. Call it once, after the walk.
  void finish();
  bool ok() const override;

 protected:
  void on_number(const char*, std::uint64_t&, std::uint64_t, std::uint64_t, const char*) override;
  void on_real(const char*, double&, double, double, const char*) override;
  void on_flag(const char*, bool&, const char*) override;
  void on_choice(const char*, std::uint32_t&, std::span<const char* const>, const char*) override;
  void on_entries(const char*, Entries&, const char*) override;

 private:
  const YamlNode* take(const char* name);

  const YamlNode& node_;
  std::string owner_;
  Complaints& complaints_;
  std::size_t complaints_before_;
  std::vector<std::string> known_;
};

/// One option, for people: what `canopy plugins describe` prints a line of.
struct OptionHelp {
  std::string name, range, value, help;  ///< `value` is the default
};
std::vector<OptionHelp> help_of(const std::function<void(Options&)>& walk);

/// The options as YAML flow text, `{ protect_after: 2 }`, or "{}".
std::string dump_options(const std::function<void(Options&)>& walk);

}  // namespace canopy
