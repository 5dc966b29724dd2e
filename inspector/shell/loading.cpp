#include "loading.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/clean_text.h>

#include <algorithm>
#include <utility>

#include <views/palette.h>

namespace canopy::inspector {

bool Loading::draw(const Session& session, const Area& area) {
  const auto now = Clock::now();
  // A smaller value means another stage, or another target.
  if (session.done < std::exchange(last_, session.done)) began_ = now, done_at_begin_ = session.done;
  const double passed = std::chrono::duration<double>(now - began_).count(), did = session.done - done_at_begin_;
  std::string words = session.reading;
  if (passed > 1 && did > 0) words += fmt::format(", {} left", duration(passed / did * (1 - session.done)));

  begin_panel("##loading", area);
  const float width = std::min(ImGui::GetContentRegionAvail().x, em() * 34), x = (area.width - width) / 2;
  ImGui::SetCursorPos({x, area.height * 0.36F});
  text(fitted("Reading " + clean_text(session.name), width));
  const ImVec2 from{area.x + x, ImGui::GetCursorScreenPos().y + em() * 0.3F}, to{from.x + width, from.y + em() * 0.7F};
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float share = static_cast<float>(std::clamp(session.done, 0.0, 1.0));
  list->AddRectFilled(from, to, palette().line, em() * 0.2F);
  list->AddRectFilled(from, {from.x + width * share, to.y}, palette().accent, em() * 0.2F);
  ImGui::SetCursorPos({x, ImGui::GetCursorPosY() + em() * 1.4F});
  dim(fitted(fmt::format("{:.0f} %  {}", session.done * 100, words), width));
  ImGui::SetCursorPos({x, ImGui::GetCursorPosY() + em() * 0.6F});
  const bool stop = ImGui::Button("stop here");
  const ImVec2 a = ImGui::GetItemRectMin(), b = ImGui::GetItemRectMax();
  stop_ = {(a.x + b.x) / 2, (a.y + b.y) / 2};
  explain("Shows the moment reached so far (Esc). The key End continues to the end.");
  end_panel();
  return stop;
}

}  // namespace canopy::inspector
