#include "events_tab.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/names.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "draw.h"
#include "held_list.h"
#include "inputs.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

bool is_change(const LogLine& line) {
  return line.added || line.split || line.removed || line.tombstones || line.operation == Operation::begin ||
         line.is_transfer() || line.operation == Operation::flush || line.operation == Operation::policy ||
         line.operation == Operation::resize || line.operation == Operation::retract ||
         line.operation == Operation::control;
}

}  // namespace

std::string sentence_of(const LogLine& line) {
  std::string words = line.operation == Operation::none ? "keyframe" : name_of(line.operation);
  if (line.request) words += fmt::format(" {} {}", line.fetch ? "fetch" : "req", line.request);
  if (line.added) words += fmt::format(", {} added", plural(line.added, "node"));
  if (line.split) words += fmt::format(", {} split", grouped(line.split));
  if (line.removed) words += fmt::format(", {} evicted", plural(line.removed, "node"));
  if (line.tombstones) words += fmt::format(", {} made", plural(line.tombstones, "tombstone"));
  if (line.tokens) words += fmt::format(", {}", plural(line.tokens, "token"));
  if (line.node) words += " " + node_name(line.node);
  if (line.copied_below) words += fmt::format(", {} came to the host", plural(line.copied_below, "token"));
  if (line.evicted_below) words += fmt::format(", {} left it", plural(line.evicted_below, "token"));
  return words;
}

namespace {

/// Draws a line. Returns true if it was clicked.
bool draw_line(Scene& scene, const LogLine& line) {
  const bool ours =
      (line.node && line.node == scene.selection.node) || (line.request && line.request == scene.selection.request);
  const bool clicked = ImGui::Selectable("##line", ours);
  if (clicked) {
    if (const MirrorRequest* request = line.request ? scene.mirror.request(line.request) : nullptr)
      scene.selection.select_request(*request);
    if (line.node) scene.selection.select_node(line.node);
  }
  ImGui::SameLine(0, 0);
  dim(grouped(line.commit));
  ImGui::SameLine(em() * 5.5F);
  text(fitted(sentence_of(line), ImGui::GetContentRegionAvail().x),
       line.removed || line.tombstones ? palette().bad : palette().text);
  return clicked;
}

/// The operations, newest first.
class EventsTab final : public Panel {
 public:
  void draw(Scene& scene) override {
    if (choice("changes", !all_)) all_ = false;
    explain("Operations that changed the tree, and requests that began.");
    ImGui::SameLine(0, em() * 0.4F);
    if (choice("all operations", all_)) all_ = true;
    ImGui::SameLine(0, em() * 0.8F);
    ImGui::SetNextItemWidth(std::max(em() * 3, std::min(em() * 9, ImGui::GetContentRegionAvail().x - em() * 6)));
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ImGui::GetStyle().FramePadding.x, 0});
    ImGui::InputTextWithHint("##find", "#12, r 4711, evict", find_.data(), find_.size());
    ImGui::PopStyleVar();
    explain(
        "Shows only lines about a node (#12, also among other nodes), about a request (r 4711), about the tier below "
        "(transfer), or with these words.");
    list(scene);
    held_.draw_new(new_);
    if (rows_.empty() && find_[0] == 0 && !scene.time.range.empty())
      return nothing_here(
          fmt::format("None of the last {} is in the range. In a recording, click into the range to go there.",
                      plural(scene.mirror.log().size(), "operation")));
    if (rows_.empty())
      return nothing_here(find_[0] == 0 ? "Nothing has happened yet."
                                        : fmt::format("Nothing about '{}' in the last {}.", find_.data(),
                                                      plural(scene.mirror.log().size(), "operation")));
    ImGui::BeginChild("events");
    held_.look();
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows_.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        ImGui::PushID(i);
        if (draw_line(scene, rows_[static_cast<std::size_t>(i)]))
          node_ = scene.selection.node, request_ = scene.selection.request, picked_ = true;
        ImGui::PopID();
      }
    ImGui::EndChild();
  }

 private:
  void list(const Scene& scene) {
    const Mirror& mirror = scene.mirror;
    picked_ = picked_ && node_ == scene.selection.node && request_ == scene.selection.request;
    const CommitRange range = scene.time.range;
    const std::optional<NamespaceId> space = scene.selection.space;
    const bool same = !filter_.changed(all_, find_.data(), range, space);
    if (!listed_.changed(mirror.commits()) && same && new_ == 0) return;
    const bool holds = same && !rows_.empty() && held_.holds(scene.moves(), picked_);
    new_ = 0;
    const std::uint64_t last = holds ? rows_.front().commit : 0;
    if (!holds) rows_.clear(), held_.listed();
    const Wanted wanted = wanted_of(mirror);
    const auto& log = mirror.log();
    for (std::size_t i = log.size(); i-- > 0;) {
      if (holds && log[i].commit <= last) break;
      if (!(all_ || wanted.some || is_change(log[i])) || !wanted.has(log[i])) continue;
      if (!range.empty() && !range.has(log[i].commit)) continue;
      if (space && !is_of(mirror, log[i], *space)) continue;
      if (holds) ++new_;
      else rows_.push_back(log[i]);
    }
  }

  /// Returns true if the line's request or node is of a namespace, as far as it is still known.
  static bool is_of(const Mirror& mirror, const LogLine& line, NamespaceId space) {
    if (const MirrorRequest* request = line.request ? mirror.request(line.request) : nullptr)
      return request->space == space;
    const MirrorNode* node = line.node ? mirror.find(line.node) : nullptr;
    return node && node->space == space;
  }

  /// The filter in the text field.
  struct Wanted {
    bool some = false;  ///< true for one node or request
    std::uint64_t request = 0;
    std::unordered_set<std::uint64_t> commits;  ///< commits that changed the node
    std::string words;
    bool transfers = false;  ///< true for lines about transfers between the pools and the tier below
    bool has(const LogLine& line) const {
      if (transfers) return line.is_transfer();
      if (request != 0) return line.request == request;
      if (some) return commits.contains(line.commit);
      return words.empty() || sentence_of(line).find(words) != std::string::npos;
    }
  };
  Wanted wanted_of(const Mirror& mirror) const {
    Wanted wanted;
    const std::string_view text = find_.data();
    std::uint32_t slot = 0, life = 0;
    if (parse_request_name(text, wanted.request)) {
      wanted.some = true;
    } else if (text.starts_with('#') && parse_node_name(text, slot, life)) {
      wanted.some = true;
      const auto is_it = [&](std::uint64_t id) {
        return id != 0 && slot_of(NodeId{id}) == slot && (life == 0 || life_of(id) == life);
      };
      for (const NodeMoment& moment : mirror.moments())
        if (is_it(moment.node)) wanted.commits.insert(moment.commit);
      for (const LogLine& line : mirror.log())
        if (is_it(line.node)) wanted.commits.insert(line.commit);
    } else if (text == "transfer") {
      wanted.transfers = true;
    } else {
      wanted.words = text;
    }
    return wanted;
  }

  bool all_ = false;
  std::array<char, 64> find_{};
  Inputs<bool, std::string, CommitRange, std::optional<NamespaceId>> filter_;
  Inputs<std::uint64_t> listed_;
  std::vector<LogLine> rows_;
  std::size_t new_ = 0;  ///< number of lines that arrived while the list holds still
  HeldList held_;
  bool picked_ = false;  ///< true if the selection was made in this list
  std::uint64_t node_ = 0, request_ = 0;
};

}  // namespace

PanelInfo events_tab() {
  return {
      .title = "EVENTS",
      .row = Row::tab,
      .key = '1',
      .help = "What did each operation do (newest first)?",
      .make = make_panel<EventsTab>,
      .figures = FiguresOf::listed,
  };
}

}  // namespace canopy::inspector
