#include <mirror/listings.h>

#include "list_table.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

class ServersTab final : public Panel {
 public:
  void draw(Scene& scene) override {
    const Mirror& mirror = scene.mirror;
    if (!mirror.is_from_events()) return nothing_here("The feed comes from an engine: it is not made from KV events.");
    dim(fitted(mirror.origin(), ImGui::GetContentRegionAvail().x));
    explain(mirror.origin());
    ListTable<WorkerLine>{.id = "servers", .columns = servers_listing()}.draw(servers_of(mirror));
  }
};

}  // namespace

PanelInfo servers_tab() {
  return {
      .title = "SERVERS",
      .row = Row::page,
      .key = '6',
      .help = "Which servers' KV events are shown, what do they have in common, and what is missing?",
      .make = make_panel<ServersTab>,
  };
}

}  // namespace canopy::inspector
