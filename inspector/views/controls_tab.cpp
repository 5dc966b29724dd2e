#include <fmt/format.h>

#include <utility>

#include "figures.h"
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

void draw_controls(Scene& scene) {
  Mailbox& mailbox = scene.mailbox;
  const auto group = static_cast<std::uint32_t>(scene.selection.group);
  if (!mailbox.open)
    return nothing_here(
        scene.session.state == Session::State::recording
            ? "A recording has happened: there is no engine to control."
            : "This feed can be looked at only. To allow controls, write `feed: { shm: { name: NAME, controls: "
              "true } }` in the engine's file, and let its loop call Engine::poll().");
  ImGui::BeginChild("controls");
  const auto line = [](const char* what) {
    ImGui::AlignTextToFramePadding();
    dim(what);
    ImGui::SameLine(em() * 5.5F);
  };
  line("engine");
  if (ImGui::Button(mailbox.paused ? "go on" : "pause"))
    mailbox.send(mailbox.paused ? Command::Kind::go_on : Command::Kind::pause);
  for (const int steps : {1, 10, 100}) {
    ImGui::SameLine();
    if (ImGui::Button(fmt::format("step {}", steps).c_str()))
      mailbox.send(Command::Kind::step, static_cast<std::uint64_t>(steps));
  }
  line("evict");
  for (const std::uint64_t pages : {1U, 64U, 1024U}) {
    if (pages != 1) ImGui::SameLine();
    if (ImGui::Button(plural(pages, "page").c_str())) mailbox.send(Command::Kind::evict, pages, group);
  }
  line("policy");
  bool first = true;
  for (const std::string& name : policies_of(scene.mirror)) {
    place(name, first);
    const bool chosen = name == scene.pool().policy;
    if (chosen) ImGui::PushStyleColor(ImGuiCol_Button, palette().accent);
    if (chosen) ImGui::PushStyleColor(ImGuiCol_Text, palette().accent_text);
    if (ImGui::Button(name.c_str())) mailbox.send(Command::Kind::policy, 0, group, name);
    if (chosen) ImGui::PopStyleColor(2);
  }
  line("flush");
  first = true;
  for (std::size_t s = 0; s < scene.mirror.spaces().size(); ++s) {
    if (scene.mirror.spaces()[s].nodes == 0) continue;
    const std::string name = space_name(scene.mirror, NamespaceId{static_cast<std::uint32_t>(s)});
    place(name, first);
    if (ImGui::Button(name.c_str())) mailbox.send(Command::Kind::flush, s);
    explain("Lets go of all that is cached for this namespace and that no request holds.");
  }
  ImGui::EndChild();
}

void draw_compare(Scene& scene) {
  Timeline& time = scene.time;
  if (time.a == 0 || time.b == 0)
    return nothing_here(time.a == 0 ? "Press A to remember this moment, and B at another one: what came and what left "
                                      "between the two stands here then."
                                    : "A is set. Press B at another moment to compare the two.");
  ImGui::BeginChild("compare");
  const Difference& difference = time.difference;
  text(fmt::format("A: commit {}    B: commit {}", grouped(time.a), grouped(time.b)));
  text(fmt::format("+ {} came, {} tokens", plural(difference.appeared.size(), "node"),
                   grouped(difference.appeared_tokens)),
       palette().good);
  text(fmt::format("- {} left, {} tokens", plural(difference.left.size(), "node"), grouped(difference.left_tokens)),
       palette().bad);
  const auto list = [&](const char* what, const std::vector<std::uint64_t>& ids) {
    constexpr std::size_t kShown = 200;
    for (std::size_t i = 0; i < ids.size() && i < kShown; ++i) {
      const MirrorNode* node = scene.mirror.find(ids[i]);
      const std::string words =
          fmt::format("{} {}  {}", what, node_name(ids[i]), node ? plural(node->length, "token") : "not here now");
      if (ImGui::Selectable(words.c_str(), ids[i] == scene.selection.node)) scene.selection.select_node(ids[i]);
    }
    if (ids.size() > kShown) dim(fmt::format("  and {} more", grouped(ids.size() - kShown)));
  };
  list("+", difference.appeared);
  list("-", difference.left);
  ImGui::EndChild();
}

}  // namespace canopy::inspector
