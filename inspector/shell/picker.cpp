#include "picker.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/clean_text.h>

#include <algorithm>
#include <utility>

#include <views/palette.h>

namespace canopy::inspector {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kEvery = std::chrono::milliseconds(500);
constexpr float kRow = 1.9F, kWidth = 62;  ///< ems

bool alive(const FoundFeed& feed) { return feed.ended.empty(); }

}  // namespace

std::unique_ptr<Link> Picker::look() {
  if (const auto now = Clock::now(); now >= next_) {
    next_ = now + kEvery;
    feeds_ = find_();
    const auto living = std::count_if(feeds_.begin(), feeds_.end(), alive);
    const auto is_cursor = [&](const FoundFeed& feed) { return alive(feed) && feed.name == cursor_; };
    if (std::none_of(feeds_.begin(), feeds_.end(), is_cursor)) cursor_ = living ? feeds_.front().name : "";
    if (living != 0 && std::exchange(waiting_, false) && living == 1) chosen_ = cursor_;
  }
  const bool opens = std::exchange(open_wanted_, false);
  if (chosen_.empty() && !opens) return nullptr;
  auto link = opens ? open_(path_.data()) : attach_(std::exchange(chosen_, {}));
  if (link) return std::move(*link);
  complaint_ = link.error().text;
  look_soon();
  return nullptr;
}

bool Picker::middle_of(const std::string& name, ImVec2& at) const {
  const auto found = rows_.find(name);
  return found != rows_.end() && (at = found->second, true);
}

void Picker::keys() {
  const auto pressed = [](ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key)); };
  const auto living = std::count_if(feeds_.begin(), feeds_.end(), alive);  // living feeds come first
  if (living == 0 || ImGui::GetIO().WantTextInput) return;
  const auto at =
      std::find_if(feeds_.begin(), feeds_.end(), [&](const FoundFeed& feed) { return feed.name == cursor_; }) -
      feeds_.begin();
  const auto step = static_cast<std::ptrdiff_t>(pressed(ImGuiKey_DownArrow)) - pressed(ImGuiKey_UpArrow);
  cursor_ = feeds_[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at + step, 0, living - 1))].name;
  if (pressed(ImGuiKey_Enter)) chosen_ = cursor_;
}

void Picker::draw_table() {
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingStretchProp;
  const Palette& colours = palette();
  const float room = ImGui::GetContentRegionAvail().y - 2 * ImGui::GetTextLineHeightWithSpacing();
  const float row = em() * kRow, wanted = row * (static_cast<float>(feeds_.size()) + 1.5F);
  if (!ImGui::BeginTable("feeds", 5, kFlags, {0, std::min(room, wanted)})) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("name", 0, 5);
  ImGui::TableSetupColumn("process", 0, 4);
  ImGui::TableSetupColumn("page", ImGuiTableColumnFlags_WidthFixed, em() * 3);
  ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed, em());
  ImGui::TableSetupColumn("state", 0, 5);
  column_heads({{" feed"}, {"process"}, {"page", true}, {""}, {"state"}});
  for (const FoundFeed& feed : feeds_) {
    ImGui::TableNextRow(0, row);
    ImGui::TableNextColumn();
    const ImU32 ink = alive(feed) ? colours.text : colours.dim;
    const float y = ImGui::GetCursorPosY() + (row - ImGui::GetTextLineHeight()) / 2 - ImGui::GetStyle().CellPadding.y;
    ImGui::PushID(feed.name.c_str());
    if (ImGui::Selectable("##feed", alive(feed) && feed.name == cursor_,
                          ImGuiSelectableFlags_SpanAllColumns | (alive(feed) ? 0 : ImGuiSelectableFlags_Disabled),
                          {0, row - 2 * ImGui::GetStyle().CellPadding.y}))
      chosen_ = feed.name;
    ImGui::PopID();
    const ImVec2 from = ImGui::GetItemRectMin(), to = ImGui::GetItemRectMax();
    rows_[feed.name] = {from.x + em() * 3, (from.y + to.y) / 2};
    ImGui::SameLine(0, 0);
    const auto cell = [&](std::string_view words, ImU32 colour) {
      ImGui::SetCursorPosY(y);
      text(fitted(words, ImGui::GetContentRegionAvail().x), colour);
      ImGui::TableNextColumn();
    };
    cell(" " + clean_text(feed.name), ink);
    cell(feed.program.empty() ? std::to_string(feed.process)
                              : fmt::format("{}  {}", feed.process, clean_text(feed.program)),
         colours.dim);
    ImGui::SetCursorPosY(y);
    ImGui::PushStyleColor(ImGuiCol_Text, ink);
    number(std::to_string(feed.page_size));
    ImGui::PopStyleColor();
    ImGui::TableNextColumn();
    ImGui::TableNextColumn();
    const std::string lives =
        fmt::format("alive, {}{}", plural(feed.groups, "group"), feed.controls ? ", takes controls" : "");
    ImGui::SetCursorPosY(y);
    text(fitted(alive(feed) ? lives : feed.ended, ImGui::GetContentRegionAvail().x),
         alive(feed) ? colours.good : colours.dim);
  }
  ImGui::EndTable();
}

void Picker::draw_file() {
  if (!open_) return;
  ImGui::Dummy({0, em() * 0.6F});
  ImGui::AlignTextToFramePadding();
  text("Or a recording:");
  ImGui::SameLine(0, em() * 0.6F);
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - em() * 4);
  open_wanted_ |= ImGui::InputTextWithHint("##path", "a file made with --record, or feed: { file: { path: FILE } }",
                                           path_.data(), path_.size(), ImGuiInputTextFlags_EnterReturnsTrue);
  rows_["##path"] = {ImGui::GetItemRectMin().x + em() * 2, (ImGui::GetItemRectMin().y + ImGui::GetItemRectMax().y) / 2};
  ImGui::SameLine(0, em() * 0.4F);
  open_wanted_ |= ImGui::Button("open");
}

void Picker::draw(const Area& area) {
  keys();
  rows_.clear();
  begin_panel("##feeds", area);
  const float width = std::min(ImGui::GetContentRegionAvail().x, em() * kWidth);
  ImGui::SetCursorPosX((ImGui::GetWindowWidth() - width) / 2);
  ImGui::SetCursorPosY(std::max(em(), area.height * 0.12F));
  ImGui::BeginChild("list", {width, 0});
  const bool any = !feeds_.empty() && alive(feeds_.front());
  if (any) {
    text("Which engine should be shown?");
    dim("Click it, or use up, down and Enter. The list updates itself.");
  } else {
    text("None of your processes publishes a feed now.");
    wrapped(
        fmt::format(
            "An engine publishes one with `feed: {{ shm: {{ name: serve-3 }} }}` in its file, a replay with `canopy "
            "replay ... --feed serve-3`.{}",
            waiting_ ? " The first feed that appears is shown here." : ""),
        palette().dim);
  }
  ImGui::Dummy({0, em() * 0.6F});
  if (!complaint_.empty()) wrapped(complaint_, palette().warn);
  draw_file();
  if (!feeds_.empty()) draw_table();
  ImGui::EndChild();
  end_panel();
}

}  // namespace canopy::inspector
