/// `canopy serve`: what it prints, what it refuses, how it ends. The server itself: tests/inspector/serve.
#include <doctest/doctest.h>

#include <regex>

#include "program.h"

using namespace cli;

namespace {

/// Returns true if this build has the page; otherwise says that the test is skipped.
bool has_page(const Workshop& workshop) {
  // With a port that is not allowed to listen on, a build with the page ends as well.
  const Ended ended = run_canopy(workshop, "serve --listen 203.0.113.7");
  CHECK(ended.status == 2);
  if (has(ended.err, "cannot listen")) return true;
  const std::regex sentence(
      "canopy serve: this build has no page for a browser: (missing: |it was built with CANOPY_PAGE=OFF).*\n"
      "In the source tree, type: ./scripts/install web && ./scripts/release\n");
  CHECK_MESSAGE(std::regex_match(ended.err, sentence), ended.err);
  MESSAGE("SKIPPED: this build has no page for a browser");
  return false;
}

/// Waits until the program has printed its lines.
std::string printed(const Workshop& workshop) {
  REQUIRE(soon([&] { return has(slurp(workshop.path / "serve.out"), "Ctrl-C"); }));
  return slurp(workshop.path / "serve.out");
}

}  // namespace

TEST_CASE("serve: what cannot be is refused with a sentence") {
  const Workshop workshop;
  if (!has_page(workshop)) return;
  const auto refused = [&](const std::string& arguments, const std::string& sentence) {
    const Ended ended = run_canopy(workshop, "serve " + arguments);
    CHECK_MESSAGE(ended.status == 2, arguments);
    CHECK_MESSAGE(has(ended.err, sentence), ended.err);
    CHECK(ended.out.empty());
  };
  refused("--listen nowhere", "--listen nowhere: expected an IP address of this machine, such as 127.0.0.1");
  refused("--host a:80", "--host is 'a:80'; expected a host name without a port");
  refused("--port 65536", "65536");
  refused("--token-file " + workshop.path.string(), "--token-file " + workshop.path.string() + ": it is a folder");
  refused("--demo name", "--demo");
  refused("./none.feed", "./none.feed");
  refused(workshop.file("text.feed", std::string(9000, 'x')), "this is not a recording of a feed");
  refused(workshop.path.string(), "expected a regular file");
}

TEST_CASE("serve: prints an address with a token, and ends with a signal") {
  const Workshop workshop;
  if (!has_page(workshop)) return;
  const std::regex line("http://127\\.0\\.0\\.1:(\\d+)/#token=[0-9a-f]{32}\nServes ([^\n]*)\\. Ctrl-C ends it\\.\n");
  const auto serves = [&](const std::string& arguments, const std::string& what, int signal, int status) {
    CAPTURE(arguments);
    Started server(workshop, "serve", "serve --port 0 " + arguments);
    const std::string out = printed(workshop);
    std::smatch found;
    REQUIRE_MESSAGE(std::regex_match(out, found, line), out);
    CHECK(found[2] == what);
    const Ended ended = server.end(signal);
    CHECK(ended.status == status);
    CHECK(ended.err.empty());
    std::filesystem::remove(workshop.path / "serve.out");
  };
  serves("", "all feeds of this user", SIGINT, 130);
  serves("--demo", "a demo engine in this process", SIGTERM, 143);
  const std::string name = "serve-" + std::to_string(::getpid());
  serves(name, "the feed '" + name + "', once there is one", SIGINT, 130);
  const std::string file = (workshop.path / "run.feed").string();
  REQUIRE(run_canopy(workshop, "replay " + (kSource / "configs/engines/sliding_window.yaml").string() + " --workload " +
                                   (kSource / "configs/workloads/chat.yaml").string() + " --limit 20 --record " + file)
              .status == 0);
  serves(file, "the recording " + file, SIGINT, 130);
}
