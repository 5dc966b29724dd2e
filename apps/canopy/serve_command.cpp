#include "serve_command.h"

#include <canopy/base/printable.h>
#include <canopy/feed/sink.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>

#include <demo/live_demo.h>
#include <serve/host_check.h>
#include <serve/token.h>
#include <serve/web_server.h>
#include <sources/recording.h>
#include "cli_options.h"
#include "interrupt.h"
#include "program.h"

namespace canopy::app {
namespace {

using namespace std::chrono_literals;
using inspector::protocol::Serves;

struct ServeArguments {
  std::string what;
  inspector::WebSettings web;
  bool demo = false, controls = false;
};

/// Returns true if the argument is the path of a file, and no name of a feed.
bool is_path(const std::string& what) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(what, ignored) || what.find('/') != std::string::npos ||
         !flaw_of_name({.kind = FeedConfig::Kind::shm, .name = what}).empty();
}

/// Returns a line about a served thing, for people.
std::string described(const inspector::Served& served) {
  switch (served.kind) {
    case Serves::feeds:
      return "all feeds of this user";
    case Serves::feed: {
      for (const auto& feed : inspector::Attachment::found())
        if (feed.name == served.name && feed.ended.empty())
          return fmt::format("the feed '{}'{}", served.name,
                             feed.tokens ? ", which contains tokens: a page shows prompts" : "");
      return fmt::format("the feed '{}', once there is one", served.name);
    }
    case Serves::recording:
      return fmt::format("the recording {}", served.name);
    case Serves::demo:
      return "a demo engine in this process";
  }
  return {};
}

int serve(ServeArguments arguments) {
  const Result<bool> every = inspector::is_every_address(arguments.web.listen);
  if (!every) return unusable(every.error().text);
  for (const std::string& host : arguments.web.hosts)
    if (const std::string flaw = inspector::flaw_of_host(host); !flaw.empty()) return unusable("--host" + flaw);

  inspector::Served served{.name = arguments.what, .controls = arguments.controls, .version = CANOPY_VERSION};
  served.note = [](const std::string& line) { fmt::print(stderr, "{}\n", printable(line)); };
  if (arguments.demo) {
    served.kind = Serves::demo;
  } else if (!arguments.what.empty() && is_path(arguments.what)) {
    const auto recording = inspector::Recording::begin(arguments.what);
    if (!recording) return unusable(recording.error().text);
    served.kind = Serves::recording;
  } else if (!arguments.what.empty()) {
    served.kind = Serves::feed;
  }
  arguments.web.files = inspector::page_files();
  if (arguments.web.files.empty())
    return unusable(
        "canopy serve: this build has no page for a browser; `scripts/install web` brings what it needs, then build "
        "Canopy again");

  std::unique_ptr<demo::LiveDemo> demo;  // declared before the server, which reads its feed
  if (arguments.demo) {
    auto made = demo::LiveDemo::make();
    if (!made) return unusable(made.error().text);
    demo = std::move(*made);
    served.demo = &demo->header();
  }
  const Interrupt interrupt;
  arguments.web.token = inspector::make_token();
  const std::string line = described(served);
  auto server = inspector::WebServer::open(arguments.web, std::move(served));
  if (!server) return unusable(server.error().text);
  if (demo) demo->start(true);
  const bool six = arguments.web.listen.find(':') != std::string::npos;
  const std::string address = *every ? (six ? "::1" : "127.0.0.1") : arguments.web.listen;
  fmt::print("http://{}{}{}:{}/#token={}\n", six ? "[" : "", address, six ? "]" : "", (*server)->port(),
             arguments.web.token);
  fmt::print("Serves {}.{} Ctrl-C ends it.\n", printable(line),
             arguments.controls ? " A page can control the engine, if its feed takes controls." : "");
  std::fflush(stdout);
  if (!arguments.web.listen.starts_with("127.") && arguments.web.listen != "::1")
    fmt::print(stderr,
               "canopy serve: {} can be reached from other machines, and the connection is not encrypted: a machine "
               "between them can read the token and the feed\n",
               arguments.web.listen);
  while (!Interrupt::came()) (*server)->run_for(50ms);
  return Interrupt::exit_code();
}

}  // namespace

void add_serve(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ServeArguments>();
  arguments->web.port = 7780;
  auto* command = program.add_subcommand("serve", "Show a feed or a recording in a browser");
  command->group("Look");
  command->footer(
      "Prints an address with a secret token to open in a browser. Waits for the feed, and attaches again after its "
      "end. Everything that the page needs comes from this program (docs/inspector.md).");
  auto* what = command->add_option("what", arguments->what,
                                   "name of a feed, or file of a recording; without it, the page lists all feeds");
  command->add_flag("--demo", arguments->demo, "serve a demo engine in this process")->excludes(what);
  command->add_option("--port", arguments->web.port, "TCP port; 0: any free port")
      ->capture_default_str()
      ->check(whole(0, 65535));
  command->add_option("--listen", arguments->web.listen, "IP address to listen on")->capture_default_str();
  repeated(command->add_option("--host", arguments->web.hosts,
                               "another name of this server in a browser, such as a proxy's; may be repeated"));
  command->add_flag("--controls", arguments->controls, "let pages send commands, to engines whose feed takes controls");
  command->callback([=, &status] { status = serve(*arguments); });
}

}  // namespace canopy::app
