#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/names.h>

#include <vector>

#include "draw.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

/// Returns the changes of a node in words: "cut, now locked".
std::string what_changed(const NodeThen& before, const NodeThen& after) {
  std::string words;
  const auto add = [&](const char* word) { words += words.empty() ? word : fmt::format(", {}", word); };
  if (before.length != after.length) add("cut");
  if (before.first_page != after.first_page) add("other pages");
  if (before.held != after.held) add(after.held ? "now locked" : "no longer locked");
  return words;
}

/// One of the three lists.
struct List {
  const char *sign, *verb;
  const std::vector<std::uint64_t>& ids;
  const Mirror::Moment& nodes;   ///< the moment that contains all of them
  const Mirror::Moment* before;  ///< the earlier moment, to name the changes; null: the line shows the tokens
  std::uint64_t tokens;
  ImU32 colour;
};

void draw_list(Scene& scene, const List& list) {
  constexpr std::size_t kShown = 200;
  ImGui::TableNextColumn();
  text(fmt::format("{} {} {}", list.sign, plural(list.ids.size(), "node"), list.verb), list.colour);
  dim(plural(list.tokens, "token"));
  for (std::size_t i = 0; i < list.ids.size() && i < kShown; ++i) {
    const std::uint64_t id = list.ids[i];
    const NodeThen& node = list.nodes.at(id);
    const std::string words =
        fmt::format("{} {}  {}", list.sign, node_name(id),
                    list.before ? what_changed(list.before->at(id), node) : plural(node.length, "token"));
    ImGui::PushStyleColor(ImGuiCol_Text, scene.mirror.find(id) ? palette().text : palette().dim);
    if (ImGui::Selectable(words.c_str(), id == scene.selection.node)) scene.selection.select_node(id);
    ImGui::PopStyleColor();
  }
  if (list.ids.size() > kShown) dim(fmt::format("  and {} more", grouped(list.ids.size() - kShown)));
}

class CompareTab final : public Panel {
 public:
  void draw(Scene& scene) override {
    Timeline& time = scene.time;
    // A small window has no room for these buttons in the time bar.
    if (button("A: this moment")) time.remember(scene.pools, true);
    explain("Remembers the moment that is shown, to compare it with B.");
    ImGui::SameLine(0, em() * 0.5F);
    if (button("B: this moment")) time.remember(scene.pools, false);
    explain("Remembers the moment that is shown, to compare it with A.");
    if (time.a == 0 || time.b == 0)
      return nothing_here(time.a == 0
                              ? "Press A to remember this moment, then B at another one. The nodes that were added, "
                                "evicted or changed between the two are then listed here."
                              : "A is set. Press B at another moment to compare the two.");
    ImGui::BeginChild("compare");
    const Difference& difference = time.difference;
    const Palette& colours = palette();
    text(fmt::format("A: commit {}    B: commit {}", grouped(time.a), grouped(time.b)));
    // Draws the lists side by side, so that no list hides another.
    if (ImGui::BeginTable("all", 3)) {
      draw_list(scene, {"+", "added", difference.added, time.moment_b, nullptr, difference.added_tokens, colours.good});
      draw_list(scene,
                {"-", "evicted", difference.evicted, time.moment_a, nullptr, difference.evicted_tokens, colours.bad});
      draw_list(scene, {"~", "changed", difference.changed, time.moment_b, &time.moment_a, difference.changed_tokens,
                        colours.text});
      ImGui::EndTable();
    }
    ImGui::EndChild();
  }
};

}  // namespace

PanelInfo compare_tab() {
  return {
      .title = "COMPARE",
      .row = Row::page,
      .key = '5',
      .help = "Which nodes were added, evicted or changed between two moments, A and B?",
      .make = make_panel<CompareTab>,
  };
}

}  // namespace canopy::inspector
