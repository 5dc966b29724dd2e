#pragma once

#include <canopy/options.h>
#include <canopy/config/yaml_document.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

/// What is wrong with what the user wrote: one sentence each, `file:line:column: ...`.
using Complaints = std::vector<std::string>;

/// A whole number: decimal digits, grouped with `_` where wanted, then maybe k, M, G (powers of 1000) or Ki, Mi,
/// Gi (of 1024). Nothing if it is something else or out of range, and then `complaints` says so about `name`.
std::optional<std::uint64_t> read_number(const YamlNode& value, std::string_view name, std::uint64_t min,
                                         std::uint64_t max, std::string_view help, Complaints& complaints);

/// `true` or `false`; nothing if it is something else, and then `complaints` says so about `name`.
std::optional<bool> read_flag(const YamlNode& value, std::string_view name, std::string_view help,
                              Complaints& complaints);

/// Reads a component's options from a map: ranges, types, unknown keys with the nearest known name. `node` may
/// be null (all defaults) or a scalar (the first option). What is wrong is added to `complaints`.
class YamlOptions final : public Options {
 public:
  /// `owner` is what messages call the options' owner: "slru" makes "slru.protect_after = 0 is outside 1..64 (...)".
  /// REQUIRES: `node` and `complaints` outlive the walker.
  YamlOptions(const YamlNode& node, std::string owner, Complaints& complaints);
  ~YamlOptions();

  /// Complains of keys that nobody asked for, and brings its complaints into the order of the file. Call it
  /// once, after the walk.
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
  std::string called(const char* name) const { return owner_ + "." + name; }
  void complain(const YamlNode& about, const std::string& sentence);
  /// The complaints since the last call are about the entry number `entry` of the map.
  void came_from(std::size_t entry);

  const YamlNode& node_;
  std::string owner_;
  Complaints& complaints_;
  std::size_t complaints_before_;
  std::size_t taken_ = 0;            ///< the entry of the map that take() found last
  std::vector<std::size_t> origin_;  ///< of each complaint: the entry of the map
  std::vector<std::string> known_;
};

/// One option, for people: what `canopy plugins describe` prints a line of. Options of an entry are called
/// `streams.<name>.row_bytes`.
struct OptionHelp {
  std::string name, range, value, help;  ///< `value` is the default
};
std::vector<OptionHelp> help_of(const std::function<void(Options&)>& walk);

/// The options as YAML flow text, `{ protect_after: 2 }`, or "{}".
std::string dump_options(const std::function<void(Options&)>& walk);

/// The options as a component would have them after reading `node`: its walk, with every value the file gives.
std::string dump_options(const std::function<void(Options&)>& walk, const YamlNode& node);

}  // namespace canopy
