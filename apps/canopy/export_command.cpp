#include "export_command.h"

#include <canopy/base/host_check.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>
#include <http/server.h>
#include <metrics/families.h>
#include <metrics/server.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "cli_options.h"
#include "commands.h"
#include "feed_follower.h"
#include "interrupt.h"
#include "peer_lines.h"
#include "terminal.h"

namespace canopy::app {
namespace {

using namespace std::chrono_literals;
using metrics::Figures;

struct ExportArguments {
  std::string feed, listen = "127.0.0.1";
  std::uint16_t port = 9400;
  std::vector<metrics::Names> names;
  std::vector<std::string> labels, hosts;
  std::size_t tenants = 64;
  bool once = false;
};

/// Figures for scrapes: one thread sets them, the server's threads read them.
class Board {
 public:
  void put(Figures figures) {
    const std::lock_guard lock(mutex_);
    figures_ = std::move(figures);
  }
  Figures get() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }

 private:
  mutable std::mutex mutex_;
  Figures figures_;
};

/// Returns the labels from texts such as "model_name=llama".
Result<metrics::Labels> labels_of(const std::vector<std::string>& texts) {
  metrics::Labels labels;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size())
      return Error{fmt::format("--label {}: expected NAME=VALUE", text)};
    const std::string name = text.substr(0, equals);
    if (const std::string flaw = metrics::flaw_of_label(name); !flaw.empty())
      return Error{fmt::format("--label {}: '{}' is not a name for a label: {}", text, name, flaw)};
    for (const auto& [known, value] : labels)
      if (known == name) return Error{fmt::format("--label {}: '{}' is given twice", text, name)};
    labels.emplace_back(name, printable(text.substr(equals + 1)));
  }
  return labels;
}

/// Waits for the whole tree, then prints the result of one scrape.
int print_once(FeedFollower& follower, const ExportArguments& arguments, const metrics::Labels& labels) {
  const Interrupt interrupt;
  for (auto waited = 0ms; !follower.tally().in_step(); waited += 20ms) {
    follower.step();
    if (follower.tally().in_step()) break;
    if (!follower.why().empty()) return unusable(follower.why());
    if (Interrupt::came()) return Interrupt::exit_code();
    if (waited > 10s) return unusable(no_state_of(arguments.feed, follower.came(), "10 s"));
    std::this_thread::sleep_for(20ms);
  }
  fmt::print("{}", metrics::text_of(families_of(follower.tally().figures(), arguments.names, labels)));
  return print_doubts(follower.tally().doubts(), stderr, Terminal::of_stderr());
}

int export_feed(ExportArguments arguments) {
  if (arguments.names.empty()) arguments.names = {metrics::Names::canopy};
  const auto labels = labels_of(arguments.labels);
  if (!labels) return unusable(labels.error().text);
  FeedFollower follower(arguments.feed, arguments.tenants);
  if (arguments.once) return print_once(follower, arguments, *labels);
  for (const std::string& host : arguments.hosts)
    if (const std::string flaw = flaw_of_host(host); !flaw.empty()) return unusable("--host" + flaw);
  const Result<bool> every = http::is_every_address(arguments.listen);
  if (!every) return unusable(every.error().text);

  const Interrupt interrupt;
  Board board;
  board.put(follower.tally().figures());
  auto server = metrics::Server::open(
      arguments.listen, arguments.port, [&] { return families_of(board.get(), arguments.names, *labels); },
      arguments.hosts);
  if (!server) return unusable(server.error().text);
  if (*every)
    fmt::print(stderr,
               "canopy export: {} means every address of this machine: any program that reaches it can read the "
               "figures and the names of namespaces\n",
               arguments.listen);
  fmt::print("http://{}/metrics\n", http::place_of(arguments.listen, (*server)->port()));
  std::fflush(stdout);
  std::string printed = "nothing was printed yet";
  PeerLines lines;
  while (!Interrupt::came()) {
    follower.step();
    board.put(follower.tally().figures());
    if (follower.why() != printed) {
      printed = follower.why();
      lines.say(printed.empty() ? "reading the feed '" + arguments.feed + "'" : "waiting: " + printed);
    }
    lines.turn();
    std::this_thread::sleep_for(20ms);
  }
  return Interrupt::exit_code();
}

}  // namespace

void add_export(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ExportArguments>();
  auto* command = program.add_subcommand("export", "Serve a running engine's figures to Prometheus");
  command->group("Look");
  command->footer(
      "Reads the engine's feed: a scrape never reaches the engine (docs/inspector.md). Waits for the feed, and "
      "attaches "
      "again after its end.");
  command->add_option("--feed", arguments->feed, "name of the feed")->required();
  auto* port = command->add_option("--port", arguments->port, "TCP port; 0: any free port")
                   ->capture_default_str()
                   ->check(whole(0, 65535));
  auto* listen = command->add_option("--listen", arguments->listen, "IP address to listen on")->capture_default_str();
  auto* host = repeated(command->add_option(
      "--host", arguments->hosts,
      "another name of this server, under which Prometheus or a proxy asks for figures; may be repeated"));
  repeated(command
               ->add_option("--names", arguments->names,
                            "names of the figures: those of canopy, sglang or vllm; may be repeated")
               ->transform(one_of<metrics::Names>({{"canopy", metrics::Names::canopy},
                                                   {"sglang", metrics::Names::sglang},
                                                   {"vllm", metrics::Names::vllm}})));
  repeated(command->add_option("--label", arguments->labels,
                               "NAME=VALUE: adds a label to every figure, such as model_name=llama; may be repeated"));
  command
      ->add_option("--tenants", arguments->tenants,
                   "number of namespaces, the first ones, and of tenants with shares, the largest ones, with their own "
                   "figures; all others share (other)")
      ->capture_default_str()
      ->check(whole(0, 10000));
  command->add_flag("--once", arguments->once, "print the result of one scrape and exit")
      ->excludes(port)
      ->excludes(listen)
      ->excludes(host);
  command->callback([=, &status] { status = export_feed(*arguments); });
}

}  // namespace canopy::app
