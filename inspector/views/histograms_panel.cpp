#include <account/listings.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "draw.h"
#include "export_button.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

std::string value_words(MeasureUnit unit, std::uint64_t value) {
  const double number = static_cast<double>(value);
  if (unit == MeasureUnit::us) return value == 0 ? "0" : duration(number / 1e6);
  return value < 10'000 ? grouped(value) : brief(number);
}

double share_in(const Histogram& histogram, std::size_t place, std::uint64_t samples) {
  return samples == 0 ? 0 : static_cast<double>(histogram.in(place)) / static_cast<double>(samples);
}

/// A histogram of the range and that of the whole time, with the classes that are in sight.
struct Chart {
  const MeasureInfo& info;
  const Histogram &range, &whole;
  bool has_range;
  std::string unknown;             ///< reason why the feed does not report the values; empty: it does
  std::size_t first = 0, end = 0;  ///< classes
  std::uint64_t range_samples = range.samples(), whole_samples = whole.samples();
};

/// Returns the reason why a feed does not report values.
std::string unknown_of(const Scene& scene, Measure measure) {
  const bool of_requests = measure == Measure::depth || measure == Measure::prompt;
  if (scene.mirror.is_from_events() && measure != Measure::lifetime)
    return "KV events report neither requests nor hits";
  return of_requests ? std::string() : scene.mirror.no_nodes();
}

/// Returns the highest share of a class, rounded up to a step of the axis.
double top_of(const Chart& chart) {
  double most = 0.01;
  for (std::size_t i = chart.first; i < chart.end; ++i)
    most =
        std::max({most, share_in(chart.range, i, chart.range_samples), share_in(chart.whole, i, chart.whole_samples)});
  for (const double step : {0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8})
    if (most <= step) return step;
  return 1;
}

std::string summary_of(const Chart& chart) {
  const auto of = [&](double share) { return value_words(chart.info.unit, chart.range.quantile(share)); };
  if (chart.range_samples == 0) return chart.whole_samples == 0 ? "" : "no samples in the range";
  return fmt::format("{}   half below {}, 90 % below {}, 99 % below {}", plural(chart.range_samples, chart.info.sample),
                     of(0.5), of(0.9), of(0.99));
}

/// Draws the axes: shares to the left, values below, at each second doubling where there is room.
void draw_axes(const Chart& chart, const Area& plot, double top) {
  const Palette& colours = palette();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float line = ImGui::GetTextLineHeight();
  for (const double part : {0.0, 0.5, 1.0}) {
    const float y = plot.y + plot.height * static_cast<float>(1 - part);
    const std::string words = fmt::format("{:g} %", top * part * 100);
    list->AddLine({plot.x, y}, {plot.x + plot.width, y}, with_alpha(colours.line, part == 0 ? 1.F : 0.5F));
    list->AddText({plot.x - ImGui::CalcTextSize(words.c_str()).x - em() * 0.4F, y - line / 2}, colours.dim,
                  words.c_str());
  }
  const float step = plot.width / static_cast<float>(chart.end - chart.first);
  float free_from = plot.x - em() * 3;
  for (std::size_t i = chart.first; i <= chart.end; ++i) {
    if (i % 2 != 0 && i > 2) continue;
    const float x = plot.x + step * static_cast<float>(i - chart.first);
    const std::string words = value_words(chart.info.unit, Histogram::lowest(i));
    const float wide = ImGui::CalcTextSize(words.c_str()).x, left = x - wide / 2;
    list->AddLine({x, plot.y + plot.height}, {x, plot.y + plot.height + em() * 0.25F}, colours.dim);
    if (left < free_from || left + wide > plot.x + plot.width + em() * 2) continue;
    list->AddText({left, plot.y + plot.height + em() * 0.3F}, colours.dim, words.c_str());
    free_from = left + wide + em();
  }
}

void draw_bars(const Chart& chart, const Area& plot, double top) {
  const Palette& colours = palette();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float step = plot.width / static_cast<float>(chart.end - chart.first), bottom = plot.y + plot.height;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  for (std::size_t i = chart.first; i < chart.end; ++i) {
    const float x = plot.x + step * static_cast<float>(i - chart.first), right = x + step - std::max(1.F, step * 0.08F);
    const auto y = [&](double share) { return bottom - plot.height * static_cast<float>(std::min(1.0, share / top)); };
    const double here = share_in(chart.range, i, chart.range_samples);
    const double all = share_in(chart.whole, i, chart.whole_samples);
    list->AddRectFilled({x, y(here)}, {right, bottom}, colours.accent);
    if (chart.has_range && all > 0)
      list->AddLine({x, y(all)}, {right, y(all)}, colours.text, std::max(2.F, em() * 0.14F));
    const bool under = ImGui::IsItemHovered() && mouse.x >= x && mouse.x < x + step && mouse.y <= bottom;
    if (!under) continue;
    list->AddRectFilled({x, plot.y}, {right, bottom}, with_alpha(colours.text, 0.08F));
    explain(fmt::format("{} to below {}: {} of {} ({}){}", value_words(chart.info.unit, Histogram::lowest(i)),
                        value_words(chart.info.unit, Histogram::lowest(i + 1)), grouped(chart.range.in(i)),
                        plural(chart.range_samples, chart.info.sample), percent(here),
                        chart.has_range ? fmt::format("; in the whole time {}", percent(all)) : ""));
  }
}

void draw_chart(Chart chart, const Area& area) {
  ImGui::SetCursorScreenPos(area.from());
  text(chart.info.words);
  explain(chart.info.help);
  ImGui::SameLine(0, em());
  const std::string words = summary_of(chart);
  dim(fitted(words, area.to().x - ImGui::GetCursorScreenPos().x));
  explain(words);
  const float head = ImGui::GetTextLineHeightWithSpacing() + em() * 0.5F, foot = em() * 1.7F, left = em() * 3.6F;
  const Area plot{area.x + left, area.y + head, area.width - left - em() * 2, area.height - head - foot};
  if (plot.height < em() * 2 || plot.width < em() * 4) return;
  ImGui::SetCursorScreenPos(plot.from());
  ImGui::PushID(chart.info.name);
  ImGui::InvisibleButton("plot", {plot.width, plot.height + foot});
  ImGui::PopID();
  chart.end = std::max(chart.range.classes(), chart.whole.classes());
  if (chart.whole_samples + chart.range_samples == 0) {
    const std::string none =
        in_lines(chart.unknown.empty() ? "no samples yet" : "Not known: " + chart.unknown + ".", plot.width);
    const ImVec2 size = ImGui::CalcTextSize(none.c_str());
    ImGui::GetWindowDrawList()->AddText({plot.x + (plot.width - size.x) / 2, plot.y + (plot.height - size.y) / 2},
                                        palette().dim, none.c_str());
    return;
  }
  while (chart.range.in(chart.first) + chart.whole.in(chart.first) == 0) ++chart.first;
  // At least a few classes, so that one bar does not fill the chart.
  constexpr std::size_t kLeast = 8;
  chart.end = std::max(chart.end, chart.first + kLeast);
  const double top = top_of(chart);
  draw_axes(chart, plot, top);
  draw_bars(chart, plot, top);
}

/// Distributions of the range, beside those of the whole time: reuse by its distance, ages, depths of hits.
class HistogramsPanel final : public Panel {
 public:
  std::string note(const Scene& scene) const override {
    return std::string(scene.figures.has_range() ? "line: whole" : "") + (scene.selection.space ? "  all tenants" : "");
  }

  void draw(Scene& scene) override {
    export_button(scene, "CSV", "canopy-histograms.csv", "the samples of each class", [&] {
      return listing::csv_of(histograms_listing(), classes_of(scene.figures.all_tenants().histograms));
    });
    ImGui::BeginChild("charts");
    const float width = ImGui::GetContentRegionAvail().x, gap = em();
    const std::size_t columns = width > em() * 60 ? 2 : 1, rows = (std::size(kMeasures) + columns - 1) / columns;
    const float wide = (width - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns);
    const float room = ImGui::GetContentRegionAvail().y / static_cast<float>(rows);
    const float tall = std::max(room, em() * 9);
    const ImVec2 from = ImGui::GetCursorScreenPos();
    for (std::size_t i = 0; i < std::size(kMeasures); ++i)
      draw_chart({kMeasures[i], scene.figures.all_tenants().histograms[i], scene.figures.whole_tenants().histograms[i],
                  scene.figures.has_range(), unknown_of(scene, static_cast<Measure>(i))},
                 {from.x + (wide + gap) * static_cast<float>(i % columns),
                  from.y + tall * static_cast<float>(i / columns), wide, tall - gap});
    ImGui::EndChild();
  }
};

}  // namespace

PanelInfo histograms_panel() {
  return {
      .title = "HISTOGRAMS",
      .row = Row::page,
      .key = 'H',
      .help = "How late is a prefix used again, how long does it stay, how deep are hits, how long prompts?",
      .make = make_panel<HistogramsPanel>,
      .figures = FiguresOf::past,
  };
}

}  // namespace canopy::inspector
