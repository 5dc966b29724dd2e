#include "requests_panel.h"

#include <account/listings.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/names.h>

#include <algorithm>
#include <utility>

#include "export_button.h"
#include "list_table.h"
#include "panels.h"

namespace canopy::inspector {

using listing::Listing;
using listing::Share;
using listing::Tone;
using listing::Unit;
using listing::Value;

bool RequestsPanel::middle_of(Miss miss, ImVec2& at) const {
  for (std::size_t i = 0; i < groups_.size() && i < chips_.size(); ++i)
    if (groups_[i].miss == miss) return at = chips_[i], true;
  return false;
}

/// Returns true if the request is in the list. Almost all requests have the reason `rounding`: every prompt has tokens
/// of a last page that no match can return.
bool RequestsPanel::is_listed(const MirrorRequest& request, Units page_size) const {
  if (request.fetch || (filter_.running_only && request.ended())) return false;
  if (filter_.space && request.space != *filter_.space) return false;
  if (!filter_.range.empty() && !filter_.range.has(request.begun_at)) return false;
  if (!filter_.by_reason) return true;
  if (filter_.miss == Miss::rounding) return request.rounding(page_size) > 0;
  return request.miss == filter_.miss && request.missed_policy == filter_.policy && request.missed(page_size) > 0;
}

void RequestsPanel::list(const Scene& scene) {
  const Mirror& mirror = scene.mirror;
  const bool same = !filtered_.changed(filter_);
  if (!listed_.changed(mirror.commits()) && same && new_ == 0 && !scene.selection.reveal_request) return;
  counted_ = 0;
  groups_ = mirror.misses(filter_.space, [&](const MirrorRequest& request) {
    const bool counts = filter_.range.empty() || filter_.range.has(request.admitted_at);
    counted_ += counts;
    return counts;
  });
  const std::vector<MirrorRequest>& requests = mirror.requests();
  const std::uint64_t chosen = scene.selection.request;
  const bool chosen_listed = chosen != 0 && std::find(rows_.begin(), rows_.end(), chosen) != rows_.end();
  const bool holds = same && !rows_.empty() && held_.holds(scene.moves(), chosen_listed) &&
                     (!scene.selection.reveal_request || chosen_listed);
  new_ = 0;
  if (!holds) rows_.clear(), held_.listed();
  for (std::size_t i = requests.size(); i-- > 0;) {
    if (holds && requests[i].id <= rows_.front()) break;
    if (!is_listed(requests[i], mirror.page_size())) continue;
    if (holds) ++new_;
    else rows_.push_back(requests[i].id);
  }
}

void RequestsPanel::draw_reasons() {
  std::uint64_t all = 0;
  for (const MissGroup& group : groups_) all += group.tokens;
  chips_.clear();
  if (all == 0) return;
  const float indent = ImGui::GetCursorPosX();
  text(brief(static_cast<double>(all)));
  ImGui::SameLine(0, em() * 0.4F);
  dim(fmt::format("missed by {}", plural(counted_, "request")));
  explain(fmt::format(
      "Prompt tokens that were not found, of the {} that {} remembered at this moment, by the reason that ended their "
      "match. Older requests are not among them: SELECTED has those of all. Click a reason to list its requests.",
      plural(counted_, "request"), counted_ == 1 ? "is" : "are"));
  for (const MissGroup& group : groups_) {
    const std::string words = fmt::format("{} {}", reason_words(group), percent(group.tokens, all));
    flow(ImGui::CalcTextSize(words.c_str()).x + em(), indent);
    const bool chosen = filter_.by_reason && filter_.miss == group.miss && filter_.policy == group.policy;
    if (choice(words.c_str(), chosen)) {
      filter_.by_reason = !chosen;
      filter_.miss = group.miss, filter_.policy = group.policy;
    }
    const ImVec2 from = ImGui::GetItemRectMin(), to = ImGui::GetItemRectMax();
    chips_.push_back({(from.x + to.x) / 2, (from.y + to.y) / 2});
    explain(fmt::format("{} tokens of {}. {}", grouped(group.tokens), plural(group.requests, "request"),
                        info_of(group.miss).meaning));
  }
}

/// Draws in full why the selected request missed, so that it can be read without the mouse.
void RequestsPanel::draw_verdict(const Scene& scene) {
  const MirrorRequest* request = scene.selection.request ? scene.mirror.request(scene.selection.request) : nullptr;
  if (!request) return;
  wrapped(fmt::format("req {}: {} of {} prompt tokens found. {}: {}.", request->id, grouped(request->matched),
                      grouped(request->prompt), request->miss == Miss::rounding ? "Missed" : "Reason for the miss",
                      scene.mirror.why_missed(*request)),
          palette().accent);
}

void RequestsPanel::draw_filters(Scene& scene) {
  ImGui::SameLine(0, em() * 1.2F);
  if (choice("all", !filter_.running_only)) filter_.running_only = false;
  ImGui::SameLine(0, em() * 0.4F);
  if (choice("running", filter_.running_only)) filter_.running_only = true;
  const MirrorRequest* chosen = scene.selection.request ? scene.mirror.request(scene.selection.request) : nullptr;
  filter_.space = scene.selection.space;
  filter_.range = scene.time.range;
  const std::optional<NamespaceId> space = scene.node() ? std::optional(scene.node()->space)
                                           : chosen     ? std::optional(chosen->space)
                                                        : filter_.space;
  if (space) {
    ImGui::SameLine(0, em() * 1.2F);
    const float room = std::min(em() * 12, ImGui::GetContentRegionAvail().x - em());
    if (choice(fitted("only " + space_name(scene.mirror, filter_.space.value_or(*space)), room).c_str(),
               filter_.space.has_value()))
      scene.selection.space = filter_.space = filter_.space ? std::nullopt : space;
    explain("Shows only the namespace of the selected node or request, here and in every list, chart and figure.");
  }
  export_button(scene, "CSV", "canopy-requests.csv",
                filter_.range.empty() ? "the requests of the whole time" : "the requests of the range", [&] {
                  return listing::csv_of(requests_listing(scene.time.history),
                                         requests_in(scene.time.history, filter_.range));
                });
  if (!filter_.by_reason && filter_.range.empty()) return;
  ImGui::SameLine(0, em() * 1.2F);
  dim(plural(rows_.size(), "request") + (filter_.range.empty() ? "" : " of the range"));
}

void RequestsPanel::draw(Scene& scene) {
  draw_filters(scene);
  list(scene);
  held_.draw_new(new_);
  draw_reasons();
  draw_verdict(scene);
  list(scene);
  if (!rows_.empty()) return draw_table(scene);
  if (!filter_.range.empty() && !filter_.by_reason && !filter_.running_only)
    return nothing_here("No request that is remembered at this moment began in the range. Esc clears the range.");
  nothing_here(filter_.running_only ? "No request is running at this moment."
               : filter_.by_reason  ? filter_.space ? "No request of this namespace missed for this reason."
                                                    : "No request missed for this reason."
                                    : "No request has arrived yet.");
}

namespace {

std::string about(const Mirror& mirror, std::uint64_t id) {
  const MirrorRequest* request = mirror.request(id);
  if (!request) return fmt::format("Request {} is no longer remembered.", id);
  return fmt::format(
      "Request {}: {} of {} prompt tokens were in the cache; {} are computed, {} belong to the tree, {} are known. "
      "Reason for the miss: {}.",
      id, grouped(request->matched), grouped(request->prompt), grouped(request->computed), grouped(request->committed),
      grouped(request->known), mirror.why_missed(*request));
}

}  // namespace

void RequestsPanel::draw_table(Scene& scene) {
  using Id = std::uint64_t;
  using R = MirrorRequest;
  const Mirror& mirror = scene.mirror;
  // A request may be forgotten while the list holds still.
  const auto of = [&](auto value) {
    return
        [&mirror, value](const Id& id) { return mirror.request(id) ? Value(value(*mirror.request(id))) : Value(""); };
  };
  const auto fades = [&](const Id& id) {
    return mirror.request(id) && !mirror.request(id)->ended() ? Tone::plain : Tone::dim;
  };
  Listing<Id> list;
  list.add("id", Unit::text, [](const Id& id) { return std::to_string(id); }).wide(4.4F);
  list.add("namespace", Unit::text, of([&](const R& r) { return mirror.space_name(r.space); }))
      .wide(6)
      .in_tone(Tone::dim);
  list.add("prompt", Unit::count, of([](const R& r) { return r.prompt; })).wide(4.2F);
  list.add("hit", Unit::count, of([](const R& r) { return r.matched; })).wide(4.2F, 36);
  list.add("rate", Unit::count, of([](const R& r) { return Share{r.matched, r.prompt}; })).wide(3.6F);
  list.add("state", Unit::text, of([](const R& r) { return phase_word(r); })).wide(5, 36).in_tone(fades);
  list.add("miss reason", Unit::text, of([&](const R& r) { return mirror.why_missed(r); })).in_tone(Tone::dim);
  std::ptrdiff_t in_sight = -1;
  if (std::exchange(scene.selection.reveal_request, false))
    if (const auto at = std::find(rows_.begin(), rows_.end(), scene.selection.request); at != rows_.end())
      in_sight = at - rows_.begin();
  ListTable<Id>{
      .id = "requests",
      .columns = list,
      .click =
          [&](const Id& id) {
            if (const MirrorRequest* request = mirror.request(id)) scene.selection.select_request(*request);
          },
      .is_chosen = [&](const Id& id) { return id == scene.selection.request; },
      .explain = [&](const Id& id) { return about(mirror, id); },
      .held = &held_,
      .in_sight = in_sight,
  }
      .draw(rows_);
}

PanelInfo requests_panel() {
  return {
      .title = "REQUESTS",
      .row = Row::bottom,
      .share = 54,
      .key = 'R',
      .help = "What did each request find in the cache, and why did it miss the rest?",
      .make = make_panel<RequestsPanel>,
      .figures = FiguresOf::listed,
      .not_in_events = "Not known: KV events report neither requests, nor hits, nor why a prompt missed.",
  };
}

}  // namespace canopy::inspector
