#pragma once

#include <history/range_figures.h>

#include <cstdint>
#include <optional>

namespace canopy::inspector {

struct Timeline;
struct Selection;

/// The figures of the whole time and of the selected range, for every panel: of all namespaces, or of the selected one.
class Figured {
 public:
  /// Computes them again if the past, the range or the namespace has changed. A long past of a live feed is summed a
  /// few times a second.
  void update(const Timeline& time, const Selection& selection);

  const RangeFigures& whole() const { return whole_; }
  /// Returns the figures of the selected range; those of the whole time if none is selected.
  const RangeFigures& range() const { return has_range_ ? range_ : whole_; }
  bool has_range() const { return has_range_; }
  /// Figures of all namespaces in the range, whichever is selected: rows of a table.
  const RangeFigures& all_tenants() const { return tenant_ ? (has_range_ ? all_range_ : all_whole_) : range(); }
  const RangeFigures& whole_tenants() const { return tenant_ ? all_whole_ : whole_; }
  std::optional<std::uint32_t> tenant() const { return tenant_; }  ///< row of the selected namespace
  std::uint64_t version() const { return version_; }               ///< changes with each computation

 private:
  std::uint64_t commits_ = 0, version_ = 0;
  double computed_at_ = 0;  ///< seconds of ImGui's clock
  CommitRange of_;
  const History* detail_ = nullptr;
  std::optional<std::uint32_t> tenant_;
  bool has_range_ = false;
  RangeFigures whole_, range_, all_whole_, all_range_;
};

}  // namespace canopy::inspector
