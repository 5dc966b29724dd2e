#include "settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace canopy::inspector {
namespace {

constexpr std::string_view kShare = "share ";  ///< prefix of keys of panels and rows; values are in hundredths
constexpr int kMostShare = 100'000;

int whole(const std::string& text, int least, int most, int otherwise) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::clamp(value, least, most) : otherwise;
}

template <class Choice, std::size_t kCount>
void choose(Choice& choice, const std::array<const char*, kCount>& names, const std::string& value) {
  for (std::size_t i = 0; i < kCount; ++i)
    if (value == names[i]) choice = static_cast<Choice>(i);
}

}  // namespace

Settings Settings::parse(std::string_view text) {
  Settings settings;
  while (!text.empty()) {
    const std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t equals = line.find(" = ");
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals), value = line.substr(equals + 3);
    if (key == "theme") settings.light = value == "light";
    else if (key == "scale_percent") settings.scale = static_cast<float>(whole(value, 0, 400, 0)) / 100;
    else if (key == "width") settings.width = whole(value, 640, 16384, settings.width);
    else if (key == "height") settings.height = whole(value, 400, 16384, settings.height);
    else if (key == "colour") choose(settings.colour, kColourNames, value);
    else if (key == "tree") choose(settings.tree, kTreeViewNames, value);
    else if (key == "axis") choose(settings.axis, kAxisNames, value);
    else if (key.starts_with(kShare))
      if (const int hundredths = whole(value, 0, kMostShare, 0); hundredths > 0)
        settings.shares[key.substr(kShare.size())] = static_cast<float>(hundredths) / 100;
  }
  return settings;
}

std::string Settings::text() const {
  std::string lines =
      fmt::format("theme = {}\nscale_percent = {}\nwidth = {}\nheight = {}\ncolour = {}\ntree = {}\naxis = {}\n",
                  light ? "light" : "dark", static_cast<int>(scale * 100), width, height,
                  kColourNames[static_cast<std::size_t>(colour)], kTreeViewNames[static_cast<std::size_t>(tree)],
                  kAxisNames[static_cast<std::size_t>(axis)]);
  for (const auto& [name, share] : shares)
    lines += fmt::format("{}{} = {}\n", kShare, name, static_cast<int>(share * 100));
  return lines;
}

}  // namespace canopy::inspector
