#include "scenario.h"

#include <program/line_words.h>
#include "stage.h"

#include <cctype>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

namespace canopy::test {

namespace {

/// Value of each $name in one run of a scenario.
using Values = std::map<std::string, std::string, std::less<>>;

std::string filled_in(std::string_view text, const Values& values) {
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      filled += text[at++];
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    const std::string_view name = text.substr(at + 1, end - at - 1);
    const auto found = values.find(name);
    if (found == values.end()) disagree("'${}' is not set by a line 'with {}=...'", name, name);
    filled += found->second;
    at = end;
  }
  return filled;
}

/// The lines of a scenario, and the values that it runs with.
class Scenario {
 public:
  explicit Scenario(const std::string& text) {
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines_.push_back(line.substr(0, line.find('#')));
  }

  /// Its mistakes, without the name of the file.
  std::vector<std::string> run() {
    try {
      const std::vector<Values> combinations = read_with();
      const std::size_t first = at_;
      for (const Values& values : combinations)
        for (at_ = first; at_ <= lines_.size(); ++at_)
          if (begins_world(lines_[at_ - 1]))
            for (const GroupSettings& group : config_of(filled_in(lines_[at_ - 1], values)).groups)
              groups_.insert(group.name);
      for (const Values& values : combinations) {
        for (const auto& [name, value] : values)
          values_text_ += fmt::format("{}{}={}", values_text_.empty() ? "with " : " ", name, value);
        if (!values_text_.empty()) values_text_ += ": ";
        at_ = first;
        run_with(values);
        values_text_.clear();
      }
    } catch (const Mismatch& error) {
      // The first mistake only: the following ones are its consequences.
      return {fmt::format("{}: {}{}", at_, values_text_, error.what())};
    }
    return {};
  }

 private:
  static bool begins_world(std::string_view line) {
    const auto words = split(line);
    return !words.empty() && (words.front() == "engine" || words.front() == "requests");
  }

  /// The lines `with name=value value ...`: every combination of the values, the first name varying slowest.
  std::vector<Values> read_with() {
    std::vector<Values> combinations{{}};
    for (; at_ <= lines_.size(); ++at_) {
      const auto words = split(lines_[at_ - 1]);
      if (words.empty()) continue;
      if (words.front() != "with") break;
      const auto [name, first] = words.size() > 1 ? setting(words[1]) : setting("");
      if (name.empty() || first.empty()) disagree("'with' wants name=value, and perhaps more values");
      std::vector<Values> more;
      for (const Values& values : combinations)
        for (std::size_t i = 1; i < words.size(); ++i) {
          more.push_back(values);
          more.back()[std::string(name)] = i == 1 ? first : words[i];
        }
      combinations = std::move(more);
    }
    if (at_ > lines_.size()) disagree("there is no 'engine' or 'requests' line");
    return combinations;
  }

  void run_with(const Values& values) {
    std::unique_ptr<Stage> stage;
    std::set<std::string, std::less<>> others;
    const auto passes_over = [&](std::string_view label) { return others.contains(of_group(label).first); };
    for (; at_ <= lines_.size(); ++at_) {
      const std::string line = filled_in(lines_[at_ - 1], values);
      const std::size_t arrow = line.find("->");
      const std::string_view doing = std::string_view(line).substr(0, arrow);
      if (split(doing).empty()) {
        if (arrow != std::string::npos) disagree("nothing is done before '->'");
      } else if (!stage || begins_world(doing)) {
        if (stage) stage->finish();
        WorldConfig world = config_of(doing);
        others = groups_;
        for (const GroupSettings& group : world.groups) others.erase(group.name);
        world.other_groups.assign(others.begin(), others.end());
        stage = stage_of(world);
      } else {
        const Outcome outcome = stage->apply(doing);
        if (arrow != std::string::npos) compare(outcome, std::string_view(line).substr(arrow + 2), passes_over);
      }
    }
    stage->finish();
  }

  std::vector<std::string> lines_;
  std::size_t at_ = 1;
  std::string values_text_;
  std::set<std::string, std::less<>> groups_;  ///< groups of all combinations
};

}  // namespace

std::vector<std::string> run_scenario(const std::string& text, const std::string& name) {
  std::vector<std::string> errors = Scenario(text).run();
  for (std::string& error : errors) error = name + ":" + error;
  return errors;
}

std::vector<std::string> run_scenario(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return {file.string() + ": cannot be read"};
  std::ostringstream text;
  text << stream.rdbuf();
  return run_scenario(text.str(), file.string());
}

}  // namespace canopy::test
