#include "report.h"

#include "charts.h"
#include "figures_of.h"
#include "html.h"
#include "reading.h"
#include "report/page_parts.h"
#include "tables.h"

#include <canopy/support/atomic_file.h>
#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace canopy::report {
namespace {

using nlohmann::ordered_json;

/// What the script computes with, and what another program may read from the page.
std::string data_of(const lab::Comparison& comparison, const Prices& prices) {
  ordered_json json{
      {"baseline", baseline_of(comparison)},
      {"month", month_over_trace(comparison) ? ordered_json(*month_over_trace(comparison)) : ordered_json(nullptr)},
      {"tokens_per_second", prices.tokens_per_second},
      {"gpu_hour", prices.gpu_hour},
      {"prompt_tokens", comparison.prompt_tokens},
      {"capacities", comparison.capacities},
      {"rows", ordered_json::array()}};
  for (const Contender& contender : contenders_of(comparison))
    for (const lab::Row& row : comparison.rows) {
      if (row.policy != contender.name) continue;
      json["rows"].push_back(
          {{"policy", row.policy},
           {"capacity_tokens", row.capacity_tokens ? ordered_json(*row.capacity_tokens) : ordered_json(nullptr)},
           {"hit_tokens", row.hit_tokens},
           {"hit_rate", row.hit_rate},
           {"digest", fmt::format("{:016x}", row.digest)}});
    }
  return json_in_script(json.dump(-1, ' ', true, ordered_json::error_handler_t::replace));
}

std::string section(const char* id, const char* title, const std::string& content) {
  return fmt::format("<section id=\"{}\"><h2>{}</h2>\n{}</section>\n", id, title, content);
}

std::string choice(const lab::Comparison& comparison, std::size_t shown) {
  std::string out = "<p class=\"choice\"><label>Capacity <select id=\"capacity\">";
  for (std::size_t i = 0; i < comparison.capacities.size(); ++i)
    out += fmt::format("<option value=\"{}\"{}>{}</option>", i, i == shown ? " selected" : "",
                       html(capacity_words(comparison, i)));
  return out + "</select></label></p>\n";
}

/// `content` for each capacity, of which the page shows one.
template <class Content>
std::string for_each_capacity(const lab::Comparison& comparison, std::size_t shown, const char* css,
                              Content&& content) {
  std::string out;
  for (std::size_t i = 0; i < comparison.capacities.size(); ++i)
    out += fmt::format("<div class=\"at-capacity {}\" data-capacity=\"{}\"{}><h3>At {}</h3>\n{}</div>\n", css, i,
                       i == shown ? "" : " hidden", html(capacity_words(comparison, i)), content(i));
  return out;
}

std::string savings(const lab::Comparison& comparison, std::size_t shown, const Prices& prices) {
  std::string out = fmt::format(
      "<form class=\"prices\"><label>One GPU prefills <input id=\"speed\" type=\"number\" min=\"1\" step=\"any\" "
      "value=\"{:.0f}\"> tokens a second</label> <label>and costs <input id=\"price\" type=\"number\" min=\"0\" "
      "step=\"any\" "
      "value=\"{:.2f}\"> an hour</label></form>\n<p class=\"small\">Both are assumptions: put in your own. A token "
      "that is "
      "reused is not computed again; what attention over it costs later is not counted.</p>\n",
      prices.tokens_per_second, prices.gpu_hour);
  return out + for_each_capacity(comparison, shown, "money",
                                 [&](std::size_t i) { return savings_table(comparison, i, prices); });
}

std::string evicted(const lab::Comparison& comparison, std::size_t shown) {
  return legend(comparison) + for_each_capacity(comparison, shown, "regret", [&](std::size_t i) {
           const std::string charts = regret_charts(comparison, i);
           return evicted_table(comparison, i) + (charts.empty()
                                                      ? "<p>Nothing that was evicted was asked for again.</p>\n"
                                                      : "<div class=\"small-charts\">" + charts + "</div>\n");
         });
}

std::string reproduce(const lab::Comparison& comparison) {
  std::string out =
      "<pre>" + html(comparison.command) + "</pre>\n<p>The same command gives the same digests on every machine";
  out += fmt::format("; {} of the ledger were made, {} failed.", plural(comparison.checks, "check"),
                     grouped(comparison.violations));
  if (comparison.seconds > 0)
    out += fmt::format(" It took {} with {} at once.", duration(comparison.seconds), plural(comparison.jobs, "run"));
  return out + "</p>\n<details><summary>Digests</summary>\n" + digests_table(comparison) + "</details>\n";
}

/// A number stays beside its sign at the end of a line.
std::string sentence_of(const std::string& text) {
  std::string out = html(text);
  for (std::size_t at = out.find(" %"); at != out.npos; at = out.find(" %", at)) out.replace(at, 1, "&nbsp;");
  return out;
}

std::string list_of(const char* css, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return {};
  std::string out = fmt::format("<ul class=\"{}\">\n", css);
  for (const std::string& sentence : sentences) out += "<li>" + sentence_of(sentence) + "</li>\n";
  return out + "</ul>\n";
}

}  // namespace

std::string page_of(const lab::Comparison& comparison) {
  const Prices prices;
  const std::size_t shown = telling_capacity(comparison);
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<meta "
      "name=\"generator\" content=\"canopy compare\">\n<title>Policies on "
      "{}</title>\n<style>{}</style></head>\n<body>\n",
      html(comparison.source), kPageStyle);
  out += fmt::format(
      "<header><h1>Eviction policies on {}</h1><p class=\"small\">{}, {} {} tokens{}, made by canopy "
      "compare</p></header>\n",
      html(comparison.source), html(comparison.config), comparison.blocks ? "blocks of" : "pages of",
      grouped(comparison.page_size),
      comparison.warm_up ? fmt::format(", the first {} not counted", plural(comparison.warm_up, "request")) : "");
  out += list_of("warnings", warnings_of(comparison));
  out += section("reading", "What it shows", list_of("sentences", reading_of(comparison)));
  out += section("hit-rate", "Hit rate over capacity",
                 hit_chart(comparison) + legend(comparison) + figures_table(comparison));
  out += choice(comparison, shown);
  out += section("saved", "What it saves", savings(comparison, shown, prices));
  out += section("evicted", "What was evicted too early", evicted(comparison, shown));
  const std::string waiting =
      for_each_capacity(comparison, shown, "waits", [&](std::size_t i) { return waiting_tables(comparison, i); });
  if (!waiting_tables(comparison, shown).empty())
    out += section("waiting", "What waited when the trace ended", waiting);
  const std::string parts =
      for_each_capacity(comparison, shown, "parts", [&](std::size_t i) { return slices_table(comparison, i); });
  if (!slices_table(comparison, shown).empty()) out += section("parts", "Hit rate by kind of request", parts);
  out += section("reproduce", "How to reproduce it", reproduce(comparison));
  out += fmt::format("<script id=\"data\" type=\"application/json\">{}</script>\n<script>{}</script>\n</body></html>\n",
                     data_of(comparison, prices), kPageScript);
  return out;
}

Result<std::monostate> write_page(const lab::Comparison& comparison, const std::string& path) {
  return write_file_atomically(path, page_of(comparison));
}

}  // namespace canopy::report
