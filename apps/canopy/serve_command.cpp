#include "serve_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli_options.h"

namespace canopy::app {

void add_serve(CLI::App& program, int& status) {
  auto arguments = std::make_shared<ServeArguments>();
  auto* command = program.add_subcommand("serve", "Show a feed or a recording in a browser");
  command->group("Look");
  command->footer(
      "Prints an address with a secret token to open in a browser. Waits for the feed, and attaches again after its "
      "end. Everything that the page needs comes from this program (docs/inspector.md).");
  auto* what = command->add_option("what", arguments->what,
                                   "name of a feed, or file of a recording; without it, the page lists all feeds");
  command->add_flag("--demo", arguments->demo, "serve a demo engine in this process")->excludes(what);
  command->add_option("--port", arguments->port, "TCP port; 0: any free port")
      ->capture_default_str()
      ->check(whole(0, 65535));
  command->add_option("--listen", arguments->listen, "IP address to listen on")->capture_default_str();
  repeated(command->add_option("--host", arguments->hosts,
                               "another name of this server in a browser, such as a proxy's; may be repeated"));
  command->add_option("--token-file", arguments->token_file,
                      "keep the token in this file, so that addresses stay valid; made if there is none");
  command->add_flag("--controls", arguments->controls, "let pages send commands, to engines whose feed takes controls");
  command->callback([=, &status] { status = serve(*arguments); });
}

}  // namespace canopy::app
