#include "line_chart.h"

#include "html.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace canopy::report {
namespace {

constexpr std::size_t kColours = 6, kNameLength = 20;
constexpr double kLetter = 7.2;   ///< width of a letter of an axis, about
constexpr double kNameStep = 17;  ///< least distance of two names

/// A round step that parts `most` into three to six.
double step_of(double most) {
  const double power = std::pow(10, std::floor(std::log10(most / 4)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0, 10.0})
    if (most / (factor * power) <= 6) return factor * power;
  return 10 * power;
}

std::string classes(std::size_t style) {
  return fmt::format("s{}{}", style % kColours, style >= kColours ? " dashed" : "");
}

std::string classes(const Line& line) {
  return line.hatched ? "bound" : line.is_bound ? "bound far" : classes(line.style);
}

/// A mark with its own shape: colours alone are not told apart by all readers.
std::string mark(std::size_t style, double x, double y) {
  constexpr double r = 4.5;
  switch (style % kColours) {
    case 0:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", x, y, r);
    case 1:
      return fmt::format("<path d=\"M{:.1f} {:.1f}h8v8h-8z\"/>", x - 4, y - 4);
    case 2:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l5 8.6h-10z\"/>", x, y - 5.6);
    case 3:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z\"/>", x, y - 5.5);
    case 4:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l5 -8.6h-10z\"/>", x, y + 5.6);
    default:
      return fmt::format("<path d=\"M{:.1f} {:.1f}h3v3h3v3h-3v3h-3v-3h-3v-3h3z\"/>", x - 1.5, y - 4.5);
  }
}

struct Frame {
  double left = 64, right = 20, top = 16, bottom = 58, width = 0, height = 0, most = 1;
  double x(double at) const { return left + at * (width - left - right); }
  double y(double value) const { return height - bottom - value / most * (height - top - bottom); }
};

std::string axis_name(double value, bool percent, double step) {
  if (percent) return fmt::format("{:.{}f} %", value * 100, step < 0.01 ? 1 : 0);
  return brief(value);
}

void draw_axes(std::string& out, const LineChart& chart, const Frame& frame, double step) {
  const auto to = std::back_inserter(out);
  const double right = frame.width - frame.right, floor = frame.height - frame.bottom;
  for (double value = 0; value <= frame.most * 1.0001; value += step)
    fmt::format_to(to,
                   "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text "
                   "class=\"axis\" x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
                   frame.left, right, frame.y(value), frame.left - 8, frame.y(value) + 4,
                   axis_name(value, chart.percent, step));
  const bool turned = !chart.names_at_ends;
  double free_from = -1e9;
  for (std::size_t i = 0; i < chart.ticks.size(); ++i) {
    const double x = frame.x(chart.ticks[i].at);
    const double half = turned ? 9 : static_cast<double>(chart.ticks[i].name.size()) * kLetter / 2 + 3;
    fmt::format_to(to, "<line class=\"tick\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>", x, floor,
                   floor + 5);
    if (x - half < free_from) continue;
    free_from = x + half;
    if (turned)
      fmt::format_to(
          to, "<text class=\"axis\" text-anchor=\"end\" transform=\"translate({:.1f} {:.1f}) rotate(-35)\">{}</text>\n",
          x + 4, floor + 17, html(chart.ticks[i].name));
    else
      fmt::format_to(to, "<text class=\"axis\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x,
                     floor + 20, html(chart.ticks[i].name));
  }
  if (!chart.x_name.empty())
    fmt::format_to(to, "<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                   (frame.left + right) / 2, frame.height - 12, html(chart.x_name));
  if (!chart.y_name.empty())
    fmt::format_to(
        to, "<text class=\"name\" text-anchor=\"middle\" transform=\"translate(15 {:.1f}) rotate(-90)\">{}</text>\n",
        (frame.top + floor) / 2, html(chart.y_name));
}

void draw_line(std::string& out, const Line& line, const Frame& frame) {
  const auto to = std::back_inserter(out);
  std::string path;
  for (const Line::Point& point : line.points)
    fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.x(point.at),
                   frame.y(point.value));
  if (path.empty()) return;
  if (line.hatched)
    fmt::format_to(to, "<path class=\"beyond\" fill=\"url(#hatch)\" d=\"{}L{:.1f} {:.1f}L{:.1f} {:.1f}z\"/>\n", path,
                   frame.x(line.points.back().at), frame.top, frame.x(line.points.front().at), frame.top);
  fmt::format_to(to, "<g class=\"{}\"><path class=\"line\" d=\"{}\"/>", classes(line), path);
  for (const Line::Point& point : line.points)
    fmt::format_to(to, "<g class=\"mark\">{}<title>{}</title></g>",
                   line.is_bound ? fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>", frame.x(point.at),
                                               frame.y(point.value))
                                 : mark(line.style, frame.x(point.at), frame.y(point.value)),
                   html(point.tip));
  out += "</g>\n";
}

/// Names at the ends, moved apart; a thin line leads from an end to a name that was moved.
void draw_names(std::string& out, const LineChart& chart, const Frame& frame) {
  struct Name {
    const Line* line;
    double end, y;
  };
  std::vector<Name> names;
  for (const Line& line : chart.lines)
    if (!line.points.empty()) names.push_back({&line, frame.y(line.points.back().value), 0});
  std::sort(names.begin(), names.end(), [](const Name& a, const Name& b) {
    return a.end != b.end ? a.end < b.end : a.line < b.line;  // the lines are in the order of the policies
  });
  // Names that would overlap form a block around the middle of their ends.
  struct Block {
    std::size_t first, count;
    double sum;  ///< of where each would have the block begin
    double begin(const Frame& frame) const {
      const double last = frame.height - frame.bottom - kNameStep * static_cast<double>(count - 1);
      return std::max(frame.top + 4, std::min(sum / static_cast<double>(count), last));
    }
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < names.size(); ++i) {
    blocks.push_back({i, 1, names[i].end});
    while (blocks.size() > 1) {
      Block &above = blocks[blocks.size() - 2], &below = blocks.back();
      const double taken = kNameStep * static_cast<double>(above.count);
      if (above.begin(frame) + taken <= below.begin(frame)) break;
      above.sum += below.sum - taken * static_cast<double>(below.count);
      above.count += below.count;
      blocks.pop_back();
    }
  }
  for (const Block& block : blocks)
    for (std::size_t i = 0; i < block.count; ++i)
      names[block.first + i].y = block.begin(frame) + kNameStep * static_cast<double>(i);
  const double x = frame.width - frame.right;
  for (const Name& name : names) {
    std::string shown = name.line->name;
    if (shown.size() > kNameLength) shown = shown.substr(0, kNameLength - 1) + "...";
    if (std::abs(name.y - name.end) > 3)
      fmt::format_to(std::back_inserter(out), "<path class=\"leader\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", x + 8,
                     name.end, x + 20, name.y);
    fmt::format_to(std::back_inserter(out),
                   "<text class=\"end {}\" x=\"{:.1f}\" y=\"{:.1f}\">{}<title>{}</title></text>\n", classes(*name.line),
                   x + 24, name.y + 4, html(shown), html(name.line->name));
  }
}

}  // namespace

std::string svg_of(const LineChart& chart) {
  double most = chart.most;
  for (const Line& line : chart.lines)
    for (const Line::Point& point : line.points) most = std::max(most, point.value);
  if (!(most > 0)) most = 1;
  const double step = step_of(most);
  Frame frame;
  frame.width = chart.width;
  frame.height = chart.height;
  frame.most = std::ceil(most / step - 1e-9) * step;
  if (chart.names_at_ends) frame.right = 190;
  else frame.bottom = 96, frame.left = 74;
  std::string out = fmt::format(
      "<svg id=\"{0}\" class=\"chart\" viewBox=\"0 0 {1} {2}\" role=\"img\" aria-labelledby=\"{0}-title\" "
      "xmlns=\"http://www.w3.org/2000/svg\"><title id=\"{0}-title\">{3}</title>\n",
      html(chart.id), chart.width, chart.height, html(chart.title));
  if (std::any_of(chart.lines.begin(), chart.lines.end(), [](const Line& line) { return line.hatched; }))
    out +=
        "<defs><pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><line class=\"hatch\" x1=\"0\" x2=\"0\" y1=\"0\" "
        "y2=\"7\"/></pattern></defs>\n";
  draw_axes(out, chart, frame, step);
  for (const bool bound : {true, false})
    for (const Line& line : chart.lines)
      if (line.is_bound == bound) draw_line(out, line, frame);
  if (chart.names_at_ends) draw_names(out, chart, frame);
  return out + "</svg>\n";
}

std::string key_of(std::size_t style) {
  return fmt::format(
      "<svg class=\"key\" viewBox=\"0 0 30 14\" aria-hidden=\"true\"><g class=\"{}\"><path class=\"line\" d=\"M1 "
      "7H29\"/><g "
      "class=\"mark\">{}</g></g></svg>",
      classes(style), mark(style, 15, 7));
}

}  // namespace canopy::report
