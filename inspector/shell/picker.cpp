#include "picker.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/clean_text.h>

#include <algorithm>
#include <utility>

#include <views/list_table.h>
#include <views/palette.h>

namespace canopy::inspector {
namespace {

using listing::Tone;
using listing::Unit;

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
  const float room = ImGui::GetContentRegionAvail().y - 2 * ImGui::GetTextLineHeightWithSpacing();
  const float wanted = em() * kRow * (static_cast<float>(feeds_.size()) + 1.5F);
  const auto tone = [](const FoundFeed& feed) { return alive(feed) ? Tone::plain : Tone::dim; };
  listing::Listing<FoundFeed> list;
  list.add(" feed", Unit::text, [](const FoundFeed& feed) { return " " + clean_text(feed.name); }).in_tone(tone);
  list.add("process", Unit::text,
           [](const FoundFeed& feed) {
             return feed.program.empty() ? std::to_string(feed.process)
                                         : fmt::format("{}  {}", feed.process, clean_text(feed.program));
           })
      .in_tone(Tone::dim);
  list.add("page", Unit::count, [](const FoundFeed& feed) { return feed.page_size; }).wide(3).in_tone(tone);
  list.add("", Unit::text, [](const FoundFeed&) { return std::string(); }).wide(1);
  list.add("state", Unit::text,
           [](const FoundFeed& feed) {
             return alive(feed) ? fmt::format("alive, {}{}", plural(feed.groups, "group"),
                                              feed.controls ? ", takes controls" : "")
                                : feed.ended;
           })
      .in_tone([](const FoundFeed& feed) { return alive(feed) ? Tone::good : Tone::dim; });
  ImGui::BeginChild("feeds", {0, std::min(room, wanted)});
  ListTable<FoundFeed>{
      .id = "feeds",
      .columns = list,
      .click = [&](const FoundFeed& feed) { chosen_ = feed.name; },
      .is_chosen = [&](const FoundFeed& feed) { return alive(feed) && feed.name == cursor_; },
      .is_enabled = alive,
      .draw_cell =
          [&](const std::string& head, const FoundFeed& feed) {
            const ImVec2 from = ImGui::GetItemRectMin(), to = ImGui::GetItemRectMax();
            if (head == " feed") rows_[feed.name] = {from.x + em() * 3, (from.y + to.y) / 2};  // that of the row
            return false;
          },
      .height = kRow,
  }
      .draw(feeds_);
  ImGui::EndChild();
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
