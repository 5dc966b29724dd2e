#include "events_tab.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <vector>

#include "draw.h"
#include "names.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

const char* operation_word(Operation operation) {
  switch (operation) {
    case Operation::begin:
      return "match";
    case Operation::reserve:
      return "reserve";
    case Operation::advance:
      return "advance";
    case Operation::evict:
      return "evict";
    case Operation::insert:
      return "insert";
    case Operation::release:
      return "release";
    case Operation::flush:
      return "flush";
    case Operation::policy:
      return "policy";
    case Operation::resize:
      return "resize";
    case Operation::retract:
      return "retracted";
    case Operation::control:
      return "control";
    case Operation::none:
      break;
  }
  return "keyframe";
}

bool is_change(const LogLine& line) {
  return line.added || line.split || line.removed || line.tombstones || line.operation == Operation::begin ||
         line.operation == Operation::flush || line.operation == Operation::policy ||
         line.operation == Operation::resize || line.operation == Operation::retract ||
         line.operation == Operation::control;
}

}  // namespace

std::string sentence_of(const LogLine& line) {
  std::string words = operation_word(line.operation);
  if (line.request) words += fmt::format(" req {}", line.request);
  if (line.added) words += fmt::format(", {} added", plural(line.added, "node"));
  if (line.split) words += fmt::format(", {} split", grouped(line.split));
  if (line.removed) words += fmt::format(", {} evicted", plural(line.removed, "node"));
  if (line.tombstones) words += fmt::format(", {} made", plural(line.tombstones, "tombstone"));
  if (line.tokens) words += fmt::format(", {}", plural(line.tokens, "token"));
  if (line.node) words += " " + node_name(line.node);
  return words;
}

namespace {

void draw_line(Scene& scene, const LogLine& line) {
  const bool ours =
      (line.node && line.node == scene.selection.node) || (line.request && line.request == scene.selection.request);
  if (ImGui::Selectable("##line", ours)) {
    if (const MirrorRequest* request = line.request ? scene.mirror.request(line.request) : nullptr)
      scene.selection.select_request(*request);
    if (line.node) scene.selection.select_node(line.node);
  }
  ImGui::SameLine(0, 0);
  dim(grouped(line.commit));
  ImGui::SameLine(em() * 5.5F);
  text(fitted(sentence_of(line), ImGui::GetContentRegionAvail().x),
       line.removed || line.tombstones ? palette().bad : palette().text);
}

/// What happened, the newest first.
class EventsTab final : public Panel {
 public:
  void draw(Scene& scene) override {
    if (choice("changes", !all_)) all_ = false;
    explain("Operations that changed the tree, and requests that began.");
    ImGui::SameLine(0, em() * 0.4F);
    if (choice("all operations", all_)) all_ = true;
    update(scene.mirror);
    if (rows_.empty()) return nothing_here("Nothing has happened yet.");
    ImGui::BeginChild("events");
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows_.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        ImGui::PushID(i);
        draw_line(scene, scene.mirror.log()[rows_[static_cast<std::size_t>(i)]]);
        ImGui::PopID();
      }
    ImGui::EndChild();
  }

 private:
  void update(const Mirror& mirror) {
    if (at_ == mirror.commits() && listed_all_ == all_) return;
    at_ = mirror.commits(), listed_all_ = all_;
    const auto& log = mirror.log();
    rows_.clear();
    for (std::size_t i = log.size(); i-- > 0;)
      if (all_ || is_change(log[i])) rows_.push_back(i);
  }

  bool all_ = false, listed_all_ = false;
  std::uint64_t at_ = ~std::uint64_t{0};
  std::vector<std::size_t> rows_;
};

}  // namespace

PanelInfo events_tab() {
  return {
      .title = "EVENTS",
      .row = Row::tab,
      .key = '1',
      .help = "What did each operation do, the newest first?",
      .make = make_panel<EventsTab>,
  };
}

}  // namespace canopy::inspector
