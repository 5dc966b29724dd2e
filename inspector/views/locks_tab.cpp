#include <account/tables.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <account/listings.h>
#include <mirror/listings.h>
#include <mirror/names.h>

#include <vector>

#include "draw.h"
#include "export_button.h"
#include "health.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

/// The locks, oldest first, with their owners. A lock that no request explains was perhaps never released.
class LocksTab final : public Panel {
 public:
  void draw(Scene& scene) override {
    const Mirror& mirror = scene.mirror;
    if (scene.pool().reach != kWholePath)
      return nothing_here("Locks of this group are reported without their owners. Press g for a group of whole paths.");
    list(scene);
    if (rows_.empty()) return nothing_here("Nothing is locked at this moment.");
    dim(plural(rows_.size(), "lock"));
    export_button(scene, "CSV", "canopy-locks.csv", "the locks of this moment",
                  [&] { return listing::csv_of(locks_listing(mirror), held_locks(mirror, group_)); });
    const auto left = [] {
      ImGui::SameLine(0, em());
      return ImGui::GetContentRegionAvail().x;
    };
    if (unexplained_ > 0) {
      text(fitted(fmt::format("{} that no request explains", grouped(unexplained_)), left()), palette().bad);
      explain("Such a lock was perhaps never released: its pages stay protected for ever.");
    }
    if (old_ > 0) {
      const std::string words = fmt::format("{} older than 99 % of requests took", grouped(old_));
      text(fitted(words, left()), palette().warn);
      explain(words);
    }
    draw_table(scene, mirror);
  }

 private:
  void list(const Scene& scene) {
    const Mirror& mirror = scene.mirror;
    if (at_ == mirror.commits() && group_ == scene.selection.group && space_ == scene.selection.space) return;
    at_ = mirror.commits(), group_ = scene.selection.group, space_ = scene.selection.space;
    rows_ = held_locks(mirror, group_);
    if (space_) std::erase_if(rows_, [&](const HeldLock& lock) { return lock.space != *space_; });
    p99_us_ = health_of(mirror).p99_us;
    unexplained_ = old_ = 0;
    for (const HeldLock& lock : rows_) {
      unexplained_ += lock.owner == HeldLock::Owner::unexplained;
      old_ += is_old(mirror, lock, p99_us_);
    }
  }

  void draw_table(Scene& scene, const Mirror& mirror) {
    constexpr ImGuiTableFlags kFlags =
        ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
    const float room = ImGui::GetContentRegionAvail().x;
    if (!ImGui::BeginTable("locks", 6, kFlags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    const auto fixed = [&](float width, bool shown) {
      ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed | (shown ? 0 : ImGuiTableColumnFlags_Disabled),
                              em() * width);
    };
    fixed(5, true);
    fixed(5, room > em() * 40);
    ImGui::TableSetupColumn("");
    fixed(5.5F, room > em() * 34);
    fixed(4.8F, true);
    fixed(4.2F, true);
    column_heads({{"age", true}, {"commits", true}, {"owner"}, {"tenant"}, {"node"}, {"tokens", true}});
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows_.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        ImGui::PushID(i);
        draw_row(scene, mirror, rows_[static_cast<std::size_t>(i)]);
        ImGui::PopID();
      }
    ImGui::EndTable();
  }

  void draw_row(Scene& scene, const Mirror& mirror, const HeldLock& lock) const {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    const bool chosen = lock.request ? lock.request == scene.selection.request : lock.node == scene.selection.node;
    if (ImGui::Selectable("##row", chosen, ImGuiSelectableFlags_SpanAllColumns)) {
      if (const MirrorRequest* request = lock.request ? mirror.request(lock.request) : nullptr)
        scene.selection.select_request(*request);
      scene.selection.select_node(lock.node);
    }
    ImGui::SameLine(0, 0);
    number(lock.since_us == 0 ? "-" : duration(static_cast<double>(mirror.us() - lock.since_us) / 1e6));
    ImGui::TableNextColumn();
    number(lock.since_commit == 0 ? "-" : grouped(mirror.commits() - lock.since_commit));
    ImGui::TableNextColumn();
    const auto [words, colour] = owner_of(mirror, lock);
    text(fitted(words, ImGui::GetContentRegionAvail().x), colour);
    ImGui::TableNextColumn();
    dim(fitted(space_name(mirror, lock.space), ImGui::GetContentRegionAvail().x));
    ImGui::TableNextColumn();
    text(node_name(lock.node));
    ImGui::TableNextColumn();
    number(grouped(lock.tokens));
  }

  std::pair<std::string, ImU32> owner_of(const Mirror& mirror, const HeldLock& lock) const {
    const std::string more = lock.locks > 1 ? fmt::format(" ({} locks)", lock.locks) : "";
    switch (lock.owner) {
      case HeldLock::Owner::request: {
        const MirrorRequest* request = mirror.request(lock.request);
        return {fmt::format("req {} {}", lock.request, request ? phase_word(*request) : ""),
                is_old(mirror, lock, p99_us_) ? palette().warn : palette().text};
      }
      case HeldLock::Owner::fetch:
        return {fmt::format("fetch {}", lock.request), palette().text};
      case HeldLock::Owner::pin:
        return {"pinned by hand", palette().accent};
      case HeldLock::Owner::unexplained:
        break;
    }
    return {"no request" + more, palette().bad};
  }

  std::uint64_t at_ = ~std::uint64_t{0};
  std::size_t group_ = 0, unexplained_ = 0, old_ = 0;
  std::optional<NamespaceId> space_;
  double p99_us_ = -1;
  std::vector<HeldLock> rows_;
};

}  // namespace

PanelInfo locks_tab() {
  return {
      .title = "LOCKS",
      .row = Row::tab,
      .key = '9',
      .help = "What is locked, for how long, by which request, and what does no request explain?",
      .make = make_panel<LocksTab>,
      .not_in_events = "Not known: KV events do not report locks.",
      .needs_nodes = true,
  };
}

}  // namespace canopy::inspector
