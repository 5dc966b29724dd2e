#pragma once

#include <canopy/base/random.h>
#include <canopy/base/registry.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace canopy::check {

/// The path of a storage's folder in a file of an engine that is drawn; a temporary folder takes its place.
inline constexpr const char* kFolder = "TEMPORARY";

/// A setting of an engine or of its use, and its values. The first one is the plainest.
struct Setting {
  std::string name;
  std::vector<std::string> values;
};

/// Returns the table of settings. Components and their choices come from the registry, choices of an engine's file from
/// its description. Only components of plugin files are listed, and `wild`; none that needs a device or a server.
std::vector<Setting> settings_of(const Registry& registry);

/// A value for each setting, by its number.
using Combination = std::vector<std::uint8_t>;

/// Settings, by number, with values that no engine has together.
struct Refused {
  std::vector<std::pair<std::size_t, std::uint8_t>> what;
  std::string why;          ///< the engine's sentence; empty: it follows from others
  std::uint64_t count = 0;  ///< rows that were refused for it
};

/// Draws rows so that every triple of values is soon in one of them: each row is built around a triple that was not
/// drawn, and each further setting takes the value that brings most such triples. When all are drawn it begins again.
///
/// A row that is refused is cut down to the values without one of which it is not, or for another reason, whatever the
/// other values are. From then on no row has them together, and triples that contain them are not asked for. This also
/// holds where several refusals leave a setting no value.
///
/// The rows follow from the seed, the table and what is refused.
class Draw {
 public:
  /// Returns the sentence with which a row is refused; empty: it is not. `seed`: for what the row leaves open.
  using Refuses = std::function<std::string(const Combination&, std::uint64_t seed)>;
  Draw(std::uint64_t seed, std::vector<Setting> settings, Refuses refuses);

  const Combination& next();
  /// Return the last row and its seed.
  const Combination& row() const { return row_; }
  std::uint64_t seed() const { return row_seed_; }
  /// Counts the triples of a row as drawn in the figures below.
  void drawn(const Combination& row);

  const std::vector<Setting>& settings() const { return settings_; }
  std::span<const Refused> refused() const { return refused_; }
  std::uint64_t triples() const { return triples_.size(); }
  std::uint64_t excluded() const;
  /// Returns the triples that are neither drawn nor excluded, as text.
  std::vector<std::string> undrawn() const;
  /// Returns true if every triple is in a row that next() has returned.
  bool complete() const { return passes_ > 0; }
  std::string text_of(const Refused& refused) const;

 private:
  enum : std::uint8_t { kIsExcluded = 1, kIsPlanned = 2, kIsDrawn = 4 };
  static constexpr std::uint8_t kNone = 255;

  std::size_t triple(std::size_t a, std::size_t b, std::size_t c, const Combination& row) const;
  template <class Visit>
  void each_triple(Visit&& visit) const;
  template <class Visit>
  void each_triple_of(const Combination& row, Visit&& visit) const;
  bool find_target(Combination& row);
  bool fill(Combination& row);
  const Refused* conflict(const Combination& row, std::size_t setting, std::uint8_t value) const;
  void learn(Refused refused);
  Refused cause_of(Combination row, std::uint64_t seed, const std::string& why, bool strictly) const;
  void refused_row(const Combination& row, std::uint64_t seed, const std::string& why);

  std::vector<Setting> settings_;
  Refuses refuses_;
  Random random_;
  std::vector<std::uint32_t> first_;  ///< first triple of each pair of settings with a third one
  std::vector<std::uint8_t> triples_;
  std::vector<Refused> refused_;
  std::size_t next_ = 0;  ///< place at which the search for a triple goes on
  std::uint64_t passes_ = 0, row_seed_ = 0;
  Combination row_;
};

}  // namespace canopy::check
