#include "what_if_chart.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace canopy::inspector {
namespace {

/// Where figures lie in the chart.
struct Scale {
  ImVec2 from, to;             ///< of the plot, without axes and names
  double least = 1, most = 1;  ///< tokens at the left and the right edge
  double top = 1;              ///< hit rate at the upper edge

  float x(double tokens) const {
    const double share = std::log(tokens / least) / std::log(most / least);
    return from.x + static_cast<float>(share) * (to.x - from.x);
  }
  float y(double rate) const { return to.y - static_cast<float>(rate / top) * (to.y - from.y); }
};

double highest_of(const WhatIfLines& all) {
  double rate = 0;
  for (const WhatIfLine& line : all.lines) {
    rate = std::max(rate, line.unlimited);
    for (const WhatIfLine::Point& point : line.points) rate = std::max(rate, point.hit_rate);
  }
  return rate;
}

/// Between the marks of the rate: about five of them.
double step_of(double highest) {
  for (const double step : {0.01, 0.02, 0.05, 0.1})
    if (highest <= step * 5.5) return step;
  return 0.2;
}

void draw_axes(const Scale& scale, const WhatIfLines& all, double step, float left) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Palette& colours = palette();
  const float letters = ImGui::GetTextLineHeight();
  for (double rate = 0; rate <= scale.top * 1.0001; rate += step) {
    const float y = scale.y(rate);
    list->AddLine({scale.from.x, y}, {scale.to.x, y}, colours.line);
    const std::string words = fmt::format("{:.0f} %", rate * 100);
    const float wide = ImGui::CalcTextSize(words.c_str()).x;
    list->AddText({std::max(left, scale.from.x - wide - em() * 0.5F), y - letters / 2}, colours.dim, words.c_str());
  }
  float free_from = scale.from.x - em() * 4;
  for (const std::uint64_t capacity : all.capacities) {
    const float x = scale.x(static_cast<double>(capacity));
    list->AddLine({x, scale.to.y}, {x, scale.to.y + em() * 0.3F}, colours.dim);
    const std::string words = brief(static_cast<double>(capacity));
    const float wide = ImGui::CalcTextSize(words.c_str()).x;
    if (x - wide / 2 < free_from) continue;
    list->AddText({x - wide / 2, scale.to.y + em() * 0.3F}, colours.dim, words.c_str());
    free_from = x + wide / 2 + em() * 0.6F;
  }
}

/// What no policy can reach.
void draw_ceiling(const Scale& scale, const WhatIfLine& line) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 shade = with_alpha(palette().line, 0.45F);
  for (std::size_t i = 0; i + 1 < line.points.size(); ++i) {
    const auto &a = line.points[i], &b = line.points[i + 1];
    const float x0 = scale.x(static_cast<double>(a.capacity)), x1 = scale.x(static_cast<double>(b.capacity));
    list->AddQuadFilled({x0, scale.from.y}, {x1, scale.from.y}, {x1, scale.y(b.hit_rate)}, {x0, scale.y(a.hit_rate)},
                        shade);
  }
}

void draw_line(const Scale& scale, const WhatIfLine& line, bool strong) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 colour = colour_of(line);
  const float thick = em() * (strong ? 0.24F : 0.13F);
  if (line.unlimited >= 0)
    for (float x = scale.from.x; x < scale.to.x; x += em())
      list->AddLine({x, scale.y(line.unlimited)}, {std::min(x + em() * 0.5F, scale.to.x), scale.y(line.unlimited)},
                    colour, thick);
  std::vector<ImVec2> places;
  for (const WhatIfLine::Point& point : line.points)
    places.push_back({scale.x(static_cast<double>(point.capacity)), scale.y(point.hit_rate)});
  list->AddPolyline(places.data(), static_cast<int>(places.size()), colour, 0, thick);
  for (const ImVec2& at : places) list->AddCircleFilled(at, em() * (strong ? 0.3F : 0.22F), colour);
}

/// At the right end of each line, the highest first, apart from each other; a mark leads to a line whose name had to
/// give way.
void draw_names(const Scale& scale, const WhatIfLines& all, float right) {
  struct Name {
    const WhatIfLine* line;
    float at, y;
  };
  std::vector<Name> names;
  for (const WhatIfLine& line : all.lines) {
    if (line.points.empty() && line.unlimited < 0) continue;
    const float y = scale.y(line.points.empty() ? line.unlimited : line.points.back().hit_rate);
    names.push_back({&line, y, y});
  }
  std::sort(names.begin(), names.end(),
            [](const Name& a, const Name& b) { return a.at != b.at ? a.at < b.at : a.line < b.line; });
  const float letters = ImGui::GetTextLineHeight(), x = scale.to.x + em() * 1.4F;
  for (std::size_t i = 1; i < names.size(); ++i) names[i].y = std::max(names[i].y, names[i - 1].y + letters);
  // Those at the lower edge push the others up again.
  for (std::size_t i = names.size(); i-- > 0;)
    names[i].y = std::min(names[i].y, i + 1 == names.size() ? scale.to.y : names[i + 1].y - letters);
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const Name& name : names) {
    const ImU32 colour = colour_of(*name.line);
    list->AddLine({scale.to.x + em() * 0.4F, name.at}, {x - em() * 0.2F, name.y}, with_alpha(colour, 0.7F));
    const std::string words = fitted(name.line->name, right - x);
    list->AddText({x, name.y - letters / 2}, colour, words.c_str());
  }
}

void draw_limit(const Scale& scale, std::uint64_t now) {
  const float x = scale.x(static_cast<double>(now));
  if (x < scale.from.x - 1 || x > scale.to.x + 1) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine({x, scale.from.y}, {x, scale.to.y}, palette().accent, std::max(1.F, em() / 12));
  const char* const words = "limit now";
  const float wide = ImGui::CalcTextSize(words).x;
  list->AddText({std::min(x + em() * 0.3F, scale.to.x - wide), scale.from.y}, palette().accent, words);
}

void draw_tooltip(const Scale& scale, const WhatIfLines& all) {
  const float mouse = ImGui::GetIO().MousePos.x;
  const auto nearest = std::min_element(all.capacities.begin(), all.capacities.end(), [&](auto a, auto b) {
    return std::abs(scale.x(static_cast<double>(a)) - mouse) < std::abs(scale.x(static_cast<double>(b)) - mouse);
  });
  if (nearest == all.capacities.end()) return;
  const float x = scale.x(static_cast<double>(*nearest));
  ImGui::GetWindowDrawList()->AddLine({x, scale.from.y}, {x, scale.to.y}, palette().selected, std::max(1.F, em() / 12));
  ImGui::BeginTooltip();
  text(grouped(*nearest) + " tokens");
  for (const WhatIfLine& line : all.lines)
    for (const WhatIfLine::Point& point : line.points)
      if (point.capacity == *nearest) swatch(colour_of(line), percent(point.hit_rate) + "  " + line.name);
  ImGui::EndTooltip();
}

}  // namespace

ImU32 colour_of(const WhatIfLine& line) {
  return line.ceiling ? palette().text : palette().spaces[line.colour % palette().spaces.size()];
}

void draw_what_if_chart(const WhatIfLines& all, const Area& area, std::uint64_t now, const std::string& own) {
  if (all.capacities.empty()) return nothing_here("No limit was compared.");
  const double highest = std::max(0.01, highest_of(all)), step = step_of(highest);
  float names = em() * 4;
  for (const WhatIfLine& line : all.lines) names = std::max(names, ImGui::CalcTextSize(line.name.c_str()).x);
  names = std::min(names + em() * 1.6F, area.width * 0.3F);
  const float letters = ImGui::GetTextLineHeight();
  const float axis = ImGui::CalcTextSize("100 % ").x + em() * 0.3F;
  Scale scale{{area.x + axis + em(), area.y + letters / 2},
              {area.x + area.width - names, area.y + area.height - letters * 1.4F},
              static_cast<double>(all.capacities.front()),
              static_cast<double>(all.capacities.back()),
              std::min(1.0, std::ceil(highest / step - 1e-9) * step)};
  // One limit stands in the middle.
  if (scale.most <= scale.least) scale.least /= 2, scale.most *= 2;
  ImGui::SetCursorScreenPos(area.from());
  ImGui::InvisibleButton("rates", {area.width, area.height});
  const bool hovered = ImGui::IsItemHovered();
  for (const WhatIfLine& line : all.lines)
    if (line.ceiling) draw_ceiling(scale, line);
  draw_axes(scale, all, step, area.x);
  if (now != 0) draw_limit(scale, now);
  for (const WhatIfLine& line : all.lines) draw_line(scale, line, line.name == own);
  draw_names(scale, all, area.x + area.width);
  if (hovered) draw_tooltip(scale, all);
}

}  // namespace canopy::inspector
