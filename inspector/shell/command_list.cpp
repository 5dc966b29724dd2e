#include "command_list.h"

#include <fmt/format.h>
#include <mirror/clean_text.h>
#include <views/draw.h>

#include <algorithm>
#include <cctype>

#include "app.h"
#include "keys.h"

namespace canopy::inspector {
namespace {

char lower(char letter) { return static_cast<char>(std::tolower(static_cast<unsigned char>(letter))); }

/// Returns the name of a key's command on the sheet: the first or the second of "m  n".
std::string key_name(const KeyLine& line, std::size_t number) {
  const std::string keys = line.keys;
  if (!line.commands[1].words) return keys;
  const std::size_t gap = keys.find("  ");
  return number == 0 ? keys.substr(0, gap) : keys.substr(keys.rfind("  ") + 2);
}

}  // namespace

int fit_of(std::string_view wanted, std::string_view words) {
  constexpr int kInRow = 4, kBegin = 8;
  int points = 0, run = 0;
  std::size_t at = 0, last = words.size();
  for (const char letter : wanted) {
    if (letter == ' ') continue;
    // A letter behind the last one is better than a word's beginning, and that is better than any other place.
    const auto fits = [&](std::size_t place) { return place < words.size() && lower(words[place]) == lower(letter); };
    const auto begins = [&](std::size_t place) {
      return place == 0 || !std::isalnum(static_cast<unsigned char>(words[place - 1]));
    };
    std::size_t found = last < words.size() && fits(last + 1) ? last + 1 : words.size();
    for (std::size_t place = at; found == words.size() && place < words.size(); ++place)
      if (fits(place) && begins(place)) found = place;
    for (std::size_t place = at; found == words.size() && place < words.size(); ++place)
      if (fits(place)) found = place;
    if (found == words.size()) return -1;
    run = found == last + 1 ? run + 1 : 0;
    points += kInRow * run + (begins(found) ? kBegin : 0);  // the longer the run, the more its next letter
    last = found, at = found + 1;
  }
  return points;
}

void CommandList::open(const App& app) {
  open_ = opened_ = true;
  wanted_.fill('\0');
  at_ = 0;
  all_.clear();
  const bool feed = app.picker() == nullptr;
  for (const PanelInfo& panel : panels())
    if (feed && !panel.is_bar())
      all_.push_back({std::string(1, panel.key), fmt::format("{}: {}", panel.title, panel.help),
                      [key = panel.key](App& to) { to.show_panel(key); }});
  for (const KeyLine& line : key_lines())
    for (std::size_t i = 0; i < line.commands.size(); ++i)
      if (const KeyCommand& command = line.commands[i]; command.act && (feed || line.at_any_time))
        all_.push_back({key_name(line, i), command.words, command.act});
  for (const Exports::Offer& offer : app.selection().exports.offers)
    all_.push_back({"", fmt::format("write {}: {}", offer.name, offer.help),
                    [name = offer.name](App& to) { to.selection().exports.chosen = name; }});
  for (const FoundFeed& each : app.found_feeds())
    if (each.ended.empty())
      all_.push_back({"", fmt::format("show the feed {}", clean_text(each.name)),
                      [name = each.name](App& to) { to.attach(name); }});
}

std::vector<const ListedCommand*> CommandList::fitting() const {
  std::vector<std::pair<int, const ListedCommand*>> scored;
  for (const ListedCommand& each : all_)
    if (const int fit = fit_of(wanted_.data(), each.words); fit >= 0) scored.emplace_back(fit, &each);
  std::sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;  // as they are listed
  });
  std::vector<const ListedCommand*> lines;
  for (const auto& [fit, each] : scored) lines.push_back(each);
  return lines;
}

void CommandList::draw_lines(const std::vector<const ListedCommand*>& lines, const ListedCommand*& chosen) {
  const float width = ImGui::GetContentRegionAvail().x;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    const ImVec2 from = ImGui::GetCursorPos();
    if (ImGui::Selectable("##command", i == at_)) chosen = lines[i];
    explain(lines[i]->words);
    ImGui::SetCursorPos(from);
    const float wide = ImGui::CalcTextSize(lines[i]->keys.c_str()).x;
    text(fitted(lines[i]->words, width - wide - em()));
    if (wide > 0) {
      ImGui::SameLine(width - wide - em() * 0.3F);
      text(lines[i]->keys, palette().accent);
    }
    ImGui::PopID();
  }
}

void CommandList::draw(App& app) {
  if (!open_) return;
  const bool first = std::exchange(opened_, false);
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float width = std::min(display.x * 0.94F, em() * 52), row = ImGui::GetTextLineHeightWithSpacing();
  ImGui::SetNextWindowPos({display.x / 2, std::min(display.y * 0.12F, em() * 8)}, ImGuiCond_Always, {0.5F, 0});
  ImGui::SetNextWindowSize({width, std::min(display.y * 0.7F, row * 18)});
  if (first) ImGui::SetNextWindowFocus();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  ImGui::Begin("##commands", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings);
  if (first) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(-1);
  const auto pressed = [](ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key)); };
  const bool entered = ImGui::InputTextWithHint("##wanted", "a few letters of a command, panel, file or feed",
                                                wanted_.data(), wanted_.size(), ImGuiInputTextFlags_EnterReturnsTrue);
  if (ImGui::IsItemEdited()) at_ = 0;
  const std::vector<const ListedCommand*> lines = fitting();
  const std::size_t before = at_;
  if (pressed(ImGuiKey_DownArrow) && at_ + 1 < lines.size()) ++at_;
  if (pressed(ImGuiKey_UpArrow) && at_ > 0) --at_;
  const ListedCommand* chosen = entered && at_ < lines.size() ? lines[at_] : nullptr;
  ImGui::BeginChild("lines");
  if (at_ != before) ImGui::SetScrollY(std::max(0.F, (static_cast<float>(at_) - 4) * row));
  if (lines.empty()) nothing_here("Nothing has these letters in this order.");
  draw_lines(lines, chosen);
  ImGui::EndChild();
  const bool outside =
      !first && ImGui::IsMouseClicked(ImGuiMouseButton_Left) &&
      !ImGui::IsWindowHovered(ImGuiHoveredFlags_RootAndChildWindows | ImGuiHoveredFlags_AllowWhenBlockedByActiveItem);
  ImGui::End();
  ImGui::PopStyleVar();
  if (chosen || outside || (!first && pressed(ImGuiKey_Escape))) close();
  if (chosen) {
    const auto act = chosen->act;
    act(app);
  }
}

}  // namespace canopy::inspector
