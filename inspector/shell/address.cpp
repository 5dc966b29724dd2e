#include "address.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

namespace canopy::inspector {
namespace {

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The name of a colour or a tree in an address: "last use" is `last-use`.
std::string word(std::string_view name) {
  std::string word(name);
  for (char& letter : word)
    if (letter == ' ') letter = '-';
  return word;
}

template <class Choice, std::size_t kCount>
std::optional<Choice> choice_of(const std::array<const char*, kCount>& names, std::string_view value) {
  for (std::size_t i = 0; i < kCount; ++i)
    if (word(names[i]) == value) return static_cast<Choice>(i);
  return std::nullopt;
}

void go_to_range(Timeline& time, std::string_view value) {
  const std::size_t dash = value.find('-');
  if (dash == std::string_view::npos) return;
  const auto first = whole(value.substr(0, dash)), last = whole(value.substr(dash + 1));
  if (!first || !last || *first > *last || *last > time.history.commits()) return;
  time.range = {*first, *last};
  time.snap_range();
}

/// "FROM-TO" of the time axis: the window that is in sight.
void go_to_window(Timeline& time, std::string_view value) {
  const std::size_t dash = value.find('-');
  if (dash == std::string_view::npos) return;
  const auto from = whole(value.substr(0, dash)), to = whole(value.substr(dash + 1));
  if (from && to && *from < *to) time.from = static_cast<double>(*from), time.to = static_cast<double>(*to);
}

void go_to(App& app, std::string_view key, std::string_view value) {
  Selection& selection = app.selection();
  const auto number = whole(value);
  if (key == "colour") selection.colour = choice_of<ColourBy>(kColourNames, value).value_or(selection.colour);
  else if (key == "tree") app.tree_panel().show(choice_of<TreeView>(kTreeViewNames, value).value_or(TreeView::icicle));
  else if (key == "tab" && value.size() == 1) app.bring_to_front(value.front());
  else if (key == "panel" && value.size() == 1) app.fill_window(value.front());
  else if (key == "range") go_to_range(app.time(), value);
  else if (key == "axis") app.time().axis_by = choice_of<AxisBy>(kAxisNames, value).value_or(app.time().axis_by);
  else if (key == "time") go_to_window(app.time(), value);
  else if (!number) return;
  else if (key == "at" && !app.time().live) app.time().seek(*number);
  else if (key == "group" && *number < app.mirror().groups()) selection.group = static_cast<std::size_t>(*number);
  else if (key == "tier") selection.tier = *number != 0 && app.mirror().below();
  else if (key == "space" && *number < app.mirror().spaces().size())
    selection.space = static_cast<NamespaceId>(static_cast<std::uint32_t>(*number));
  else if (key == "node") selection.select_node(*number);
  else if (key == "request") selection.request_wanted = *number;
}

}  // namespace

std::string address_of(const App& app) {
  std::string address;
  const auto add = [&](std::string_view key, const auto& value) {
    fmt::format_to(std::back_inserter(address), "{}{}={}", address.empty() ? "" : "&", key, value);
  };
  const Selection& selection = app.selection();
  const Timeline& time = app.time();
  if (!time.live && time.wanted != time.end) add("at", time.wanted);
  if (!time.range.empty()) add("range", fmt::format("{}-{}", time.range.first, time.range.last));
  if (time.axis_by != AxisBy::clock) add("axis", word(kAxisNames[static_cast<std::size_t>(time.axis_by)]));
  if (time.to > time.from)
    add("time", fmt::format("{:.0f}-{:.0f}", std::floor(std::max(0.0, time.from)), std::ceil(time.to)));
  if (selection.space) add("space", static_cast<std::uint32_t>(*selection.space));
  if (selection.group != 0) add("group", selection.group);
  if (selection.tier) add("tier", 1);
  if (selection.request != 0) add("request", selection.request);
  else if (selection.node != 0) add("node", selection.node);
  const char panel = app.full_window(), tab = app.tab_in_front();
  if (tab != App::first_tab() && tab != panel) add("tab", tab);
  if (panel != 0) add("panel", panel);
  if (selection.colour != ColourBy::state)
    add("colour", word(kColourNames[static_cast<std::size_t>(selection.colour)]));
  if (app.tree_panel().view() != TreeView::icicle)
    add("tree", word(kTreeViewNames[static_cast<std::size_t>(app.tree_panel().view())]));
  return address;
}

void go_to(App& app, std::string_view address) {
  // Everything that an address does not name is as it was at first.
  Selection& selection = app.selection();
  app.leave_full_window();
  app.bring_to_front(App::first_tab());
  selection.show_tier(false);
  selection.select_node(0), selection.request = 0, selection.group = 0, selection.space.reset();
  selection.colour = ColourBy::state;
  app.tree_panel().show(TreeView::icicle);
  app.time().range = {};
  app.time().axis_by = AxisBy::clock;
  app.time().from = app.time().to = 0;
  if (address.find("at=") == std::string_view::npos && !app.time().live) app.time().seek(app.time().end);
  while (!address.empty()) {
    const std::string_view part = address.substr(0, address.find('&'));
    address.remove_prefix(std::min(part.size() + 1, address.size()));
    if (const std::size_t equals = part.find('='); equals != std::string_view::npos)
      go_to(app, part.substr(0, equals), part.substr(equals + 1));
  }
}

}  // namespace canopy::inspector
