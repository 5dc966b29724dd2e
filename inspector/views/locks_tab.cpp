#include <account/listings.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/listings.h>
#include <mirror/names.h>

#include <vector>

#include "export_button.h"
#include "health.h"
#include "inputs.h"
#include "list_table.h"
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
                  [&] { return listing::csv_of(locks_listing(mirror), held_locks(mirror, scene.selection.group)); });
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
    const std::optional<NamespaceId> space = scene.selection.space;
    if (!listed_.changed(mirror.commits(), scene.selection.group, space)) return;
    rows_ = held_locks(mirror, scene.selection.group);
    if (space) std::erase_if(rows_, [&](const HeldLock& lock) { return lock.space != *space; });
    p99_us_ = health_of(mirror).p99_us;
    unexplained_ = old_ = 0;
    for (const HeldLock& lock : rows_) {
      unexplained_ += lock.owner == HeldLock::Owner::unexplained;
      old_ += is_old(mirror, lock, p99_us_);
    }
  }

  void draw_table(Scene& scene, const Mirror& mirror) const {
    ListTable<HeldLock>{
        .id = "locks",
        .columns = locks_listing(mirror, p99_us_),
        .click =
            [&](const HeldLock& lock) {
              if (const MirrorRequest* request = lock.request ? mirror.request(lock.request) : nullptr)
                scene.selection.select_request(*request);
              scene.selection.select_node(lock.node);
            },
        .is_chosen =
            [&](const HeldLock& lock) {
              return lock.request ? lock.request == scene.selection.request : lock.node == scene.selection.node;
            },
    }
        .draw(rows_);
  }

  Inputs<std::uint64_t, std::size_t, std::optional<NamespaceId>> listed_;
  std::size_t unexplained_ = 0, old_ = 0;
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
      .figures = FiguresOf::moment,
      .not_in_events = "Not known: KV events do not report locks.",
      .needs_nodes = true,
  };
}

}  // namespace canopy::inspector
