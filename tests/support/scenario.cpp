#include "scenario.h"

#include "mismatch.h"
#include "world.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

namespace canopy::test {

namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

struct Expected {
  std::string label;  ///< empty: the first thing the operation answers
  std::uint64_t value = 1;
};

/// "had 4", "2 pages", "4" or "refused".
Expected expected_from(std::string_view item) {
  Expected expected;
  std::istringstream words{std::string(item)};
  for (std::string word; words >> word;) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc{} && end == word.data() + word.size()) expected.value = value;
    else expected.label = word == "page" ? "pages" : word == "node" ? "nodes" : word;
  }
  return expected;
}

void compare(const Outcome& outcome, std::string_view expectations) {
  while (!expectations.empty()) {
    const std::size_t comma = std::min(expectations.find(','), expectations.size());
    const Expected expected = expected_from(trimmed(expectations.substr(0, comma)));
    expectations.remove_prefix(std::min(comma + 1, expectations.size()));
    const auto found = std::ranges::find_if(
        outcome, [&](const auto& value) { return expected.label.empty() || value.first == expected.label; });
    if (found == outcome.end()) disagree("expected {} {}, came nothing of the kind", expected.label, expected.value);
    if (found->second != expected.value)
      disagree("expected {} {}, came {}", found->first, expected.value, found->second);
  }
}

class Runner {
 public:
  void line(std::string_view text) {
    text = trimmed(text.substr(0, text.find('#')));
    if (text.empty()) return;
    const std::size_t arrow = text.find("->");
    const std::string_view doing = trimmed(text.substr(0, arrow));
    if (!world_) {
      world_ = std::make_unique<World>(config_from(doing));
      return;
    }
    const Outcome outcome = world_->apply(operation_from(doing));
    if (arrow != std::string_view::npos) compare(outcome, trimmed(text.substr(arrow + 2)));
  }
  void finish() {
    if (!world_) disagree("there is no 'engine' line");
    world_->finish();
  }

 private:
  std::unique_ptr<World> world_;
};

}  // namespace

std::vector<std::string> run_scenario(const std::string& text, const std::string& name) {
  std::vector<std::string> errors;
  Runner runner;
  std::istringstream lines(text);
  int number = 0;
  try {
    for (std::string line; std::getline(lines, line);) ++number, runner.line(line);
    ++number;
    runner.finish();
  } catch (const Mismatch& error) {
    // The first one only: what follows a difference is its consequence.
    errors.push_back(fmt::format("{}:{}: {}", name, number, error.what()));
  }
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
