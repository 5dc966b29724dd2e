#include "draw.h"

#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>
#include <vector>

namespace canopy::inspector {
namespace {

const char* begin_of(std::string_view words) { return words.data() ? words.data() : ""; }
const char* end_of(std::string_view words) { return begin_of(words) + words.size(); }
float width_of(std::string_view words) { return ImGui::CalcTextSize(begin_of(words), end_of(words)).x; }

/// Returns the corners of a box as tall as a letter, in a line of widgets.
std::pair<ImVec2, ImVec2> swatch_place() {
  const float size = em() * 0.72F;
  ImVec2 at = ImGui::GetCursorScreenPos();
  at.y += (ImGui::GetTextLineHeight() - size) / 2;
  ImGui::Dummy({size, ImGui::GetTextLineHeight()});
  ImGui::SameLine(0, em() * 0.3F);
  return {at, {at.x + size, at.y + size}};
}

/// Draws a small button. Unlike ImGui's, it does not cut one pixel off the bottom of its label.
bool small_button(const char* label, ImU32 ink, ImU32 rest, ImU32 hovered, ImU32 held) {
  for (const ImGuiCol which : {ImGuiCol_Text, ImGuiCol_Button, ImGuiCol_ButtonHovered, ImGuiCol_ButtonActive})
    ImGui::PushStyleColor(which, 0);
  const bool pressed = ImGui::SmallButton(label);
  ImGui::PopStyleColor(4);
  ImVec2 from = ImGui::GetItemRectMin(), to = ImGui::GetItemRectMax();
  const ImVec2 words{from.x + ImGui::GetStyle().FramePadding.x, from.y};
  from.y -= 1, to.y += 1;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(from, to,
                      ImGui::IsItemActive()    ? held
                      : ImGui::IsItemHovered() ? hovered
                                               : rest,
                      ImGui::GetStyle().FrameRounding);
  list->AddText(words, ink, label,
                label + std::string_view(label).substr(0, std::string_view(label).find("##")).size());
  return pressed;
}

}  // namespace

void begin_panel(const char* title, const Area& area, std::string_view note, std::string_view help) {
  ImGui::SetNextWindowPos(area.from());
  ImGui::SetNextWindowSize({area.width, area.height});
  ImGui::Begin(title, nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoNav |
                   ImGuiWindowFlags_NoScrollWithMouse);
  const std::string_view name(title);
  if (const std::string_view shown = name.substr(0, name.find("##")); !shown.empty()) {
    text(shown, palette().dim);
    if (!help.empty()) explain(help);
    if (!note.empty()) {
      ImGui::SameLine();
      text(fitted(note, ImGui::GetContentRegionAvail().x));
    }
  }
}

void end_panel() { ImGui::End(); }

void text(std::string_view words) { ImGui::TextUnformatted(begin_of(words), end_of(words)); }
void text(std::string_view words, ImU32 colour) {
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  text(words);
  ImGui::PopStyleColor();
}
void dim(std::string_view words) { text(words, palette().dim); }

void number(std::string_view digits) {
  const float room = ImGui::GetContentRegionAvail().x - width_of(digits);
  if (room > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
  text(digits);
}

void wrapped(std::string_view words, ImU32 colour) { text(in_lines(words, ImGui::GetContentRegionAvail().x), colour); }

std::string in_lines(std::string_view words, float width) {
  std::string lines(words);
  std::size_t line = 0, space = std::string::npos;
  for (std::size_t at = 0; at <= lines.size(); ++at) {
    const bool ends = at == lines.size();
    if (!ends && lines[at] != ' ' && lines[at] != '\n') continue;
    if (space != std::string::npos && width_of(std::string_view(lines).substr(line, at - line)) > width) {
      lines[space] = '\n';
      line = space + 1;
    }
    space = at;
    if (!ends && lines[at] == '\n') line = at + 1, space = std::string::npos;
  }
  return lines;
}

void explain(std::string_view words) {
  if (!ImGui::IsItemHovered()) return;
  ImGui::BeginTooltip();
  text(in_lines(words, em() * 28));
  ImGui::EndTooltip();
}

void fact(const char* label, std::string_view value, float column) {
  dim(label);
  ImGui::SameLine(column * em());
  const std::string shown = fitted(value, ImGui::GetContentRegionAvail().x);
  text(shown);
  if (shown != value) explain(value);
}

void nothing_here(std::string_view sentence) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float width = std::min(room.x * 0.9F, em() * 30);
  const std::string lines = in_lines(sentence, width);
  const ImVec2 size = ImGui::CalcTextSize(lines.c_str());
  const ImVec2 at = ImGui::GetCursorPos();
  ImGui::SetCursorPos({at.x + std::max(0.F, (room.x - size.x) / 2), at.y + std::max(0.F, (room.y - size.y) / 2.5F)});
  dim(lines);
}

std::string fitted(std::string_view words, float width) {
  if (width_of(words) <= width) return std::string(words);
  // Not every font has the single ellipsis character.
  const char* const dots = ImGui::GetFont()->FindGlyphNoFallback(0x2026) ? "…" : "...";
  const float room = width - width_of(dots);
  const char* rest = nullptr;
  if (room <= 0) return {};
  ImGui::GetFont()->CalcTextSizeA(ImGui::GetFontSize(), room, 0, begin_of(words), end_of(words), &rest);
  if (rest == begin_of(words)) return {};
  return std::string(begin_of(words), rest) + dots;
}

std::string first_that_fits(std::initializer_list<std::string> ways, float width) {
  for (const std::string& words : ways)
    if (width_of(words) <= width - em() * 0.6F) return words;
  return *(ways.end() - 1);
}

void label(ImDrawList* list, ImVec2 from, ImVec2 to, std::string_view words, ImU32 colour, bool centred) {
  const float pad = em() * 0.3F;
  const std::string shown = fitted(words, to.x - from.x - 2 * pad);
  if (shown.empty()) return;
  const float x = centred ? (from.x + to.x - width_of(shown)) / 2 : from.x + pad;
  list->AddText({x, (from.y + to.y - em()) / 2}, colour, shown.data(), shown.data() + shown.size());
}

void hatch(ImDrawList* list, ImVec2 from, ImVec2 to, ImU32 colour, bool up, float step) {
  const float height = to.y - from.y;
  const float thickness = std::max(1.F, em() / 14);
  // Lines outside the clip rectangle are not drawn: a feed may report shares for which no bar has room.
  from.x = std::max(from.x, list->GetClipRectMin().x);
  to.x = std::min(to.x, list->GetClipRectMax().x);
  // Lines start on a grid of the screen, so that neighbouring boxes continue the same pattern.
  for (float x = std::floor(from.x / step) * step - height; x < to.x; x += step) {
    const float x0 = std::max(x, from.x), x1 = std::min(x + height, to.x);
    if (x1 <= x0) continue;
    const float y0 = up ? to.y - (x0 - x) : from.y + (x0 - x), y1 = up ? to.y - (x1 - x) : from.y + (x1 - x);
    list->AddLine({x0, y0}, {x1, y1}, colour, thickness);
  }
}

void state_box(ImDrawList* list, ImVec2 from, ImVec2 to, NodeState state) {
  const Palette& colours = palette();
  if (state == NodeState::tombstone) {
    list->AddRectFilled(from, to, with_alpha(colours.tombstone, 0.35F));
    hatch(list, from, to, colours.tombstone, false, em() * 0.4F);
    list->AddRect(from, to, colours.tombstone);
    return;
  }
  if (state == NodeState::without) {
    list->AddRectFilled(from, to, with_alpha(colours.line, 0.35F));
    list->AddRect(from, to, colours.line);
    return;
  }
  list->AddRectFilled(from, to, colours.of(state));
  if (state == NodeState::protected_) hatch(list, from, to, with_alpha(colours.on_fill, 0.28F), true, em() * 0.4F);
}

void swatch(ImU32 colour, std::string_view word) {
  const auto [from, to] = swatch_place();
  ImGui::GetWindowDrawList()->AddRectFilled(from, to, colour);
  ImGui::GetWindowDrawList()->AddRect(from, to, palette().line);
  dim(word);
}

void swatch(NodeState state, std::string_view word) {
  const auto [from, to] = swatch_place();
  state_box(ImGui::GetWindowDrawList(), from, to, state);
  dim(word);
}

namespace {

/// Draws a legend of the namespaces with the most tokens, each colour once.
void space_legend(const Mirror& mirror) {
  std::vector<std::uint32_t> spaces;
  for (std::uint32_t s = 0; s < mirror.spaces().size(); ++s)
    if (mirror.spaces()[s].nodes != 0) spaces.push_back(s);
  std::sort(spaces.begin(), spaces.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t in_a = mirror.spaces()[a].tokens, in_b = mirror.spaces()[b].tokens;
    return in_a != in_b ? in_a > in_b : a < b;
  });
  std::unordered_set<ImU32> used;
  bool first = true;
  for (const std::uint32_t s : spaces) {
    const ImU32 colour = palette().of(NamespaceId{s});
    if (!used.insert(colour).second) continue;
    if (!std::exchange(first, false)) ImGui::SameLine(0, em() * 0.9F);
    if (ImGui::GetContentRegionAvail().x < em() * 9 + ImGui::CalcTextSize("wheel zooms, drag pans").x) return dim("…");
    swatch(colour, fitted(mirror.space_name(NamespaceId{s}), em() * 7));
  }
}

}  // namespace

void colour_legend(ColourBy by, const Mirror& mirror) {
  const Palette& colours = palette();
  const auto next = [] { ImGui::SameLine(0, em() * 0.9F); };
  const auto scale = [&](const char* cold, const char* hot) {
    dim(cold);
    for (const ImU32 colour : colours.heat) {
      ImGui::SameLine(0, em() * 0.2F);
      const auto [from, to] = swatch_place();
      ImGui::GetWindowDrawList()->AddRectFilled(from, to, colour);
    }
    ImGui::SameLine(0, em() * 0.2F);
    dim(hot);
  };
  if (mirror.is_from_events() && (by == ColourBy::recency || by == ColourBy::hits))
    return dim("not known: KV events do not report uses");
  switch (by) {
    case ColourBy::state:
      if (mirror.is_from_events()) {
        swatch(NodeState::evictable, "cached");
        if (mirror.groups() > 1) {
          next();
          swatch(NodeState::without, "in another group");
        }
        break;
      }
      swatch(NodeState::evictable, "evictable");
      next();
      swatch(NodeState::protected_, "protected");
      for (std::size_t g = 0; g < mirror.groups(); ++g)
        if (mirror.pool(g).reach != kWholePath) {
          next();
          swatch(NodeState::tombstone, "tombstone (gap)");
          next();
          swatch(NodeState::without, "no pages kept");
          break;
        }
      break;
    case ColourBy::recency:
      scale("4,000 ticks ago", "just used");
      break;
    case ColourBy::hits:
      scale("no hit", "255 hits");
      break;
    case ColourBy::space:
      space_legend(mirror);
      break;
    case ColourBy::tier:
      swatch(colours.in_pools, "pools only");
      next();
      swatch(colours.in_both, "both tiers");
      next();
      swatch(colours.on_host, "host only");
      break;
  }
}

void storage_line(ImDrawList* list, ImVec2 from, ImVec2 to) {
  const float thick = std::max(2.F, std::round(em() * 0.18F));
  list->AddRectFilled({from.x, to.y - thick}, to, palette().on_fill);
  list->AddRectFilled({from.x, to.y - thick + std::floor(thick / 2)}, to, palette().selected);
}

void storage_legend() {
  ImGui::SameLine(0, em() * 0.9F);
  const auto [from, to] = swatch_place();
  ImGui::GetWindowDrawList()->AddRectFilled(from, to, palette().in_both);
  storage_line(ImGui::GetWindowDrawList(), from, to);
  dim("came from the storage; unknown for the rest");
}

void flow(float width, float indent, float gap) {
  const float spacing = em() * gap;
  const float right = ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x;
  if (ImGui::GetItemRectMax().x + spacing + width <= right) ImGui::SameLine(0, spacing);
  else ImGui::SetCursorPosX(indent);
}

float scroll_step() {
  const ImGuiWindow* under = ImGui::GetCurrentContext()->HoveredWindow;
  const auto scrolls = [](const ImGuiWindow& window) {
    return window.ScrollMax.y > 0 && (window.Flags & ImGuiWindowFlags_NoScrollWithMouse) == 0;
  };
  while (under && !scrolls(*under) && (under->Flags & ImGuiWindowFlags_ChildWindow) != 0) under = under->ParentWindow;
  // As ImGui::UpdateMouseWheel does.
  return under && scrolls(*under) ? std::min(5 * under->CalcFontSize(), under->InnerRect.GetHeight() * 0.67F) : 0;
}

bool button(const char* label, bool enabled) {
  if (!enabled) ImGui::BeginDisabled();
  const bool pressed =
      small_button(label, ImGui::GetColorU32(ImGuiCol_Text), ImGui::GetColorU32(ImGuiCol_Button),
                   ImGui::GetColorU32(ImGuiCol_ButtonHovered), ImGui::GetColorU32(ImGuiCol_ButtonActive));
  if (!enabled) ImGui::EndDisabled();
  return pressed && enabled;
}

bool hold_button(const char* label, bool chosen, float width) {
  const Palette& colours = palette();
  if (chosen) {
    for (const ImGuiCol which : {ImGuiCol_Button, ImGuiCol_ButtonHovered, ImGuiCol_ButtonActive})
      ImGui::PushStyleColor(which, colours.accent);
    ImGui::PushStyleColor(ImGuiCol_Text, colours.accent_text);
  }
  ImGui::Button(label, {width, 0});
  if (chosen) ImGui::PopStyleColor(4);
  const ImGuiIO& io = ImGui::GetIO();
  const ImVec2 from = ImGui::GetItemRectMin(), to = ImGui::GetItemRectMax();
  const float rounding = ImGui::GetStyle().FrameRounding;
  const bool held = ImGui::IsItemActive() && ImGui::IsItemHovered();
  const float share = held ? std::clamp(io.MouseDownDuration[0] / kHoldSeconds, 0.F, 1.F) : 0;
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (share > 0)
    list->AddRectFilled(from, {from.x + (to.x - from.x) * share, to.y}, with_alpha(colours.bad, 0.5F), rounding);
  const bool enabled = (ImGui::GetItemFlags() & ImGuiItemFlags_Disabled) == 0;
  list->AddRect(from, to, with_alpha(colours.bad, enabled ? 0.8F : 0.25F), rounding);
  return held && io.MouseDownDuration[0] >= kHoldSeconds && io.MouseDownDurationPrev[0] < kHoldSeconds;
}

bool choice(const char* label, bool chosen) {
  const Palette& colours = palette();
  if (!chosen) return button(label);
  return small_button(label, colours.accent_text, colours.accent, colours.accent,
                      mixed(colours.accent, colours.text, 0.2F));
}

}  // namespace canopy::inspector
