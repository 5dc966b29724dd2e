#include "tables.h"

#include "html.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <vector>

namespace canopy::report {
namespace {

/// Rows of cells; the first cell of a row names it. Cells are HTML already.
std::string table(const char* css, const std::vector<std::string>& heading,
                  const std::vector<std::vector<std::string>>& rows) {
  std::string out = fmt::format("<div class=\"scroll\"><table class=\"{}\"><thead><tr>", css);
  for (const std::string& cell : heading) out += "<th scope=\"col\">" + cell + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out += i == 0 ? "<th scope=\"row\">" + row[i] + "</th>" : "<td>" + row[i] + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::vector<Contender> policies_of(const lab::Comparison& comparison) {
  std::vector<Contender> all = contenders_of(comparison);
  std::erase_if(all, [](const Contender& each) { return each.kind != Contender::Kind::policy; });
  return all;
}

}  // namespace

std::string figures_table(const lab::Comparison& comparison) {
  const std::vector<Contender> contenders = contenders_of(comparison);
  std::vector<std::string> heading{"Capacity"};
  for (const Contender& contender : contenders) heading.push_back(html(contender.name));
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < comparison.capacities.size(); ++i) {
    std::vector<std::string> cells{html(capacity_words(comparison, i))};
    for (const Contender& contender : contenders) {
      const lab::Row* row = row_of(comparison, contender.name, comparison.capacities[i]);
      if (!row) {
        cells.emplace_back("-");
        continue;
      }
      const bool policy = contender.kind == Contender::Kind::policy, best = policy && row == best_of(comparison, i);
      std::string cell = fmt::format("{}{}{}<small>{}</small>", best ? "<b>" : "", percent(row->hit_rate),
                                     best ? "</b>" : "", grouped(row->hit_tokens));
      if (row->optimum_share && policy) cell += "<small>" + percent(*row->optimum_share) + "</small>";
      cells.push_back(std::move(cell));
    }
    rows.push_back(std::move(cells));
  }
  return table("figures", heading, rows) +
         "<p class=\"small\">Under each hit rate: the tokens that were reused, and what part of the optimum's they "
         "are, "
         "where it is known.</p>\n";
}

std::string savings_table(const lab::Comparison& comparison, std::size_t capacity, const Prices& prices) {
  const std::string baseline = baseline_of(comparison);
  const lab::Row* base = row_of(comparison, baseline, comparison.capacities[capacity]);
  const auto month = month_over_trace(comparison);
  std::vector<std::string> heading{"Policy", "Tokens not computed again", "GPU hours saved", "Money saved"};
  if (month) heading.emplace_back("Money in 30 days like this");
  if (month) heading.push_back("against " + html(baseline));
  std::vector<std::vector<std::string>> rows;
  for (const Contender& contender : contenders_of(comparison)) {
    const lab::Row* row = row_of(comparison, contender.name, comparison.capacities[capacity]);
    if (!row) continue;
    const Saved saved = saved_by(row->hit_tokens, prices);
    std::vector<std::string> cells{html(contender.name), grouped(row->hit_tokens),
                                   fmt::format("{:.2f}", saved.gpu_hours), fmt::format("{:.2f}", saved.money)};
    if (month) {
      const double more = base ? saved.money - saved_by(base->hit_tokens, prices).money : 0;
      cells.push_back(fmt::format("{:.0f}", saved.money * *month));
      cells.push_back(row == base || !base            ? "-"
                      : std::abs(more * *month) < 0.5 ? "0"
                                                      : fmt::format("{:+.0f}", more * *month));
    }
    rows.push_back(std::move(cells));
  }
  return table("savings", heading, rows);
}

std::string evicted_table(const lab::Comparison& comparison, std::size_t capacity) {
  std::vector<std::vector<std::string>> rows;
  for (const Contender& contender : policies_of(comparison)) {
    const lab::Row* row = row_of(comparison, contender.name, comparison.capacities[capacity]);
    if (!row) continue;
    rows.push_back({html(contender.name), row->evicted_tokens ? grouped(*row->evicted_tokens) : "not known",
                    grouped(row->regret.tokens), percent(row->regret.tokens, comparison.prompt_tokens)});
  }
  return table("evicted", {"Policy", "Tokens evicted", "Evicted and asked for again", "Of all prompt tokens"}, rows);
}

std::string slices_table(const lab::Comparison& comparison, std::size_t capacity) {
  constexpr std::size_t kMostParts = 12;
  if (comparison.slices.empty()) return {};
  const std::vector<Contender> policies = policies_of(comparison);
  std::vector<std::string> heading{"Requests", "Share of the prompts"};
  for (const Contender& contender : policies) heading.push_back(html(contender.name));
  std::map<std::string, std::size_t> of_kind;
  for (const lab::Slice& slice : comparison.slices) ++of_kind[slice.kind];
  std::map<std::string, std::size_t> shown;
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < comparison.slices.size(); ++i) {
    const lab::Slice& slice = comparison.slices[i];
    // A part that is all of them says nothing.
    if (of_kind[slice.kind] < 2 || slice.requests == 0 || ++shown[slice.kind] > kMostParts) continue;
    std::vector<std::string> cells{
        html(slice.kind == slice.name.substr(0, slice.kind.size()) ? slice.name : slice.kind + ": " + slice.name),
        percent(slice.prompt_tokens, comparison.prompt_tokens)};
    for (const Contender& contender : policies) {
      const lab::Row* row = row_of(comparison, contender.name, comparison.capacities[capacity]);
      cells.push_back(row && i < row->slices.size() ? percent(row->slices[i].hit_tokens, row->slices[i].prompt_tokens)
                                                    : "-");
    }
    rows.push_back(std::move(cells));
  }
  return rows.empty() ? std::string() : table("slices", heading, rows);
}

std::string waiting_tables(const lab::Comparison& comparison, std::size_t capacity) {
  constexpr std::size_t kMostKinds = 12;
  std::string out;
  for (const Contender& contender : policies_of(comparison)) {
    const lab::Row* row = row_of(comparison, contender.name, comparison.capacities[capacity]);
    if (!row || row->waiting.rule.empty()) continue;
    out += fmt::format("<h4>{}</h4>\n<p>{}{}.</p>\n", html(contender.name),
                       html(fmt::format("{:c}", std::toupper(static_cast<unsigned char>(row->waiting.rule[0])))),
                       html(row->waiting.rule.substr(1)));
    std::vector<lab::Waiting::Kind> kinds = row->waiting.kinds;
    if (kinds.empty()) continue;
    std::sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
      return a.tokens != b.tokens ? a.tokens > b.tokens : a.name < b.name;
    });
    const std::size_t shown = std::min(kinds.size(), kMostKinds);
    std::uint64_t all = 0, left = 0;
    for (const lab::Waiting::Kind& kind : kinds) all += kind.tokens;
    for (std::size_t i = shown; i < kinds.size(); ++i) left += kinds[i].tokens;
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < shown; ++i)
      rows.push_back({kinds[i].name.empty() ? "all" : html(kinds[i].name), grouped(kinds[i].nodes),
                      grouped(kinds[i].tokens), percent(kinds[i].tokens, all), html(kinds[i].first)});
    out += table("waiting", {"Leaves", "Number", "Tokens", "Share", "The first of them to be evicted"}, rows);
    if (left > 0)
      out += fmt::format("<p class=\"small\">Not shown: {} with {} tokens.</p>\n", plural(kinds.size() - shown, "kind"),
                         grouped(left));
  }
  return out;
}

std::string digests_table(const lab::Comparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  for (const lab::Row& row : comparison.rows) {
    if (!row.index_seconds) continue;
    rows.push_back({html(row.policy), row.capacity_tokens ? grouped(*row.capacity_tokens) : "no limit",
                    fmt::format("<code>{:016x}</code>", row.digest), std::to_string(row.seed),
                    seconds(*row.index_seconds)});
  }
  return rows.empty()
             ? std::string()
             : table("digests", {"Policy", "Capacity", "Digest of the run", "Seed", "Time in the index"}, rows);
}

}  // namespace canopy::report
