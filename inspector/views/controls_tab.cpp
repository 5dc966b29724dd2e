#include "controls_tab.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/names.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "draw.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

/// Returns the names of the eviction policies in the engine's registry.
std::vector<std::string> policies_of(const Mirror& mirror) {
  std::vector<std::string> names;
  for (const std::string& line : mirror.plugins()) {
    const std::size_t first = line.find('\t');
    if (first == std::string::npos || line.find("EvictionStrategy") > first) continue;
    names.push_back(line.substr(first + 1, line.find('\t', first + 1) - first - 1));
  }
  return names;
}

constexpr float kIndent = 5.5F, kNumber = 4, kUndo = 9, kUndoPolicy = 7, kSpace = 8;  ///< ems

/// Places the next button beside the previous one, if there is one.
void place(const std::string& name, bool& first) {
  if (!std::exchange(first, false))
    flow(ImGui::CalcTextSize(name.c_str()).x + ImGui::GetStyle().FramePadding.x * 2, em() * kIndent);
}

}  // namespace

void ControlsTab::line(const char* what) {
  const float y = ImGui::GetCursorPosY() - ImGui::GetScrollY();
  if (y < 0) above_ += (above_.empty() ? "" : ", ") + std::string(what);
  if (y + ImGui::GetFrameHeight() > ImGui::GetWindowHeight())
    below_ += (below_.empty() ? "" : ", ") + std::string(what);
  ImGui::AlignTextToFramePadding();
  dim(what);
  ImGui::SameLine(kIndent * em());
}

void ControlsTab::remember(const std::string& name) {
  const ImVec2 from = ImGui::GetItemRectMin(), to = ImGui::GetItemRectMax();
  buttons_[name] = {(from.x + to.x) / 2, (from.y + to.y) / 2};
}

bool ControlsTab::button(const std::string& name, float width) {
  const bool pressed = ImGui::Button(width > 0 ? fitted(name, width - em() * 0.5F).c_str() : name.c_str(), {width, 0});
  remember(name);
  return pressed;
}

bool ControlsTab::hold(const std::string& name, const char* meaning, bool chosen, float width) {
  const std::string label = width > 0 ? fitted(name, width - em() * 0.5F) : name;
  const bool done = hold_button((label + "##" + name).c_str(), chosen, width);
  remember(name);
  explain(fmt::format("{}{} Hold it for {} s.", width > 0 ? name + ": " : "", meaning, kHoldSeconds));
  return done;
}

bool ControlsTab::middle_of(const std::string& name, ImVec2& at) const {
  const auto found = buttons_.find(name);
  return found != buttons_.end() && (at = found->second, true);
}

/// Draws a number field beside the previous button. Returns true when Enter ends the input.
bool ControlsTab::number_after(const char* name, std::uint64_t& number, const char* after) {
  ImGui::PushID(name);
  ImGui::SameLine(0, em() * 0.3F);
  ImGui::SetNextItemWidth(em() * kNumber);
  const bool entered = ImGui::InputScalar("##number", ImGuiDataType_U64, &number, nullptr, nullptr, "%llu",
                                          ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
  if (*after) {
    ImGui::SameLine(0, em() * 0.3F);
    dim(after);
  }
  ImGui::PopID();
  return entered;
}

void ControlsTab::draw_until(Scene& scene) {
  const auto group = static_cast<std::uint32_t>(scene.selection.group);
  Mailbox& mailbox = scene.mailbox;
  const auto with_number = [&](const char* name, std::uint64_t& number, const char* after) {
    flow(ImGui::CalcTextSize(name).x + ImGui::CalcTextSize(after).x + em() * (kNumber + 2), em() * kIndent);
    const bool pressed = button(name);
    return number_after(name, number, after) || pressed;
  };
  line("run until");
  if (button("an eviction")) mailbox.run_until(Condition::evicted, 0, group);
  explain("The engine continues and pauses after the operation that evicts pages of this group (e).");
  ImGui::SameLine();
  if (button("a miss")) mailbox.run_until(Condition::missed, kAnySpace, group);
  explain("The engine pauses when a request begins that does not find all it could reuse (w).");
  const MirrorNode* node = scene.node();
  const char* const of_space = "a miss of its namespace";
  flow(ImGui::CalcTextSize(of_space).x + em(), em() * kIndent);
  if (!node) ImGui::BeginDisabled();
  if (button(of_space) && node) mailbox.run_until(Condition::missed, static_cast<std::uint64_t>(node->space), group);
  if (!node) ImGui::EndDisabled();
  explain(node ? "The same, for the selected node's namespace only: " + space_name(scene.mirror, node->space) + "."
               : std::string("The same, for one namespace only: select a node in it."));
  // Counts from now on, so that the number is never that of a request that has already begun.
  const std::uint64_t begun = scene.mirror.requests().empty() ? 0 : scene.mirror.requests().back().id;
  if (with_number("request", requests_, "from now")) mailbox.run_until(Condition::request, begun + requests_, group);
  explain(fmt::format("The engine pauses when request {} begins.", grouped(begun + requests_)));
  if (with_number("hit rate <", per_cent_, "%")) mailbox.run_until(Condition::hit_rate, per_cent_ * 10, group);
  explain("Hit rate of the last 64 requests' prompt tokens, counted from now on.");
  if (with_number("free <", pages_, "pages")) mailbox.run_until(Condition::free, pages_, group);
}

void ControlsTab::draw_pins(Scene& scene) {
  const std::set<std::uint64_t>& pins = scene.mirror.pins();
  const MirrorNode* node = scene.node();
  const bool pinned = node && pins.contains(node->id);
  line("pin");
  if (!node) ImGui::BeginDisabled();
  const std::string name = node ? (pinned ? "unpin " : "pin ") + node_name(node->id) : "pin a node";
  if (button(name, em() * 8) && node) scene.mailbox.send(pinned ? Command::Kind::unpin : Command::Kind::pin, node->id);
  if (!node) ImGui::EndDisabled();
  explain(
      "Locks the selected node's path until it is unpinned (p): it cannot be evicted, and requests cannot use its "
      "space. Pinning counts as a hit of the path.");
  flow(em() * 9, em() * kIndent);
  ImGui::SetNextItemWidth(em() * 9);
  if (pins.empty()) ImGui::BeginDisabled();
  if (ImGui::BeginCombo("##pins", pins.empty() ? "nothing pinned" : (grouped(pins.size()) + " pinned").c_str())) {
    for (const std::uint64_t id : pins)
      if (ImGui::Selectable(("unpin " + node_name(id)).c_str())) scene.mailbox.send(Command::Kind::unpin, id);
    ImGui::EndCombo();
  }
  if (pins.empty()) ImGui::EndDisabled();
}

void ControlsTab::draw_limit(Scene& scene) {
  const MirrorPool& pool = scene.pool();
  const std::uint64_t page = scene.mirror.page_size();
  const bool limited = pool.limit != kUnlimited;
  const std::uint64_t tokens = (limited ? pool.limit : pool.pages) * page;
  std::vector<std::uint64_t>& before = before_[scene.selection.group].limits;
  const auto send = [&](std::uint64_t limit) {
    scene.mailbox.send(Command::Kind::resize, std::max(limit, page), static_cast<std::uint32_t>(scene.selection.group));
  };
  const auto resize = [&](std::uint64_t limit) {
    before.push_back(limited ? tokens : kUnlimited);
    send(limit);
  };
  line("limit");
  if (limit_ == 0 || std::exchange(limit_of_, scene.selection.group) != scene.selection.group) limit_ = tokens;
  if (hold("a quarter less",
           "A smaller limit: the pool evicts down to it, relocates pages out of draining segments, and waits for pages "
           "that requests still use."))
    resize(limit_ = tokens - tokens / 4);
  flow(ImGui::CalcTextSize("a quarter more").x + em(), em() * kIndent);
  if (hold("a quarter more", "A larger limit: the pool allocates the memory when it needs it."))
    resize(limit_ = tokens + tokens / 4);
  flow(ImGui::CalcTextSize("set to tokens").x + em() * (kNumber + 2), em() * kIndent);
  if (hold("set to", "Sets the limit to this many tokens.")) resize(limit_);
  number_after("set to", limit_, "tokens");
  flow(em() * kUndo, em() * kIndent);
  const bool none = before.empty();
  if (none) ImGui::BeginDisabled();
  const std::string undo = before.empty()                ? "undo"
                           : before.back() == kUnlimited ? "undo: unlimited"
                                                         : "undo: " + grouped(before.back());
  if (hold(undo, "Restores the previous limit.", false, em() * kUndo) && !none) send(before.back()), before.pop_back();
  if (none) ImGui::EndDisabled();
}

void ControlsTab::draw_read_only(Mailbox& mailbox) {
  flow(ImGui::CalcTextSize("read only").x + em(), em() * kIndent);
  if (mailbox.locked) ImGui::BeginDisabled();
  if (choice("read only", mailbox.read_only)) mailbox.read_only = !mailbox.read_only, mailbox.commands.clear();
  if (mailbox.locked) ImGui::EndDisabled();
  remember("read only");
  explain(mailbox.locked ? "The inspector was started with --read-only: nothing is sent to the engine."
                         : "While this is on, no button and no key sends anything to the engine.");
}

void ControlsTab::draw_engine(Scene& scene) {
  Mailbox& mailbox = scene.mailbox;
  line("engine");
  if (!mailbox.obeyed()) ImGui::BeginDisabled();
  if (button(mailbox.paused ? "go on" : "pause", em() * 4.5F))
    mailbox.send(mailbox.paused ? Command::Kind::go_on : Command::Kind::pause);
  for (const int steps : {1, 10, 100}) {
    const std::string words = fmt::format("step {}", steps);
    flow(ImGui::CalcTextSize(words.c_str()).x + 2 * ImGui::GetStyle().FramePadding.x, em() * kIndent, 0.6F);
    if (button(words)) mailbox.send(Command::Kind::step, static_cast<std::uint64_t>(steps));
  }
  if (!mailbox.obeyed()) ImGui::EndDisabled();
  draw_read_only(mailbox);
}

void ControlsTab::draw_evict(Scene& scene) {
  line("evict");
  for (const std::uint64_t pages : {1U, 64U, 1024U}) {
    if (pages != 1) ImGui::SameLine();
    if (hold(plural(pages, "page"), "Evicts this many pages, in the order of the policy."))
      scene.mailbox.send(Command::Kind::evict, pages, static_cast<std::uint32_t>(scene.selection.group));
  }
}

void ControlsTab::draw_policies(Scene& scene) {
  const std::size_t group = scene.selection.group;
  const std::string& now = scene.pool().policy;
  std::vector<std::string>& before = before_[group].policies;
  const auto send = [&](const std::string& name) {
    scene.mailbox.send(Command::Kind::policy, 0, static_cast<std::uint32_t>(group), name);
  };
  line("policy");
  bool first = true;
  for (const std::string& name : policies_of(scene.mirror)) {
    place(name, first);
    if (hold(name, "Switches this group to this eviction policy, which ranks all nodes again.", name == now) &&
        name != now)
      before.push_back(now), send(name);
  }
  flow(em() * kUndoPolicy, em() * kIndent);
  const bool none = before.empty() || before.back() == now;  // an index may have refused the change
  if (none) ImGui::BeginDisabled();
  if (hold(none ? "undo " : "undo: " + before.back(), "Restores the previous policy.", false, em() * kUndoPolicy) &&
      !none)
    send(before.back()), before.pop_back();
  if (none) ImGui::EndDisabled();
}

/// Draws a button for every namespace so far, in the order of their first use: no button moves when a namespace becomes
/// empty.
void ControlsTab::draw_flush(Scene& scene) {
  line("flush");
  bool first = true;
  for (std::size_t s = 0; s < scene.mirror.spaces().size(); ++s) {
    if (!std::exchange(first, false)) flow(em() * kSpace, em() * kIndent);
    const bool empty = scene.mirror.spaces()[s].nodes == 0;
    if (empty) ImGui::BeginDisabled();
    ImGui::PushID(static_cast<int>(s));
    if (hold(space_name(scene.mirror, NamespaceId{static_cast<std::uint32_t>(s)}),
             "evicts everything cached for this namespace that is under no lock.", false, em() * kSpace))
      scene.mailbox.send(Command::Kind::flush, s);
    ImGui::PopID();
    if (empty) ImGui::EndDisabled();
  }
}

void ControlsTab::draw_lines(Scene& scene) {
  buttons_.clear();
  above_.clear(), below_.clear();
  if (std::exchange(feed_, scene.session.feed) != scene.session.feed) before_ = {}, limit_ = 0;
  draw_engine(scene);
  if (!scene.mailbox.obeyed()) ImGui::BeginDisabled();
  draw_until(scene);
  draw_pins(scene);
  draw_evict(scene);
  draw_limit(scene);
  draw_policies(scene);
  draw_flush(scene);
  if (!scene.mailbox.obeyed()) ImGui::EndDisabled();
}

/// Draws a line that is always present: why the engine is paused, which pages drain, and which lines are out of sight,
/// because a scroll bar is easily overlooked.
void ControlsTab::draw_foot(const Scene& scene) {
  std::string words;
  const auto add = [&](const std::string& more) { words += (words.empty() ? "" : "; ") + more; };
  if (const std::uint64_t draining = scene.pool().draining(); draining > 0)
    add(plural(draining, "page") + " draining: in use by requests");
  if (scene.mailbox.in_past) add("the past is shown: nothing is sent to the engine until you are back at now");
  if (!scene.mirror.paused().empty()) add("paused: " + scene.mirror.paused());
  const bool warns = !words.empty();
  if (!below_.empty()) add("scroll for " + below_);
  else if (!above_.empty()) add("above: " + above_);
  text(fitted(words, ImGui::GetContentRegionAvail().x), warns ? palette().warn : palette().dim);
  if (!words.empty()) explain(words);
}

void ControlsTab::draw(Scene& scene) {
  if (!scene.mailbox.open)
    return nothing_here(scene.session.state == Session::State::recording
                            ? "A recording is in the past: there is no engine to control."
                            : "This feed can only be viewed. To allow controls, write `feed: { shm: { name: NAME, "
                              "controls: true } }` in the engine's file, and call Engine::poll() in its loop.");
  const float room = ImGui::GetContentRegionAvail().y;
  const bool low = room < em() * 15;
  if (low) {
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ImGui::GetStyle().FramePadding.x, std::round(em() * 0.08F)});
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ImGui::GetStyle().ItemSpacing.x, std::round(em() * 0.22F)});
  }
  ImGui::BeginChild("controls", {0, room - ImGui::GetTextLineHeightWithSpacing()});
  draw_lines(scene);
  ImGui::EndChild();
  draw_foot(scene);
  if (low) ImGui::PopStyleVar(2);
}

PanelInfo controls_tab() {
  return {
      .title = "CONTROLS",
      .row = Row::tab,
      .key = '2',
      .help = "Pause, step, run until, pin, evict, resize, change policy, flush",
      .make = make_panel<ControlsTab>,
      .not_in_events = "The feed is made from KV events, through which a server takes no commands.",
  };
}

}  // namespace canopy::inspector
