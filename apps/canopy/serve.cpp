#include "serve_command.h"

#include <canopy/base/host_check.h>
#include <canopy/base/printable.h>
#include <canopy/feed/sink.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include <demo/live_demo.h>
#include <http/server.h>
#include <serve/token.h>
#include <serve/web_server.h>
#include <sources/recording.h>
#include "interrupt.h"
#include "peer_lines.h"
#include "program.h"

namespace canopy::app {
namespace {

using namespace std::chrono_literals;
using inspector::protocol::Serves;

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

}  // namespace

int serve(const ServeArguments& arguments) {
  const Result<bool> every = http::is_every_address(arguments.listen);
  if (!every) return unusable(every.error().text);
  for (const std::string& host : arguments.hosts)
    if (const std::string flaw = flaw_of_host(host); !flaw.empty()) return unusable("--host" + flaw);
  const Result<std::string> token =
      arguments.token_file.empty() ? inspector::make_token() : inspector::kept_token(arguments.token_file);
  if (!token) return unusable("--token-file " + token.error().text);

  inspector::Served served{.name = arguments.what, .controls = arguments.controls, .version = CANOPY_VERSION};
  PeerLines lines;
  served.note = [&](const std::string& line) { lines.say(line); };
  if (arguments.demo) {
    served.kind = Serves::demo;
  } else if (!arguments.what.empty() && is_path(arguments.what)) {
    const auto recording = inspector::Recording::begin(arguments.what);
    if (!recording) return unusable(recording.error().text);
    served.kind = Serves::recording;
  } else if (!arguments.what.empty()) {
    served.kind = Serves::feed;
  }
  std::unique_ptr<demo::LiveDemo> demo;  // declared before the server, which reads its feed
  if (arguments.demo) {
    auto made = demo::LiveDemo::make();
    if (!made) return unusable(made.error().text);
    demo = std::move(*made);
    served.demo = &demo->header();
  }
  const Interrupt interrupt;
  const inspector::WebSettings web{.listen = arguments.listen,
                                   .port = arguments.port,
                                   .hosts = arguments.hosts,
                                   .token = *token,
                                   .files = inspector::page_files()};
  const std::string line = described(served);
  auto server = inspector::WebServer::open(web, std::move(served));
  if (!server) return unusable(server.error().text);
  if (demo) demo->start(true);
  const bool six = arguments.listen.find(':') != std::string::npos;
  const std::string address = *every ? (six ? "::1" : "127.0.0.1") : arguments.listen;
  fmt::print("http://{}/#token={}\n", http::place_of(address, (*server)->port()), web.token);
  fmt::print("Serves {}.{} Ctrl-C ends it.\n", printable(line),
             arguments.controls ? " A page can control the engine, if its feed takes controls." : "");
  std::fflush(stdout);
  if (!arguments.listen.starts_with("127.") && arguments.listen != "::1")
    fmt::print(stderr,
               "canopy serve: {} can be reached from other machines, and the connection is not encrypted: a machine "
               "between them can read the token and the feed\n",
               arguments.listen);
  while (!Interrupt::came()) {
    (*server)->run_for(50ms);
    lines.turn();
  }
  return Interrupt::exit_code();
}

}  // namespace canopy::app
