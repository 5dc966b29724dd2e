#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace canopy::report {

/// A line of a chart. Places along the x axis are 0..1, from the first tick to the last.
struct Line {
  struct Point {
    double at = 0, value = 0;
    std::string tip;  ///< what a pointer over it shows
  };
  std::string name;
  std::size_t style = 0;  ///< colour, mark and dash, the same for one policy in all charts of a page
  bool is_bound = false;  ///< what nothing exceeds: drawn without a colour
  bool hatched = false;   ///< the room above it, which is out of reach
  std::vector<Point> points;
};

/// A chart of lines. Names stand at the ends of the lines, where they do not overlap.
struct LineChart {
  std::string id, title;
  std::string x_name, y_name;
  struct Tick {
    double at = 0;
    std::string name;
  };
  std::vector<Tick> ticks;
  double most = 1;       ///< of the y axis, at least; it ends at a round number
  bool percent = false;  ///< values are shares 0..1
  bool names_at_ends = true;
  double width = 960, height = 470;
  std::vector<Line> lines;
};

/// The chart as an SVG element, styled by the page.
std::string svg_of(const LineChart& chart);

/// The mark and the line of a style, for a legend.
std::string key_of(std::size_t style);

}  // namespace canopy::report
