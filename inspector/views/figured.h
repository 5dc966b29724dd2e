#pragma once

#include <account/range_figures.h>

#include <cstdint>
#include <optional>

namespace canopy::inspector {

struct Timeline;
struct Selection;

/// The figures of the whole time and of the selected range, for every panel: of all namespaces, or of the selected one.
class Figured {
 public:
  /// Computes them again if the past, the range or the namespace has changed. Lists of prefixes of a live feed are
  /// summed a few times a second.
  void update(const Timeline& time, const Selection& selection);

  const RangeFigures& whole() const { return tenant_ ? whole_ : all_whole_; }
  /// Returns the figures of the selected range; those of the whole time if none is selected.
  const RangeFigures& range() const { return !has_range_ ? whole() : tenant_ ? range_ : all_range_; }
  bool has_range() const { return has_range_; }
  /// Figures of all namespaces, whichever is selected: rows of a table.
  const RangeFigures& all_tenants() const { return has_range_ ? all_range_ : all_whole_; }
  const RangeFigures& whole_tenants() const { return all_whole_; }
  std::uint64_t version() const { return version_; }  ///< changes with each computation

 private:
  std::uint64_t commits_ = 0, version_ = 0;
  double computed_at_ = 0;    ///< seconds of ImGui's clock at the latest sum of prefixes
  std::uint64_t summed_ = 0;  ///< commits at that time
  CommitRange of_;
  const History* detail_ = nullptr;
  std::optional<std::uint32_t> tenant_;
  bool has_range_ = false;
  RangeFigures whole_, range_, all_whole_, all_range_;
};

}  // namespace canopy::inspector
