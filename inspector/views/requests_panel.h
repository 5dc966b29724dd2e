#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <imgui.h>

#include "held_list.h"
#include "inputs.h"
#include "panel.h"

namespace canopy::inspector {

/// The requests, newest first, and the prompt tokens that they did not find, by reason.
class RequestsPanel final : public Panel {
 public:
  void draw(Scene& scene) override;
  const std::vector<MissGroup>& groups() const { return groups_; }
  const std::vector<std::uint64_t>& rows() const { return rows_; }  ///< request ids
  /// Gets the middle, on the screen, of a reason's button. Returns false if it is not drawn.
  bool middle_of(Miss miss, ImVec2& at) const;

 private:
  /// Selects the rows of the list.
  struct Filter {
    bool running_only = false, by_reason = false;
    Miss miss{};
    std::string policy;
    std::optional<NamespaceId> space;
    CommitRange range;  ///< range in which they began; empty: any
    friend bool operator==(const Filter&, const Filter&) = default;
  };
  void list(const Scene& scene);
  bool is_listed(const MirrorRequest& request, Units page_size) const;
  void draw_filters(Scene& scene);
  void draw_reasons();
  void draw_verdict(const Scene& scene);
  void draw_table(Scene& scene);

  Filter filter_;
  Inputs<Filter> filtered_;
  Inputs<std::uint64_t> listed_;
  std::vector<std::uint64_t> rows_;
  HeldList held_;
  std::size_t new_ = 0;        ///< requests that arrived while the list holds still
  std::uint64_t counted_ = 0;  ///< requests whose misses are in groups_
  std::vector<MissGroup> groups_;
  std::vector<ImVec2> chips_;  ///< middles of the buttons of reasons, by group
};

}  // namespace canopy::inspector
