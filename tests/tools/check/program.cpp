#include "program.h"

#include <canopy/base/nearest_name.h>
#include <canopy/engine/engine_file.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>

#include <program/mismatch.h>
#include "faulty.h"
#include "ranks.h"

namespace canopy::check {
namespace {

/// The result of a child process, in memory that it shares with its parent.
struct Sent {
  Verdict::Kind kind;
  std::uint64_t operation;
  bool ended;
  char sentence[2048];
};

/// Checks what the language leaves to an engine. Throws a Mismatch.
void check_names(const Operation& operation, const std::vector<std::string>& groups) {
  if (const std::string& group = operation.group; !group.empty() && std::ranges::find(groups, group) == groups.end())
    test::disagree("the engine has no group {}{}", in_quotes(group), did_you_mean(group, groups));
  if (const auto space = static_cast<std::uint32_t>(operation.space); space >= kMostSpaces)
    test::disagree("{} is not a namespace; they are numbered from 0 to {}", space, kMostSpaces - 1);
  if (operation.verb == Verb::lie && !lie_of(operation.name))
    test::disagree("{} is not a lie{}", in_quotes(operation.name), did_you_mean(operation.name, lie_names()));
}

Result<Program> program_in(const YamlNode& document, const Registry& registry) {
  const auto wrong = [](const YamlNode& at, const std::string& what) { return Error{at.mark.text() + ": " + what}; };
  if (document.kind != YamlNode::Kind::map)
    return wrong(document, "expected a map with the keys engine and operations, as canopy-dev check writes it");
  const std::vector<std::string> known{"engine", "operations", "ranks"};
  for (const auto& [key, value] : document.entries)
    if (std::ranges::find(known, key.scalar) == known.end())
      return wrong(key, "unknown key " + in_quotes(key.scalar) + did_you_mean(key.scalar, known));
  for (const std::string& key : std::span(known).first(2))
    if (!document.find(key)) return wrong(document, "the key '" + key + "' is missing");
  const YamlNode& engine = *document.find("engine");
  const auto config = read_engine_config(engine, registry);
  if (!config) return config.error();
  Program program;
  program.engine = dump_engine_config(*config, registry);
  std::vector<std::string> groups;
  for (const GroupConfig& group : config->groups) groups.push_back(group.name);
  if (const YamlNode* const ranks = document.find("ranks")) {
    if (ranks->scalar.size() != 1 || ranks->scalar[0] < '1' || ranks->scalar[0] > '8')
      return wrong(*ranks, "ranks is " + in_quotes(ranks->scalar) + "; expected a number from 1 to 8");
    program.ranks = static_cast<unsigned>(ranks->scalar[0] - '0');
  }
  const YamlNode& operations = *document.find("operations");
  if (operations.kind != YamlNode::Kind::sequence)
    return wrong(operations, "expected a list of operations, each such as '- begin 1 0 1 2'");
  for (const YamlNode& line : operations.items) {
    if (line.kind != YamlNode::Kind::scalar) return wrong(line, "expected an operation, such as 'begin 1 0 1 2'");
    try {
      program.operations.push_back(program::operation_of(line.scalar, program::Runner::engine));
      check_names(program.operations.back(), groups);
    } catch (const test::Mismatch& error) {
      return wrong(line, error.what());
    }
  }
  return program;
}

}  // namespace

Result<Program> program_of(std::string_view text, const std::string& source, const Registry& registry) {
  const auto document = parse_yaml(text, source);
  return document ? program_in(*document, registry) : document.error();
}

Result<Program> read_program(const std::string& path, const Registry& registry) {
  const auto document = parse_yaml_file(path);
  return document ? program_in(*document, registry) : document.error();
}

std::string text_of(const Program& program, const std::vector<std::string>& about) {
  std::string text;
  for (const std::string& line : about) text += "# " + line + "\n";
  text += "engine:\n";
  std::istringstream lines(program.engine);
  for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
  if (program.ranks > 1) text += "ranks: " + std::to_string(program.ranks) + "\n";
  text += program.operations.empty() ? "operations: []\n" : "operations:\n";
  for (const Operation& operation : program.operations) text += "  - " + text_of(operation) + "\n";
  return text;
}

Verdict run_here(const Program& program, const Registry& registry) {
  auto ranks = Ranks::create(program.engine, program.ranks, registry);
  if (!ranks) return {Verdict::Kind::unusable, 0, ranks.error().text};
  std::uint64_t at = 0;
  try {
    for (const Operation& operation : program.operations) {
      ++at;
      (*ranks)->apply(operation);
      if ((*ranks)->first().over()) return {};
    }
    ++at;
    (*ranks)->finish();
  } catch (const std::exception& error) {
    return {Verdict::Kind::violation, at, error.what()};
  }
  return {};
}

void be_a_child(unsigned seconds) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGALRM, SIGPROF, SIGTERM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    std::signal(signal, SIG_DFL);
  std::signal(SIGINT, SIG_IGN);  // a terminal sends it to all processes; the parent decides
  ::alarm(seconds * 10);
  const itimerval time{{}, {static_cast<time_t>(seconds), 0}};
  ::setitimer(ITIMER_PROF, &time, nullptr);
}

Verdict verdict_of(int status, unsigned seconds) {
  if (WIFEXITED(status))
    return {Verdict::Kind::crash, 0, "the process ended with exit code " + std::to_string(WEXITSTATUS(status))};
  if (WTERMSIG(status) == SIGPROF)
    return {Verdict::Kind::hang, 0, "it did not end within " + std::to_string(seconds) + " seconds of processor time"};
  if (WTERMSIG(status) == SIGALRM)
    return {Verdict::Kind::hang, 0, "it did not end within " + std::to_string(seconds * 10) + " seconds"};
  return {Verdict::Kind::crash, 0, std::string("the process crashed: ") + ::strsignal(WTERMSIG(status))};
}

Verdict run_apart(const std::function<Verdict()>& work, unsigned seconds, bool quiet) {
  Shared<Sent> sent;
  const pid_t child = ::fork();
  if (child < 0) return {Verdict::Kind::unusable, 0, std::string("no process can be started: ") + std::strerror(errno)};
  if (child == 0) {
    be_a_child(seconds);
    if (const int nowhere = quiet ? ::open("/dev/null", O_WRONLY) : -1; nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    Verdict verdict;
    try {
      verdict = work();
    } catch (const std::exception& error) {
      verdict = {Verdict::Kind::violation, 0, error.what()};
    } catch (...) {
      verdict = {Verdict::Kind::violation, 0, "an exception was thrown that is not a std::exception"};
    }
    sent->kind = verdict.kind;
    sent->operation = verdict.operation;
    std::strncpy(sent->sentence, verdict.sentence.c_str(), sizeof(sent->sentence) - 1);
    sent->ended = true;
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!sent->ended) return verdict_of(status, seconds);
  return {sent->kind, sent->operation, sent->sentence};
}

}  // namespace canopy::check
