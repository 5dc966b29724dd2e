#include "controls_tab.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "draw.h"
#include "names.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

/// Names of the eviction policies that the engine's registry has.
std::vector<std::string> policies_of(const Mirror& mirror) {
  std::vector<std::string> names;
  for (const std::string& line : mirror.plugins()) {
    const std::size_t first = line.find('\t');
    if (first == std::string::npos || line.find("EvictionStrategy") > first) continue;
    names.push_back(line.substr(first + 1, line.find('\t', first + 1) - first - 1));
  }
  return names;
}

/// Beside the button before, if there is one.
void place(const std::string& name, bool& first) {
  if (!std::exchange(first, false))
    flow(ImGui::CalcTextSize(name.c_str()).x + ImGui::GetStyle().FramePadding.x * 2, em() * 5.5F);
}

}  // namespace

void ControlsTab::line(const char* what) {
  const float y = ImGui::GetCursorPosY() - ImGui::GetScrollY();
  if (y < 0) above_ += (above_.empty() ? "" : ", ") + std::string(what);
  if (y + ImGui::GetFrameHeight() > ImGui::GetWindowHeight())
    below_ += (below_.empty() ? "" : ", ") + std::string(what);
  ImGui::AlignTextToFramePadding();
  dim(what);
  ImGui::SameLine(em() * 5.5F);
}

bool ControlsTab::button(const std::string& name) {
  const bool pressed = ImGui::Button(name.c_str());
  const ImVec2 from = ImGui::GetItemRectMin(), to = ImGui::GetItemRectMax();
  buttons_[name] = {(from.x + to.x) / 2, (from.y + to.y) / 2};
  return pressed;
}

bool ControlsTab::middle_of(const std::string& name, ImVec2& at) const {
  const auto found = buttons_.find(name);
  return found != buttons_.end() && (at = found->second, true);
}

/// A number to write beside its button. Enter in it is as good as the button.
bool ControlsTab::number_and_button(const char* name, std::uint64_t& number, const char* after) {
  const float width = em() * 4;
  flow(width + ImGui::CalcTextSize(name).x + ImGui::CalcTextSize(after).x + em() * 3, em() * 5.5F);
  ImGui::PushID(name);
  const bool pressed = button(name);
  ImGui::SameLine(0, em() * 0.3F);
  ImGui::SetNextItemWidth(width);
  const bool entered = ImGui::InputScalar("##number", ImGuiDataType_U64, &number, nullptr, nullptr, "%llu",
                                          ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
  if (*after) {
    ImGui::SameLine(0, em() * 0.3F);
    dim(after);
  }
  ImGui::PopID();
  return pressed || entered;
}

void ControlsTab::draw_until(Scene& scene) {
  const auto group = static_cast<std::uint32_t>(scene.selection.group);
  Mailbox& mailbox = scene.mailbox;
  line("run until");
  if (button("an eviction")) mailbox.run_until(Condition::evicted, 0, group);
  explain("The engine goes on, and pauses itself after the operation that evicts from this group (e).");
  ImGui::SameLine();
  if (button("a miss")) mailbox.run_until(Condition::missed, kAnySpace, group);
  explain("It pauses when a request begins that does not find all it could reuse (w).");
  if (const MirrorNode* node = scene.node()) {
    const std::string words = "a miss of " + space_name(scene.mirror, node->space);
    flow(ImGui::CalcTextSize(words.c_str()).x + em(), em() * 5.5F);
    if (button(words)) mailbox.run_until(Condition::missed, static_cast<std::uint64_t>(node->space), group);
    explain("The same, of the selected node's namespace alone.");
  }
  // A request that has not begun yet, whatever number stood there.
  const std::uint64_t begun = scene.mirror.requests().empty() ? 0 : scene.mirror.requests().back().id;
  if (request_ <= begun) request_ = (begun / 100 + 1) * 100;
  if (number_and_button("request", request_, "")) mailbox.run_until(Condition::request, request_, group);
  if (number_and_button("hit rate <", per_cent_, "%")) mailbox.run_until(Condition::hit_rate, per_cent_ * 10, group);
  explain("Of the prompt tokens of the last 64 requests, counted from now on.");
  if (number_and_button("free <", pages_, "pages")) mailbox.run_until(Condition::free, pages_, group);
}

void ControlsTab::draw_pins(Scene& scene) {
  const std::set<std::uint64_t>& pins = scene.mirror.pins();
  const MirrorNode* node = scene.node();
  line("pin");
  if (node && !pins.contains(node->id)) {
    if (button("pin " + node_name(node->id))) scene.mailbox.send(Command::Kind::pin, node->id);
    explain(
        "Locks the selected node's path until it is unpinned (p): it cannot be evicted, and requests cannot have "
        "its room. It counts as a hit of the path.");
  } else if (pins.empty()) {
    dim("select a node to pin its path");
  }
  bool first = !node || pins.contains(node->id);
  for (const std::uint64_t id : pins) {
    const std::string name = "unpin " + node_name(id);
    place(name, first);
    if (button(name)) scene.mailbox.send(Command::Kind::unpin, id);
  }
}

void ControlsTab::draw_limit(Scene& scene) {
  const MirrorPool& pool = scene.pool();
  const std::uint64_t page = scene.mirror.page_size();
  const auto resize = [&](std::uint64_t tokens) {
    scene.mailbox.send(Command::Kind::resize, std::max(tokens, page),
                       static_cast<std::uint32_t>(scene.selection.group));
  };
  line("limit");
  const std::uint64_t tokens = (pool.limit == kUnlimited ? pool.pages : pool.limit) * page;
  if (limit_ == 0 || std::exchange(limit_of_, scene.selection.group) != scene.selection.group) limit_ = tokens;
  if (button("a quarter less")) resize(limit_ = tokens - tokens / 4);
  explain(
      "A smaller limit: the pool evicts down to it, relocates pages out of the segments that drain, and waits for "
      "pages that requests use.");
  ImGui::SameLine();
  if (button("a quarter more")) resize(limit_ = tokens + tokens / 4);
  explain("A larger limit: the pool takes the memory when it needs it.");
  if (number_and_button("set to", limit_, "tokens")) resize(limit_);
  if (const std::uint64_t draining = pool.draining(); draining > 0)
    wrapped(fmt::format("{} draining: requests use them", plural(draining, "page")), palette().warn);
}

void ControlsTab::draw_engine(Scene& scene) {
  Mailbox& mailbox = scene.mailbox;
  line("engine");
  if (ImGui::Button(mailbox.paused ? "go on" : "pause"))
    mailbox.send(mailbox.paused ? Command::Kind::go_on : Command::Kind::pause);
  for (const int steps : {1, 10, 100}) {
    ImGui::SameLine();
    if (ImGui::Button(fmt::format("step {}", steps).c_str()))
      mailbox.send(Command::Kind::step, static_cast<std::uint64_t>(steps));
  }
  if (scene.mirror.paused().empty()) return;
  line("paused");
  wrapped(scene.mirror.paused(), palette().warn);
}

void ControlsTab::draw_evict(Scene& scene) {
  line("evict");
  for (const std::uint64_t pages : {1U, 64U, 1024U}) {
    if (pages != 1) ImGui::SameLine();
    if (ImGui::Button(plural(pages, "page").c_str()))
      scene.mailbox.send(Command::Kind::evict, pages, static_cast<std::uint32_t>(scene.selection.group));
  }
}

void ControlsTab::draw_policies(Scene& scene) {
  line("policy");
  bool first = true;
  for (const std::string& name : policies_of(scene.mirror)) {
    place(name, first);
    const bool chosen = name == scene.pool().policy;
    if (chosen) ImGui::PushStyleColor(ImGuiCol_Button, palette().accent);
    if (chosen) ImGui::PushStyleColor(ImGuiCol_Text, palette().accent_text);
    if (ImGui::Button(name.c_str()))
      scene.mailbox.send(Command::Kind::policy, 0, static_cast<std::uint32_t>(scene.selection.group), name);
    if (chosen) ImGui::PopStyleColor(2);
  }
}

void ControlsTab::draw_flush(Scene& scene) {
  line("flush");
  bool first = true;
  for (std::size_t s = 0; s < scene.mirror.spaces().size(); ++s) {
    if (scene.mirror.spaces()[s].nodes == 0) continue;
    const std::string name = space_name(scene.mirror, NamespaceId{static_cast<std::uint32_t>(s)});
    place(name, first);
    if (ImGui::Button(name.c_str())) scene.mailbox.send(Command::Kind::flush, s);
    explain("Evicts all that is cached for this namespace and is under no lock.");
  }
}

void ControlsTab::draw_lines(Scene& scene) {
  buttons_.clear();
  above_.clear(), below_.clear();
  draw_engine(scene);
  draw_until(scene);
  draw_pins(scene);
  draw_evict(scene);
  draw_limit(scene);
  draw_policies(scene);
  draw_flush(scene);
  tall_ = ImGui::GetCursorPosY();
}

void ControlsTab::draw(Scene& scene) {
  if (!scene.mailbox.open)
    return nothing_here(
        scene.session.state == Session::State::recording
            ? "A recording has happened: there is no engine to control."
            : "This feed can be looked at only. To allow controls, write `feed: { shm: { name: NAME, controls: "
              "true } }` in the engine's file, and let its loop call Engine::poll().");
  const float room = ImGui::GetContentRegionAvail().y;
  const bool low = room < em() * 15;
  if (low) {
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ImGui::GetStyle().FramePadding.x, std::round(em() * 0.08F)});
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ImGui::GetStyle().ItemSpacing.x, std::round(em() * 0.22F)});
  }
  // What does not fit is named under the rest: a scroll bar alone is overlooked.
  const bool fits = tall_ <= room;
  ImGui::BeginChild("controls", {0, fits ? 0 : room - ImGui::GetTextLineHeightWithSpacing()});
  draw_lines(scene);
  ImGui::EndChild();
  if (!fits)
    dim(fitted(below_.empty() ? "above: " + above_ : "scroll for " + below_, ImGui::GetContentRegionAvail().x));
  if (low) ImGui::PopStyleVar(2);
}

PanelInfo controls_tab() {
  return {
      .title = "CONTROLS",
      .row = Row::tab,
      .key = '2',
      .help = "Pause, step, run until, pin, evict, resize, another policy, flush",
      .make = make_panel<ControlsTab>,
  };
}

}  // namespace canopy::inspector
