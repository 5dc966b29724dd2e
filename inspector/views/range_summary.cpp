#include "range_summary.h"

#include <account/listings.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "export_button.h"
#include "list_table.h"

namespace canopy::inspector {
namespace {

using listing::Listing;
using listing::Tone;
using listing::Unit;

/// One line: a figure of the range, and of the whole time.
struct Line {
  std::string label, range, whole;
  const char* help;
};

/// Reason why the figures of requests are not known in a feed that is made from KV events.
constexpr const char* kNoRequests = "Not known: KV events report neither requests nor hits.";

/// Reason why the figures of used nodes are not known in a feed of an engine that looks prefixes up by itself.
constexpr const char* kNoUses = "Not known: the feed reports hits of requests, but not which nodes were hit.";

std::vector<Line> lines_of(const RangeFigures& range, const RangeFigures& whole, const Mirror& mirror) {
  const bool requests = !mirror.is_from_events();
  std::vector<Line> lines;
  const auto add = [&](const char* label, const char* help, auto&& words) {
    lines.push_back({label, words(range), words(whole), help});
  };
  const auto add_of_requests = [&](const char* label, const char* help, auto&& words) {
    if (requests) add(label, help, words);
    else lines.push_back({label, "-", "-", kNoRequests});
  };
  const auto tokens = [](Count count) {
    return [count](const RangeFigures& of) { return brief(static_cast<double>(of.counts[count])); };
  };
  add("time", "Time on the engine's clock.",
      [](const RangeFigures& of) { return duration(static_cast<double>(of.us()) / 1e6); });
  add_of_requests("hit rate", "Share of prompt tokens that were found in the cache.",
                  [](const RangeFigures& of) { return percent(of.counts[Count::hit], of.counts[Count::prompt]); });
  add_of_requests("requests", "Requests that began.",
                  [](const RangeFigures& of) { return grouped(of.counts[Count::requests]); });
  add_of_requests("prompts", "Tokens of their prompts.", tokens(Count::prompt));
  add("inserted", "Tokens that were added to the tree.", tokens(Count::inserted));
  add("evicted", "Tokens that left the pool, for any cause.", tokens(Count::evicted));
  if (requests && !mirror.reports_uses()) lines.push_back({"  never hit", "-", "-", kNoUses});
  else
    add_of_requests("  never hit", "Waste: tokens that were computed, never hit, and evicted.", tokens(Count::wasted));
  const char* const sign = kBoundSigns[static_cast<std::size_t>(whole.bound)];
  add("came back", "Regret: tokens that were evicted and then computed again.",
      [&](const RangeFigures& of) { return sign + brief(static_cast<double>(of.counts[Count::regretted])); });
  for (std::size_t cause = 1; cause < kEvictionCauses; ++cause) {
    if (whole.evicted[cause] == 0) continue;
    add(cause == static_cast<std::size_t>(EvictionCause::limit)   ? "evicted by limit"
        : cause == static_cast<std::size_t>(EvictionCause::flush) ? "flushed"
                                                                  : "evicted, other",
        "Evicted tokens by cause.",
        [cause](const RangeFigures& of) { return brief(static_cast<double>(of.evicted[cause])); });
  }
  return lines;
}

/// Draws lines under a heading: figures of the range, if there is one, and in a faint colour those of the whole time.
void draw_lines(const char* id, const char* head, const std::vector<Line>& lines, bool both) {
  Listing<Line> list;
  list.add(head, Unit::text, [](const Line& line) { return line.label; })
      .in_tone(Tone::dim)
      .explained([](const Line& line) { return line.help; });
  if (both) list.add("range", Unit::count, [](const Line& line) { return line.range; }).wide(4.4F);
  list.add("whole", Unit::count, [](const Line& line) { return line.whole; })
      .wide(4.4F)
      .in_tone(both ? Tone::dim : Tone::plain);
  ListTable<Line>{.id = id, .columns = list, .scrolls = false}.draw(lines);
}

}  // namespace

void RangeSummary::draw(Scene& scene) {
  if (scene.time.history.empty())
    return nothing_here("Click a node in the tree, a page in the pool, or a request to see its details here.");
  const float width = ImGui::GetContentRegionAvail().x, gap = em();
  const bool beside = width > em() * 30;
  const float left = beside ? std::max(em() * 16, std::min(width * 0.5F, em() * 20)) : width;
  ImGui::BeginChild("summary");
  ImGui::BeginGroup();
  ImGui::BeginChild("range", {left, beside ? 0 : em() * 13});
  draw_figures(scene);
  draw_reasons(scene);
  what_if_beside_ = !scene.mirror.is_from_events() && ImGui::GetContentRegionAvail().y > em() * 15;
  if (what_if_beside_) draw_what_if(scene);
  ImGui::EndChild();
  ImGui::EndGroup();
  if (beside) ImGui::SameLine(0, gap);
  ImGui::BeginChild("prefixes", {0, 0});
  draw_lists(scene);
  ImGui::EndChild();
  ImGui::EndChild();
}

void RangeSummary::draw_figures(const Scene& scene) {
  const bool both = scene.figures.has_range();
  draw_lines("figures", scene.selection.space ? "this tenant" : "all tenants",
             lines_of(scene.figures.range(), scene.figures.whole(), scene.mirror), both);
}

void RangeSummary::draw_reasons(const Scene& scene) {
  const RangeFigures &range = scene.figures.range(), &whole = scene.figures.whole();
  const auto missed = [](const RangeFigures& of) { return of.counts[Count::prompt] - of.counts[Count::hit]; };
  if (missed(whole) == 0) return;
  std::vector<std::size_t> reasons;
  for (std::size_t reason = 0; reason < kReasons; ++reason)
    if (whole.missed[reason] > 0) reasons.push_back(reason);
  std::sort(reasons.begin(), reasons.end(), [&](std::size_t a, std::size_t b) {
    return whole.missed[a] != whole.missed[b] ? whole.missed[a] > whole.missed[b] : a < b;
  });
  std::vector<Line> lines;
  for (const std::size_t reason : reasons)
    lines.push_back({reason_name(reason), percent(range.missed[reason], missed(range)),
                     percent(whole.missed[reason], missed(whole)), "Share of the missed prompt tokens, by reason."});
  draw_lines("reasons", "missed tokens", lines, scene.figures.has_range());
}

void RangeSummary::draw_lists(Scene& scene) {
  if (scene.mirror.is_from_events()) return nothing_here(kNoRequests);
  const RangeFigures& figures = scene.figures.range();
  struct Choice {
    const char* name;
    List list;
    const char *help, *none;
    const std::vector<PrefixFigure>* rows;
  };
  const Choice choices[] = {
      {"hits", List::hits, "Prefixes whose tokens were found most often.", "Nothing was hit.", &figures.hits},
      {"waste", List::waste, "Prefixes that were computed, never hit, and evicted.", "Nothing was evicted unused.",
       &figures.waste},
      {"regret", List::regret, "Prefixes that were evicted and then computed again.",
       "Nothing that was evicted came back.", &figures.regret},
      {"what if", List::what_if, "What larger pools and smaller pages would have brought.", "", nullptr}};
  if (what_if_beside_ && list_ == List::what_if) list_ = List::hits;
  const Choice* chosen = choices;
  const float indent = ImGui::GetCursorPosX();
  for (const Choice& each : choices) {
    if (each.list == List::what_if && what_if_beside_) break;
    if (each.list != List::hits) flow(ImGui::CalcTextSize(each.name).x + em(), indent);
    if (choice(each.name, list_ == each.list)) list_ = each.list;
    explain(each.help);
    if (list_ == each.list) chosen = &each;
  }
  if (!chosen->rows) return draw_what_if(scene);
  export_button(scene, "CSV", std::string("canopy-") + chosen->name + ".csv", "these prefixes",
                [&] { return listing::csv_of(prefixes_listing(scene.time.history), *chosen->rows); });
  if (chosen->list != List::regret && !scene.mirror.reports_uses()) return nothing_here(kNoUses);
  if (chosen->rows->empty()) return nothing_here(chosen->none);
  draw_prefixes(scene, *chosen->rows);
}

void RangeSummary::draw_what_if(const Scene& scene) {
  const std::uint32_t page = scene.mirror.page_size();
  const std::string group = scene.mirror.pool(0).name;
  const std::vector<WhatIf> range = what_if(scene.figures.all_tenants(), page, group),
                            whole = what_if(scene.figures.whole_tenants(), page, group);
  if (whole.empty()) return nothing_here("No request has arrived yet.");
  const auto words = [](const WhatIf& each) {
    return fmt::format("{}{:.1f} %", kBoundSigns[static_cast<std::size_t>(each.bound)], each.hit_rate * 100);
  };
  std::vector<Line> lines;
  for (std::size_t i = 0; i < whole.size(); ++i)
    lines.push_back({whole[i].with, range.empty() ? "-" : words(range[i]), words(whole[i]), whole[i].help.c_str()});
  draw_lines("what if", "hit rate with", lines, scene.figures.has_range());
  wrapped("Estimated as for LRU. Another policy keeps less in a larger pool.", palette().dim);
}

void RangeSummary::draw_prefixes(Scene& scene, const std::vector<PrefixFigure>& rows) {
  ListTable<PrefixFigure>{
      .id = "most",
      .columns = prefixes_listing(scene.time.history),
      .click =
          [&](const PrefixFigure& prefix) {
            // An evicted node is seen just before it left.
            const std::uint64_t seen = list_ == List::waste ? prefix.commit - 1 : prefix.commit;
            if (scene.mirror.find(prefix.node) == nullptr && scene.time.has(seen)) scene.time.seek(seen);
            scene.selection.show_tier(false);
            scene.selection.select_node(prefix.node);
          },
      .explain =
          [&](const PrefixFigure& prefix) {
            return fmt::format("Depth {} to {}, {}: at least {} tokens{}. Last at commit {}.", grouped(prefix.begin),
                               grouped(std::uint64_t{prefix.begin} + prefix.length),
                               scene.mirror.space_name(prefix.space), grouped(prefix.sure()),
                               prefix.over > 0 ? fmt::format(", at most {}", grouped(prefix.tokens)) : "",
                               grouped(prefix.commit));
          },
  }
      .draw(rows);
}

}  // namespace canopy::inspector
