#pragma once

#include <canopy/config/yaml_document.h>
#include <canopy/options.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

/// What is wrong with what the user wrote: one sentence each, `file:line:column: ...`.
using Complaints = std::vector<std::string>;
/// Adds "file:line:column: sentence". What the sentence quotes may have any bytes: none of them reaches a terminal raw.
void complain(const Mark& mark, std::string_view sentence, Complaints& complaints);

/// A whole number: decimal digits, which may be grouped with `_`, and an optional suffix: k or K, M, G (powers of 1000)
/// or Ki, Mi, Gi (of 1024). If the value is anything else or out of range: nothing, and a complaint about `name`.
std::optional<std::uint64_t> read_number(const YamlNode& value, std::string_view name, std::uint64_t min,
                                         std::uint64_t max, std::string_view help, Complaints& complaints);

/// `true` or `false`. If the value is anything else: nothing, and a complaint about `name`.
std::optional<bool> read_flag(const YamlNode& value, std::string_view name, std::string_view help,
                              Complaints& complaints);

/// Reads a component's options from a map. Complains of wrong types, values out of range and unknown keys, with the
/// nearest known name. `node` may also be null (all defaults) or a scalar (the first option).
class YamlOptions : public Options {
 public:
  /// `owner` is the options' owner in messages: "slru" makes "slru.protect_after = 0 is outside 1..64 (...)".
  /// REQUIRES: `node` and `complaints` outlive the walker.
  YamlOptions(const YamlNode& node, std::string owner, Complaints& complaints);
  virtual ~YamlOptions();

  /// Complains of keys that the walk did not name, and sorts its complaints into the order of the file. REQUIRES: the
  /// walk is over; called once.
  void finish();
  bool ok() const override;

 protected:
  void on_number(const char*, std::uint64_t&, std::uint64_t, std::uint64_t, const char*) override;
  void on_real(const char*, double&, double, double, const char*) override;
  void on_flag(const char*, bool&, const char*) override;
  void on_choice(const char*, std::uint32_t&, std::span<const char* const>, const char*) override;
  void on_entries(const char*, Entries&, const char*) override;
  void on_text(const char*, const char*, std::size_t, const char*, TextTarget) override;

  // For derived walkers, which read more than options.
  const YamlNode& node() const { return node_; }
  const std::string& owner() const { return owner_; }
  /// What messages call an option.
  std::string called(const std::string& name) const { return owner_.empty() ? name : owner_ + "." + name; }
  /// The value of an option; null if the file has none. The name is known from now on.
  const YamlNode* take(const char* name);
  void complain(const Mark& mark, const std::string& sentence);
  /// The complaints since the last call are about this entry of the map.
  void complained_of(std::size_t entry);
  /// Those are about the option that take() returned last.
  void done() { complained_of(taken_); }
  /// "slru has no option 'x'".
  virtual std::string no_option(const std::string& name) const;

 private:
  const YamlNode& node_;
  std::string owner_;
  Complaints& complaints_;
  std::size_t complaints_before_;
  std::size_t taken_ = 0;            ///< the entry of the map that take() found last
  std::vector<std::size_t> origin_;  ///< of each complaint: the entry of the map
  std::vector<std::string> known_;
};

}  // namespace canopy
