#include "what_if.h"

#include <canopy/support/printable.h>

#include <charconv>
#include <fstream>
#include <iterator>

namespace canopy::inspector {
namespace {

constexpr std::size_t kMostPageSizes = 16;
constexpr const char* kEngine = "engine.yaml";

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts(1);
  for (const char letter : list)
    if (letter == ',') parts.emplace_back();
    else if (letter != ' ') parts.back() += letter;
  return parts;
}

/// The share in "compare: 40 %, 4,812 requests, 3.2 s passed", 0..1; -1 if it is another line.
double share_in(std::string_view line, std::string_view what) {
  if (!line.starts_with(what)) return -1;
  line.remove_prefix(what.size());
  unsigned percent = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), percent);
  const bool whole = error == std::errc{} && std::string_view(end, line.data() + line.size()).starts_with(" %");
  return whole && percent <= 100 ? percent / 100.0 : -1;
}

bool has_letters(std::string_view line) { return line.find_first_not_of(" \t\r^~|-") != std::string_view::npos; }

}  // namespace

void WhatIf::start(const Question& question, const std::string& engine) {
  end_run();
  ++changes_;
  question_ = question;
  rows_.clear(), last_line_.clear(), sentence_.clear();
  at_ = 0;
  pages_ = parts_of(question.page_sizes);
  if (question.trace.empty()) return fail("Name a trace first.");
  if (question.policies.empty()) return fail("Name at least one policy.");
  if (pages_.size() > kMostPageSizes) return fail("At most 16 page sizes can be compared.");
  if (engine.empty()) return fail("The feed has not told the engine's configuration, which the comparison needs.");
  found_ = program_.empty() ? find_program("canopy") : program_;
  if (found_.empty())
    return fail("The program `canopy` is neither beside canopy-inspector nor in $PATH. It computes the comparison.");
  folder_.emplace("canopy-what-if");
  const std::string folder = folder_->path().string();
  if (folder.empty()) return fail("No folder for the figures can be made in $TMPDIR or /tmp.");
  std::ofstream file(folder_->path() / kEngine);
  if (!(file << engine).flush()) return fail("The engine's configuration could not be written to " + folder + ".");
  state_ = State::running;
  start_next();
}

void WhatIf::start_next() {
  const std::filesystem::path name(question_.trace);
  const bool is_workload = name.extension() == ".yaml" || name.extension() == ".yml";
  std::vector<std::string> command = {found_,
                                      "compare",
                                      (folder_->path() / kEngine).string(),
                                      (is_workload ? "--workload=" : "--trace=") + question_.trace,
                                      "--policies=" + question_.policies,
                                      "--json=" + (folder_->path() / "figures.json").string()};
  if (!question_.capacities.empty()) command.push_back("--capacities=" + question_.capacities);
  if (!pages_[at_].empty()) command.push_back("--page-size=" + pages_[at_]);
  part_ = 0, last_line_.clear();
  sentence_ = "started";
  auto child = ChildProcess::start(command);
  if (!child) return fail(child.error().text);
  child_ = std::move(*child);
}

void WhatIf::cancel() {
  if (state_ != State::running) return;
  end_run();
  ++changes_;
  state_ = State::idle;
}

void WhatIf::look() {
  if (!child_) return;
  const auto ended = child_->exit_code();  // before its lines, so that they are all of them
  for (const std::string& line : child_->lines()) hear(line);
  if (ended) finish_child(*ended);
}

void WhatIf::hear(const std::string& line) {
  const double reading = share_in(line, "reading: "), comparing = share_in(line, "compare: ");
  if (reading < 0 && comparing < 0) {
    // A line that begins with a space goes on with the sentence before it.
    if (line.starts_with(' ') && !last_line_.empty() && last_line_.size() < ChildProcess::kMostLine)
      last_line_ += '\n' + line;
    else if (has_letters(line)) last_line_ = line;
    return;
  }
  if (comparing >= 0) part_ = comparing;  // reading is a small part of the work
  sentence_ = printable(line);
  if (pages_.size() > 1)
    sentence_ = "page size " + pages_[at_] + " (" + std::to_string(at_ + 1) + " of " + std::to_string(pages_.size()) +
                "), " + sentence_;
  ++changes_;
}

void WhatIf::finish_child(int exit_code) {
  child_.reset();
  ++changes_;
  if (exit_code != 0) {
    const std::string path = (folder_->path() / kEngine).string();
    for (std::size_t at; (at = last_line_.find(path)) != std::string::npos;)
      last_line_.replace(at, path.size(), "the engine's configuration");
    return fail(last_line_.empty()
                    ? "`canopy compare` ended with exit code " + std::to_string(exit_code) + " and said nothing."
                    : printable_lines(last_line_));
  }
  std::ifstream file(folder_->path() / "figures.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto figures = read_comparison(text);
  if (!figures) return fail(figures.error().text);
  rows_.insert(rows_.end(), figures->rows.begin(), figures->rows.end());
  trace_ = std::move(*figures);
  if (++at_ < pages_.size()) return start_next();
  end_run();
  state_ = State::done;
}

double WhatIf::share() const {
  return pages_.empty() ? 0 : (static_cast<double>(at_) + part_) / static_cast<double>(pages_.size());
}

void WhatIf::fail(std::string why) {
  end_run();
  ++changes_;
  rows_.clear();
  sentence_ = std::move(why);
  state_ = State::failed;
}

void WhatIf::end_run() {
  child_.reset();
  folder_.reset();
}

}  // namespace canopy::inspector
