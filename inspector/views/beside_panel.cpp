#include <account/listings.h>
#include <account/two_pasts.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "inputs.h"
#include "list_table.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

double rate_of(const Counts& counts) { return listing::figure_of(hit_rate(counts)).value_or(-1); }

std::string in_words(const listing::Value& value) { return in_brief(value, listing::Unit::count); }

/// Two recordings on one axis: what the second does otherwise.
class BesidePanel final : public Panel {
 public:
  std::string note(const Scene& scene) const override {
    return scene.time.other ? scene.session.name + "  and  " + scene.time.other->name : "";
  }

  void draw(Scene& scene) override {
    if (!scene.time.other)
      return nothing_here(
          "There is no second recording. Start the inspector with one:\n\n"
          "canopy-inspector open FIRST --beside SECOND\n\n"
          "canopy replay ... --policy lfu --record SECOND records another policy on the same requests.");
    update(scene);
    if (const Doubts& doubts = scene.time.other->doubts; !doubts.empty()) {
      text(plural(doubts.size(), "doubt") + " of " + tail_of(scene.time.other->name), palette().bad);
      explain(fmt::format("{}.", fmt::join(sentences_of(doubts), ";\n")));
    }
    const ImVec2 from = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float charts = std::clamp(room.y * 0.45F, em() * 10, em() * 26);
    ImGui::Dummy({room.x, charts});
    draw_charts(scene, from, {from.x + room.x, from.y + charts});
    const float half = (room.x - em() * 2) / 2;
    ImGui::BeginChild("figures", {half, 0});
    draw_figures();
    ImGui::EndChild();
    ImGui::SameLine(0, em() * 2);
    ImGui::BeginChild("tenants", {0, 0});
    draw_tenants();
    ImGui::EndChild();
  }

 private:
  void update(const Scene& scene) {
    const History &mine = scene.time.history, &other = scene.time.other->history;
    if (!figured_.changed(&other, mine.commits(), scene.time.range)) return;
    range_ = scene.time.range;
    work_ = std::max<std::uint64_t>(1, std::max(work_of(mine), work_of(other)));
    first_columns_ = by_work(mine, work_, kColumns), second_columns_ = by_work(other, work_, kColumns);
    first_ = figures_of(mine, range_);
    second_ = figures_of(other, range_.empty() ? CommitRange{} : same_work(mine, range_, other));
    tenants_ = tenants_of_both(first_, second_);
  }

  /// Draws three tracks: the hit rate of each, and the difference.
  void draw_charts(const Scene& scene, ImVec2 from, ImVec2 to) const {
    const Palette& colours = palette();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float words = em() * 9, left = from.x + words, foot = ImGui::GetTextLineHeight() * 1.2F, gap = em() * 0.3F;
    const float tall = (to.y - from.y - foot - 2 * gap) / 3, step = (to.x - left) / static_cast<float>(kColumns);
    const auto name = [&](float top, const std::string& label, const std::string& value, ImU32 colour) {
      const float line = ImGui::GetTextLineHeight(), y = top + (tall - 2 * line) / 2;
      list->AddText({from.x, y}, colours.dim, fitted(label, words - em()).c_str());
      list->AddText({from.x, y + line}, colour, value.c_str());
    };
    const auto track = [&](float top) {
      list->AddRectFilled({left, top}, {to.x, top + tall}, with_alpha(colours.background, 0.7F));
    };
    float top = from.y;
    for (const auto& [columns, label, figures] : {std::tuple(&first_columns_, scene.session.name, &first_),
                                                  std::tuple(&second_columns_, scene.time.other->name, &second_)}) {
      track(top);
      name(top, tail_of(label), in_words(hit_rate(figures->counts)), colours.text);
      for (std::size_t i = 0; i < kColumns; ++i) {
        const double rate = rate_of((*columns)[i]);
        const float x = left + step * static_cast<float>(i);
        if (rate > 0)
          list->AddRectFilled({x, top + tall * static_cast<float>(1 - rate)}, {x + std::max(1.F, step), top + tall},
                              with_alpha(colours.good, 0.9F));
      }
      top += tall + gap;
    }
    track(top);
    name(top, "difference",
         in_words(listing::difference(hit_rate(first_.counts), hit_rate(second_.counts))) + " points", colours.text);
    const float middle = top + tall / 2;
    double most = 0.01;
    for (std::size_t i = 0; i < kColumns; ++i)
      if (const double a = rate_of(first_columns_[i]), b = rate_of(second_columns_[i]); a >= 0 && b >= 0)
        most = std::max(most, std::abs(b - a));
    for (std::size_t i = 0; i < kColumns; ++i) {
      const double a = rate_of(first_columns_[i]), b = rate_of(second_columns_[i]);
      if (a < 0 || b < 0 || a == b) continue;
      const float x = left + step * static_cast<float>(i), height = static_cast<float>((b - a) / most) * tall / 2;
      list->AddRectFilled({x, std::min(middle, middle - height)},
                          {x + std::max(1.F, step), std::max(middle, middle - height)},
                          b > a ? colours.good : colours.bad);
    }
    list->AddLine({left, middle}, {to.x, middle}, colours.line);
    const std::string unit = fmt::format("prompt tokens that had arrived, 0 to {}", brief(static_cast<double>(work_)));
    list->AddText({left, to.y - foot + em() * 0.1F}, colours.dim, unit.c_str());
    const std::string scale = fmt::format("full height of the difference: {:.1f} points", most * 100);
    list->AddText({to.x - ImGui::CalcTextSize(scale.c_str()).x, to.y - foot + em() * 0.1F}, colours.dim, scale.c_str());
  }

  void draw_figures() const {
    ListTable<TwoValues>{
        .id = "two", .columns = both_listing(range_.empty() ? "whole time" : "same work as the range", "difference")}
        .draw(figures_of_both(first_, second_));
  }

  void draw_tenants() const {
    listing::Listing<TwoValues> list = both_listing("tenant", "points");
    list.add("hit tokens", listing::Unit::tokens, [](const TwoValues& row) { return row.hits; }).wide(7);
    ListTable<TwoValues>{.id = "tenants", .columns = list}.draw(tenants_);
  }

  /// Returns the last part of a path.
  static std::string tail_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

  static constexpr std::size_t kColumns = 300;
  Inputs<const History*, std::uint64_t, CommitRange> figured_;
  std::uint64_t work_ = 1;
  CommitRange range_;
  std::vector<Counts> first_columns_, second_columns_;
  RangeFigures first_, second_;
  std::vector<TwoValues> tenants_;
};

}  // namespace

PanelInfo beside_panel() {
  return {
      .title = "BESIDE",
      .row = Row::page,
      .key = '0',
      .help = "What does a second recording of the same requests, such as another policy's, do otherwise?",
      .make = make_panel<BesidePanel>,
      .figures = FiguresOf::past,
      .not_in_events = "Not known: KV events report neither requests nor hits.",
  };
}

}  // namespace canopy::inspector
