#include <canopy/support/figures.h>
#include <fmt/format.h>
#include <sources/what_if.h>

#include <algorithm>
#include <array>

#include "draw.h"
#include "panels.h"
#include "what_if_chart.h"

namespace canopy::inspector {
namespace {

/// 3M, 750k or 12845, as `canopy compare` reads it.
std::string amount(std::uint64_t tokens) {
  if (tokens != 0 && tokens % 1'000'000 == 0) return fmt::format("{}M", tokens / 1'000'000);
  if (tokens != 0 && tokens % 1'000 == 0) return fmt::format("{}k", tokens / 1'000);
  return std::to_string(tokens);
}

/// Of the first group's pool, which the limits of a comparison are those of; 0: none, or not known.
std::uint64_t limit_of(const Mirror& mirror) {
  if (mirror.groups() == 0) return 0;
  const std::uint64_t pages = mirror.pool(0).limit;
  return pages == kUnlimited ? 0 : pages * mirror.page_size();
}

/// A line that is written into, filled once with a proposal.
struct Field {
  std::array<char, 1024> letters{};

  void propose(const std::string& words) {
    if (letters[0] == 0) words.copy(letters.data(), letters.size() - 1);
  }
  /// True when Enter was pressed in it.
  bool draw(const char* name, float width) {
    ImGui::SetNextItemWidth(width);
    ImGui::PushID(name);
    const bool entered =
        ImGui::InputText("##words", letters.data(), letters.size(), ImGuiInputTextFlags_EnterReturnsTrue);
    ImGui::PopID();
    return entered;
  }
};

struct Column {
  Field& field;
  const char* name;
  float share;  ///< of the width
  const char* help;
};

/// What the engine would reuse with another policy, limit or page size, over a trace.
class WhatIfPanel final : public Panel {
 public:
  void draw(Scene& scene) override {
    WhatIf& run = scene.what_if;
    propose(scene);
    const bool starts = draw_fields(run.state() == WhatIf::State::running);
    if (starts && run.state() != WhatIf::State::running) start(scene);
    ImGui::Spacing();
    switch (run.state()) {
      case WhatIf::State::idle:
        return nothing_here(
            "Name a trace above and press compute: `canopy compare` then runs this engine's configuration over it, "
            "with "
            "each policy, at each limit, with each page size. A workload's .yaml will do as well, and a recording that "
            "has tokens: one of an engine with tokens: true in its feed.");
      case WhatIf::State::running:
        return draw_progress(run);
      case WhatIf::State::failed:
        wrapped(run.sentence(), palette().bad);
        return;
      case WhatIf::State::done:
        return draw_figures(scene);
    }
  }

 private:
  void propose(const Scene& scene) {
    if (proposed_ || !scene.mirror.in_step() || scene.mirror.groups() == 0) return;
    proposed_ = true;
    const MirrorPool& pool = scene.mirror.pool(0);
    std::string policies = pool.policy;
    for (const char* other : {"lru", "hazard"})
      if (policies != other && pool.policy != other) policies += std::string(policies.empty() ? "" : ",") + other;
    // The optimum is known for engines of one group that keeps whole paths.
    if (scene.mirror.groups() == 1 && pool.reach == kWholePath) policies += ",optimum";
    policies_.propose(policies);
    const std::uint64_t limit = limit_of(scene.mirror);
    const std::uint64_t page = std::max<std::uint64_t>(scene.mirror.page_size(), 1);
    std::string limits;
    for (const double times : {0.25, 0.5, 1.0, 2.0, 4.0})
      if (const auto one = static_cast<std::uint64_t>(static_cast<double>(limit) * times) / page * page; one != 0)
        limits += (limits.empty() ? "" : ",") + amount(one);
    limits_.propose(limits.empty() ? "1M,3M,10M,30M" : limits);
    pages_.propose(std::to_string(page));
    trace_.propose(trace_of(scene));
  }

  /// The one that was named; otherwise the recording that is shown, if its requests can be read from it.
  static std::string trace_of(const Scene& scene) {
    const bool has_requests = scene.mirror.has_words() && !scene.mirror.is_from_events();
    if (!scene.session.trace.empty() || scene.session.state != Session::State::recording || !has_requests)
      return scene.session.trace;
    return scene.session.name;
  }

  /// True when it shall start.
  bool draw_fields(bool running) {
    const float room = ImGui::GetContentRegionAvail().x, gap = ImGui::GetStyle().ItemSpacing.x;
    const float left = ImGui::GetCursorPosX(), button = em() * 6, column = (room - button - 4 * gap) / 8;
    const std::array<Column, 4> columns = {
        Column{trace_, "trace, or a workload's .yaml", 3,
               "Any file that `canopy compare --trace` reads, a recording with tokens, or a workload (.yaml)."},
        {policies_, "policies", 2,
         "Apart by commas, as `canopy plugins` names them; optimum and infinite are computed."},
        {limits_, "limits, in tokens", 2, "Of the first group's pool, apart by commas: 750k,1500k,3M."},
        {pages_, "page sizes", 1, "In tokens, apart by commas: 16,64,256. Each is a run of its own."}};
    float x = left;
    for (const Column& each : columns) {
      ImGui::SetCursorPosX(x);
      dim(each.name);
      explain(each.help);
      x += column * each.share + gap;
      ImGui::SameLine();
    }
    ImGui::NewLine();
    if (running) ImGui::BeginDisabled();
    bool starts = false;
    for (const Column& each : columns) {
      starts |= each.field.draw(each.name, column * each.share);
      explain(each.help);
      ImGui::SameLine(0, gap);
    }
    starts |= ImGui::Button("compute", {button, 0});
    if (running) ImGui::EndDisabled();
    return starts;
  }

  void start(Scene& scene) {
    by_page_ = false, page_ = 0, policy_ = 0;
    scene.what_if.start(
        {trace_.letters.data(), policies_.letters.data(), limits_.letters.data(), pages_.letters.data()},
        scene.mirror.config());
  }

  static void draw_progress(WhatIf& run) {
    ImGui::ProgressBar(static_cast<float>(run.share()), {ImGui::GetContentRegionAvail().x - em() * 7, 0}, "");
    ImGui::SameLine();
    if (ImGui::Button("cancel", {em() * 6, 0})) return run.cancel();
    dim(fitted(run.sentence(), ImGui::GetContentRegionAvail().x));
  }

  void draw_figures(Scene& scene) {
    const WhatIf& run = scene.what_if;
    const std::vector<std::string> policies = policies_of(run.rows());
    const std::vector<std::uint64_t> sizes = page_sizes_of(run.rows());
    if (policies.empty()) return nothing_here("`canopy compare` told no figures.");
    page_ = std::min(page_, sizes.size() - 1), policy_ = std::min(policy_, policies.size() - 1);
    dim(fmt::format("{}: {}, {} of prompts. Hit rate over the limit in tokens:", run.trace().source,
                    plural(run.trace().requests, "request"), plural(run.trace().prompt_tokens, "token")));
    if (sizes.size() > 1) draw_choices(policies, sizes);
    const std::string own =
        by_page_ ? fmt::format("pages of {}", grouped(scene.mirror.page_size())) : scene.mirror.pool(0).policy;
    const WhatIfLines lines =
        by_page_ ? lines_by_page_size(run.rows(), policies[policy_]) : lines_by_policy(run.rows(), sizes[page_]);
    const std::uint64_t limit = limit_of(scene.mirror);
    wrapped(reading_of(lines, limit, own), palette().text);
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float table = ImGui::GetTextLineHeightWithSpacing() * (static_cast<float>(lines.capacities.size()) + 2.5F);
    const float chart = std::max(room.y * 0.5F, room.y - table);
    draw_what_if_chart(lines, {at.x, at.y + em() * 0.4F, room.x, chart - em() * 0.8F}, limit, own);
    ImGui::SetCursorScreenPos({at.x, at.y + chart});
    draw_table(lines);
  }

  /// What a line is, and which of the rest is shown.
  void draw_choices(const std::vector<std::string>& policies, const std::vector<std::uint64_t>& sizes) {
    dim("a line is");
    ImGui::SameLine();
    if (choice("a policy", !by_page_)) by_page_ = false;
    ImGui::SameLine();
    if (choice("a page size", by_page_)) by_page_ = true;
    ImGui::SameLine(0, em() * 1.5F);
    dim(by_page_ ? "of" : "pages of");
    for (std::size_t i = 0; i < (by_page_ ? policies.size() : sizes.size()); ++i) {
      const std::string name = by_page_ ? policies[i] : grouped(sizes[i]);
      flow(ImGui::CalcTextSize(name.c_str()).x + em(), em());
      std::size_t& chosen = by_page_ ? policy_ : page_;
      if (choice(fmt::format("{}##{}", name, i).c_str(), i == chosen)) chosen = i;
    }
  }

  static void draw_table(const WhatIfLines& lines) {
    constexpr int kMostColumns = 60;  // ImGui has 64
    const auto columns = static_cast<int>(std::min<std::size_t>(lines.lines.size(), kMostColumns));
    constexpr ImGuiTableFlags kFlags =
        ImGuiTableFlags_ScrollY | ImGuiTableFlags_ScrollX | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit;
    if (!ImGui::BeginTable("figures", columns + 1, kFlags)) return;
    ImGui::TableSetupScrollFreeze(1, 1);
    ImGui::TableSetupColumn("limit", ImGuiTableColumnFlags_WidthFixed, em() * 8);
    for (int i = 0; i < columns; ++i) {
      const std::string& name = lines.lines[static_cast<std::size_t>(i)].name;
      ImGui::TableSetupColumn(name.c_str(), ImGuiTableColumnFlags_WidthFixed,
                              std::max(em() * 6, ImGui::CalcTextSize(name.c_str()).x + em()));
    }
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    ImGui::TableNextColumn();
    ImGui::PushStyleColor(ImGuiCol_Text, palette().dim);
    number("tokens");
    ImGui::PopStyleColor();
    for (int i = 0; i < columns; ++i) {
      ImGui::TableNextColumn();
      ImGui::PushStyleColor(ImGuiCol_Text, colour_of(lines.lines[static_cast<std::size_t>(i)]));
      number(lines.lines[static_cast<std::size_t>(i)].name);
      ImGui::PopStyleColor();
    }
    for (const std::uint64_t capacity : lines.capacities) draw_row(lines, capacity, columns);
    ImGui::EndTable();
  }

  static void draw_row(const WhatIfLines& lines, std::uint64_t capacity, int columns) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    number(grouped(capacity));
    for (int i = 0; i < columns; ++i) {
      ImGui::TableNextColumn();
      for (const WhatIfLine::Point& point : lines.lines[static_cast<std::size_t>(i)].points)
        if (point.capacity == capacity) number(percent(point.hit_rate));
    }
  }

  Field trace_, policies_, limits_, pages_;
  bool proposed_ = false, by_page_ = false;
  std::size_t page_ = 0, policy_ = 0;  ///< of which the lines are shown
};

}  // namespace

PanelInfo what_if_panel() {
  return {
      .title = "WHAT IF",
      .row = Row::page,
      .key = 'W',
      .help = "What would other policies, limits and page sizes reuse, on a trace?",
      .make = make_panel<WhatIfPanel>,
  };
}

}  // namespace canopy::inspector
