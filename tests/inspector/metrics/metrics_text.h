#pragma once

#include <metrics/families.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace canopy::test {

/// Returns the first error in a text in Prometheus' format, by the rules of `promtool check metrics` that hold for any
/// names; empty if there is none. `samples` gets each sample by its name and labels, `kinds` each family's type.
inline std::string flaw_of_metrics(const std::string& text, std::map<std::string, double>& samples,
                                   std::map<std::string, std::string>& kinds) {
  std::set<std::string> helps, ended;
  std::string family;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) {
      std::stringstream words(line);
      std::string mark, what, name, rest;
      words >> mark >> what >> name;
      std::getline(words, rest);
      if (rest.size() < 2) return "nothing follows: " + line;
      if (what == "HELP" ? !helps.insert(name).second : !kinds.emplace(name, rest.substr(1)).second)
        return "twice: " + line;
      if (what == "TYPE" && !helps.contains(name)) return "no help: " + line;
      if (what == "TYPE" && (rest == " counter") != name.ends_with("_total")) return "_total is for counters: " + line;
      if (what == "HELP" && !family.empty()) ended.insert(family);
      if (ended.contains(name)) return "its samples are apart: " + line;
      family = name;
      continue;
    }
    // NAME{LABEL="VALUE",...} NUMBER, where a value may have any character, escaped.
    const std::size_t brace = line.find('{');
    std::size_t at = brace == std::string::npos ? line.find(' ') : brace;
    const std::string name = line.substr(0, at);
    if (brace != std::string::npos) {
      for (bool quoted = false; ++at < line.size() && (quoted || line[at] != '}');) {
        if (quoted && line[at] == '\\') {
          if (++at >= line.size() || std::string("\\\"n").find(line[at]) == std::string::npos)
            return "no such escape: " + line;
        } else if (line[at] == '"') {
          quoted = !quoted;
        }
      }
      if (++at >= line.size()) return "its labels do not end: " + line;
    }
    if (line[at] != ' ') return "no number: " + line;
    std::string owner = name;
    if (kinds[family] == "histogram")
      for (const std::string end : {"_bucket", "_sum", "_count"})
        if (owner.ends_with(end)) owner.resize(owner.size() - end.size());
    if (owner != family) return "not of the family " + family + ": " + line;
    std::size_t used = 0;
    const double value = std::stod(line.substr(at + 1), &used);
    if (used != line.size() - at - 1) return "more than a number: " + line;
    if (!samples.emplace(line.substr(0, at), value).second) return "twice: " + line;
  }
  return {};
}

/// The labels that samples have and that a user may give as well, so that a sample would have them twice. The constant
/// labels of a set of names are not among them: the user's replaces those.
inline std::set<std::string> labels_twice(const std::map<std::string, double>& samples) {
  static const std::regex kLabel("[{,]([A-Za-z_][A-Za-z0-9_]*)=\"");
  std::set<std::string> labels;
  for (const auto& [sample, value] : samples)
    for (std::sregex_iterator at(sample.begin(), sample.end(), kLabel), end; at != end; ++at)
      if (const std::string label = (*at)[1]; metrics::flaw_of_label(label).empty()) labels.insert(label);
  for (const char* constant : {"feed", "model_name", "engine"}) labels.erase(constant);
  return labels;
}

}  // namespace canopy::test
