#include "range_page.h"

#include <canopy/base/figures.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "listings.h"

namespace canopy::inspector {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ink: #1a1e25; --dim: #596373; --paper: #ffffff; --line: #d3d8e0; --field: #eef0f4;
  --found: #00845c; --lost: #d1551c; --other: #c3cad4; --pool: #5aaedd; --range: #5a48b0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7eaef; --dim: #9ca7b5; --paper: #1b1f26; --line: #2e343e;
  --field: #14171c; --found: #35b08a; --lost: #f0764a; --other: #3f4856; --pool: #56b4e9; --range: #b9abf2; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2.5rem auto; max-width: 68rem;
  padding: 0 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
p { color: var(--dim); margin: .2rem 0; max-width: 48rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } 
th, td { padding: .22rem .9rem .22rem 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--dim); font-weight: 500; } th:first-child, td:first-child { text-align: left; }
p.doubt { color: var(--lost); }
td.faint { color: var(--dim); }
.two { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 0 3.5rem; }
svg { display: block; width: 100%; background: var(--field); margin: .15rem 0; } figure { margin: 1rem 0; }
figcaption { color: var(--dim); font-size: .9rem; } .key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; }
@media print { body { margin: 0; max-width: none; } }
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

std::string fixed(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", number);
  return text;
}

/// One chart over the whole time, 1000 by 60 units, with the range in a frame.
class Chart {
 public:
  static constexpr double kWidth = 1000, kHeight = 60;
  Chart(const History& history, CommitRange range) : history_(history) {
    const std::vector<Bucket>& buckets = history.buckets();
    by_clock_ = buckets.back().last_us > buckets.front().first_us;
    first_ = by_clock_ ? static_cast<double>(buckets.front().first_us) : static_cast<double>(history.all().first - 1);
    last_ = by_clock_ ? static_cast<double>(buckets.back().last_us) : static_cast<double>(history.all().last);
    const auto [from, end] = history.places(range);
    if (range == history.all() || from >= end) return;
    const double x0 = from > 0 ? x_of(from - 1) : 0, x1 = x_of(end - 1);
    frame_ = "<rect x='" + fixed(x0) + "' y='0' width='" + fixed(std::max(1.0, x1 - x0)) + "' height='" +
             fixed(kHeight) + "' fill='var(--range)' fill-opacity='.18' stroke='var(--range)'/>";
  }
  double x_of(std::size_t bucket) const {
    const Bucket& at = history_.buckets()[bucket];
    const double value = by_clock_ ? static_cast<double>(at.last_us) : static_cast<double>(at.commits.last);
    return last_ > first_ ? (value - first_) / (last_ - first_) * kWidth : kWidth;
  }
  /// Adds parts upon each other, as shares of the height, at most as wide as about a pixel each.
  struct Part {
    const char* colour;
    double share;
  };
  /// `parts(first, end)` returns the parts of a column of buckets.
  template <class Parts>
  std::string draw(Parts&& parts) const {
    std::string bars;
    const std::size_t count = history_.buckets().size();
    double x = 0;
    for (std::size_t i = 0; i < count;) {
      std::size_t end = i + 1;
      while (end < count && x_of(end - 1) - x < 2) ++end;
      const double x1 = std::max(x_of(end - 1), x + 0.5);
      double y = kHeight;
      for (const Part& part : parts(i, end)) {
        const double height = std::clamp(part.share, 0.0, 1.0) * kHeight;
        if (height <= 0) continue;
        y -= height;
        bars += "<rect x='" + fixed(x) + "' y='" + fixed(y) + "' width='" + fixed(x1 - x) + "' height='" +
                fixed(height) + "' fill='var(--" + part.colour + ")'/>";
      }
      x = std::max(x, x_of(end - 1)), i = end;
    }
    return "<svg viewBox='0 0 1000 60' preserveAspectRatio='none' height='76' role='img'>" + bars + frame_ + "</svg>";
  }

 private:
  const History& history_;
  bool by_clock_ = false;
  double first_ = 0, last_ = 0;
  std::string frame_;
};

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string charts(const History& history, CommitRange range) {
  const Chart chart(history, range);
  const std::vector<Bucket>& buckets = history.buckets();
  const auto sum = [&](std::size_t first, std::size_t end, auto&& of) {
    std::uint64_t total = 0;
    for (std::size_t i = first; i < end; ++i) total += of(buckets[i]);
    return total;
  };
  std::string html = "<figure>";
  if (history.has_requests()) {
    html += chart.draw([&](std::size_t first, std::size_t end) {
      const std::uint64_t prompt = sum(first, end, [](const Bucket& b) { return b.counts[Count::prompt]; });
      const std::uint64_t hit = sum(first, end, [](const Bucket& b) { return b.counts[Count::hit]; });
      const std::uint64_t lost = sum(first, end, [](const Bucket& b) {
        return b.missed[static_cast<std::size_t>(Miss::evicted)] + b.missed[kFlushedReason] +
               b.missed[static_cast<std::size_t>(Miss::tombstone)] +
               b.missed[static_cast<std::size_t>(Miss::never_kept)];
      });
      return std::vector<Chart::Part>{{"found", ratio(hit, prompt)},
                                      {"lost", ratio(lost, prompt)},
                                      {"other", ratio(prompt - std::min(prompt, hit + lost), prompt)}};
    });
    html +=
        "<figcaption>Prompt tokens over time:<span class='key' style='background:var(--found)'></span>found"
        "<span class='key' style='background:var(--lost)'></span>evicted before"
        "<span class='key' style='background:var(--other)'></span>the rest</figcaption>";
  }
  std::uint64_t most = 1;
  for (const Bucket& bucket : buckets) most = std::max(most, bucket.counts[Count::evicted]);
  html += "</figure><figure>" + chart.draw([&](std::size_t first, std::size_t end) {
    const std::uint64_t evicted = sum(first, end, [](const Bucket& b) { return b.counts[Count::evicted]; });
    return std::vector<Chart::Part>{{"lost", ratio(evicted, most * (end - first))}};
  });
  html += "<figcaption>Evicted tokens over time; the full height is " + grouped(most) + " in one step</figcaption>";
  html += "</figure><figure>" + chart.draw([&](std::size_t, std::size_t end) {
    if (buckets[end - 1].pools.empty()) return std::vector<Chart::Part>{};
    const MirrorPool::Sums& pages = buckets[end - 1].pools[0].pages;
    const std::uint64_t all = pages.free + pages.evictable + pages.protected_ + pages.owned;
    return std::vector<Chart::Part>{{"pool", ratio(pages.evictable + pages.protected_, all)},
                                    {"lost", ratio(pages.owned, all)}};
  });
  return html +
         "<figcaption>Pages of the first group:<span class='key' style='background:var(--pool)'></span>cached"
         "<span class='key' style='background:var(--lost)'></span>owned by requests</figcaption></figure>";
}

/// A table of figures under its heading: those of the range, and in a faint colour those of the whole time.
std::string lines(const char* head, const std::vector<TwoValues>& rows, const char* of = "range",
                  const char* whole = "whole time") {
  std::string html = std::string("<tr><th>") + head + "</th><th>" + of + "</th><th>" + whole + "</th></tr>";
  const auto words = [](const listing::Value& value) { return escaped(in_full(value, listing::Unit::count)); };
  for (const TwoValues& row : rows)
    html += "<tr><td>" + escaped(row.name) + "</td><td>" + words(row.first) + "</td><td class='faint'>" +
            words(row.second) + "</td></tr>";
  return html;
}

std::string figures(const RangeFigures& range, const RangeFigures& whole, const History& history) {
  return "<div class='two'><table>" + lines("", sums_beside(range, whole)) + "</table><table>" +
         lines("missed tokens, by reason", missed_beside(range, whole)) +
         lines("evicted tokens, by cause", evicted_beside(range, whole), "", "") + "</table><table>" +
         lines("hit rate, estimated", estimates_beside(range, whole, history.page_size(), history.group_name(0))) +
         "</table></div>";
}

/// Draws the first rows of a list; nothing if it has none.
std::string list(const char* title, const char* about, const listing::Cells& cells, std::size_t most) {
  if (cells.rows.empty()) return {};
  std::string html = std::string("<h2>") + title + "</h2>";
  if (*about != 0) html += std::string("<p>") + about + "</p>";
  const auto line = [&](const char* tag, const std::vector<std::string>& words) {
    html += "<tr>";
    for (const std::string& cell : words) html += std::string("<") + tag + ">" + escaped(cell) + "</" + tag + ">";
    html += "</tr>";
  };
  html += "<table>";
  line("th", cells.heads);
  for (std::size_t i = 0; i < cells.rows.size() && i < most; ++i) line("td", cells.rows[i]);
  html += "</table>";
  if (cells.rows.size() > most) html += "<p>and " + grouped(cells.rows.size() - most) + " more</p>";
  return html;
}

}  // namespace

std::string page_of(const RangePage& page) {
  constexpr std::size_t kMost = 20;
  const std::string title = escaped(page.title);
  std::string html =
      "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width'><title>" +
      title + "</title><style>" + kStyle + "</style><h1>" + title + "</h1><p>Commits " +
      grouped(page.range.commits.first) + " to " + grouped(page.range.commits.last) + " of " +
      grouped(page.whole.commits.last) + ". Made by canopy inspect.</p>";
  for (const Doubt& doubt : page.doubts) html += "<p class='doubt'>Doubt: " + escaped(doubt.sentence) + "</p>";
  if (page.history.empty()) return html + "<p>The recording has no operations.</p></html>\n";
  html += charts(page.history, page.range.commits) + figures(page.range, page.whole, page.history) +
          list("Tenants in the range", "", full_cells(tenants_listing(page.range), tenants_by_prompts(page.range)),
               page.range.tenants.size());
  const auto add = [&](const char* head, const char* about, std::string_view name) {
    html += list(head, about, list_of(name, page.history, page.range, page.mirror), kMost);
  };
  add("Most hits", "Prefixes whose tokens were found most often.", "hits");
  add("Most waste", "Prefixes that were computed, found by no request, and evicted.", "waste");
  add("Most regret", "Prefixes that were evicted and then computed again.", "regret");
  add("Marks", "What changed in the range.", "marks");
  add("Locks at the end of the range", "Oldest first; one that no request explains was perhaps never released.",
      "locks");
  return html + "</html>\n";
}

}  // namespace canopy::inspector
