#pragma once

#include <canopy/base/components.h>
#include <canopy/base/yaml_document.h>
#include <canopy/options.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy {

/// Error messages about the user's input: `file:line:column: ...`.
using Complaints = std::vector<std::string>;
/// Adds "file:line:column: sentence". `sentence` may contain any bytes; they are made printable.
void complain(const Mark& mark, std::string_view sentence, Complaints& complaints);

/// Reads a whole number: decimal digits, which may be grouped with `_`, and an optional suffix: k or K, M, G (powers of
/// 1000) or Ki, Mi, Gi (of 1024). A number of bytes may end in B, bytes per second must end in B/s, and a time ends in
/// ps, ns, us, ms or s. With a suffix, a fraction is allowed if the value is whole: `1.4M`. Returns nothing, and adds a
/// complaint about `name`, if the value is anything else or out of range.
std::optional<std::uint64_t> read_number(const YamlNode& value, std::string_view name, std::uint64_t min,
                                         std::uint64_t max, std::string_view help, Complaints& complaints,
                                         Unit unit = Unit::none);

/// Reads `true` or `false`. Returns nothing, and adds a complaint about `name`, if the value is anything else.
std::optional<bool> read_flag(const YamlNode& value, std::string_view name, std::string_view help,
                              Complaints& complaints);

/// Reads options from a map. Adds complaints about wrong types, values out of range, and unknown keys, with the nearest
/// known name. `node` may also be a YAML null (all defaults) or a scalar (the value of the first option).
class YamlOptions final : public Options {
 public:
  /// `owner`: owner of the options in messages, "slru" in "slru.protect_after = 0 is outside 1..64 (...)". `components`
  /// may be null (no option is a component). REQUIRES: `node`, `complaints` and `components` outlive the walker.
  YamlOptions(const YamlNode& node, std::string owner, Complaints& complaints, const Components* components = nullptr);
  ~YamlOptions();

  /// Marks the options as those of a whole file: in messages their names then have no owner.
  void of_file() { is_file_ = true; }
  /// Adds complaints about keys that the walk did not name, and sorts all complaints into the order of the file.
  /// REQUIRES: the walk is over; called once.
  void finish();
  bool ok() const override;

  void on_number(const char*, std::uint64_t&, const NumberRange&, const char*) override;
  void on_real(const char*, double&, double, double, const char*) override;
  void on_flag(const char*, bool&, const char*) override;
  void on_choice(const char*, std::uint32_t&, std::span<const char* const>, const char*) override;
  void on_entries(const char*, Entries&, const char*) override;
  void on_text(const char*, const char*, std::size_t, const char*, TextTarget) override;
  void on_variant(const char*, std::uint32_t&, std::span<const char* const>, bool, const char*, const Part&) override;
  void on_section(const char*, bool, const char*, const Part&) override;
  void on_component(const char*, Component&, const char*, const char*) override;
  void on_required(const char*, const char*) override;
  void on_rule(const char*) override;

 private:
  /// Returns an option's name in messages.
  std::string called(const std::string& name) const { return is_file_ || owner_.empty() ? name : owner_ + "." + name; }
  /// Returns the value of an option, and marks its name as known. May be null (the file does not set it).
  const YamlNode* take(const char* name);
  void complain(const Mark& mark, const std::string& sentence);
  /// Assigns the complaints since the last call to an entry of the map.
  void complained_of(std::size_t entry);
  /// Assigns them to the entry that take() found last.
  void done() { complained_of(taken_); }
  bool choose(const YamlNode& word, const char* name, std::uint32_t& index, std::span<const char* const> names,
              const char* help);
  void read_component(const YamlNode& given, const std::string& name, Component& value);
  template <class Visit>
  void inside(const YamlNode& node, std::string owner, Visit&& visit) {
    YamlOptions inner(node, std::move(owner), complaints_, components_);
    visit(inner);
    inner.finish();
  }

  const YamlNode& node_;
  std::string owner_;
  bool is_file_ = false;
  Complaints& complaints_;
  const Components* components_;
  std::size_t complaints_before_;
  std::size_t taken_ = 0;            ///< entry of the map that take() found last
  std::vector<std::size_t> origin_;  ///< entry of the map for each complaint
  std::vector<std::string> known_;
};

}  // namespace canopy
