#include <canopy/support/figures.h>
#include <fmt/format.h>

#include "panels.h"

namespace canopy::inspector {
namespace {

struct Light {
  const char* word;
  ImU32 colour;
};

Light light_of(const Scene& scene) {
  const Palette& colours = palette();
  switch (scene.session.state) {
    case Session::State::choosing:
      return {"no feed yet", colours.warn};
    case Session::State::attaching:
      return {"attaching", colours.warn};
    case Session::State::held:
      return {"picture held", colours.warn};
    case Session::State::gone:
      return {"engine gone", colours.bad};
    case Session::State::recording:
      return {scene.time.playing ? "playing" : "recording", colours.accent};
    case Session::State::live:
      break;
  }
  if (!scene.mirror.in_step()) return {"catching up", colours.warn};
  if (scene.mailbox.paused) return {"engine paused", colours.warn};
  return {"live", colours.good};
}

}  // namespace

void draw_header(Scene& scene, const Area& area) {
  begin_panel("##header", area);
  const Palette& colours = palette();
  ImGui::AlignTextToFramePadding();
  const auto apart = [] {
    ImGui::SameLine(0, em());
    text("|", palette().line);
    ImGui::SameLine(0, em());
  };
  text("canopy", colours.accent);
  if (!scene.session.name.empty()) {
    apart();
    text(fitted(scene.session.name, em() * 18));
    explain(scene.session.name);
    ImGui::SameLine();
    dim(fmt::format("({})", scene.session.source));
  }
  if (scene.mirror.in_step()) {
    apart();
    dim("tick");
    ImGui::SameLine();
    text(grouped(scene.mirror.tick()));
    explain("The engine's logical clock. Nothing here is decided by wall time.");
    apart();
    text(fmt::format(
        "{} in {}", plural(scene.mirror.node_count(), "node"),
        plural(static_cast<std::uint64_t>(std::count_if(scene.mirror.spaces().begin(), scene.mirror.spaces().end(),
                                                        [](const Mirror::Space& space) { return space.nodes != 0; })),
               "namespace")));
    ImGui::SameLine();
    dim(fmt::format("page {}", scene.mirror.page_size()));
    apart();
    for (std::size_t g = 0; g < scene.mirror.groups(); ++g) {
      const MirrorPool& pool = scene.mirror.pool(g);
      if (g != 0) ImGui::SameLine();
      const std::string words = fmt::format("{}: {}", pool.name, pool.policy);
      if (scene.mirror.groups() == 1) text(words);
      else if (choice(words.c_str(), g == scene.selection.group)) scene.selection.group = g;
      explain(pool.reach == kWholePath
                  ? "A KV cache group and its eviction policy. Its whole path must be resident."
                  : fmt::format("A KV cache group and its eviction policy. A prefix is reusable while its last {} "
                                "tokens are resident.",
                                grouped(pool.reach)));
    }
    apart();
    if (scene.mirror.drift() == 0) {
      dim("drift 0");
    } else {
      text(fmt::format("drift {}", plural(scene.mirror.drift(), "page")), colours.bad);
    }
    explain(
        "Pages by which what this picture counts differs from the totals that the engine sends along. Anything "
        "but 0 is a fault, in the engine or in here.");
    if (scene.session.laps != 0) {
      apart();
      text(fmt::format("lapped {} x", grouped(scene.session.laps)), colours.warn);
      explain(
          "Times that events came faster than they were read. The picture was told anew; history before the last "
          "one is gone.");
    }
  }

  const Light light = light_of(scene);
  const float width = ImGui::CalcTextSize(light.word).x + em() * 1.3F;
  ImGui::SameLine(ImGui::GetWindowWidth() - width - em() * 3.4F);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddCircleFilled(
      {at.x + em() * 0.4F, at.y + ImGui::GetStyle().FramePadding.y + em() * 0.55F}, em() * 0.3F, light.colour);
  ImGui::SetCursorScreenPos({at.x + em(), at.y});
  text(light.word, light.colour);
  if (scene.mailbox.paused && !scene.mirror.paused().empty()) explain("Paused: " + scene.mirror.paused() + ".");
  ImGui::SameLine(ImGui::GetWindowWidth() - em() * 2.2F);
  if (ImGui::SmallButton(" ? ")) scene.selection.help = true;
  end_panel();
}

}  // namespace canopy::inspector
