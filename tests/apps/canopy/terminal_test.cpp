/// Bytes of files, arguments and plugins on their way to a terminal.
#include <canopy/base/printable.h>
#include <doctest/doctest.h>

#include <string>

#include "program.h"

namespace {

using namespace cli;

/// Clears the screen, sets the title, turns the direction of writing, begins a control sequence in one character, and
/// is no UTF-8.
const std::string kHostile = "a\x1b[2J\x1b]0;owned\a\xe2\x80\xae\xc2\x9b\x7f\xff";

/// Returns true if a terminal shows the text and does nothing else.
bool is_tame(const std::string& text) { return canopy::printable_lines(text) == text; }

/// For a shell.
std::string quoted(const std::string& text) { return "'" + text + "'"; }

/// The plugin `leaver` in a folder of its own below the build's, since --plugins does not trust a temporary one.
struct LeaverFolder {
  fs::path path = kBin.parent_path() / ("leaver-" + std::to_string(::getpid()));
  LeaverFolder() {
    fs::create_directory(path);
    fs::permissions(path, fs::perms::owner_all);
    fs::copy_file(kBin.parent_path() / "bad_plugins/leaver.so", path / "leaver.so");
    fs::permissions(path / "leaver.so", fs::perms::owner_all);
  }
  ~LeaverFolder() { fs::remove_all(path); }
};

}  // namespace

TEST_CASE("nothing that a file or an argument says reaches the terminal raw") {
  const Workshop workshop;
  const std::string engine = (kSource / "configs/engines/lru.yaml").string(), path = quoted(workshop.path / kHostile);
  fs::create_directory(workshop.path / kHostile);
  const std::string figures = workshop.file(
      "figures.json",
      R"({"index": "rad\u001b[2Jix", "source": "", "quick": true, "remarks": ["\u009b\u202eremark"], "rows": [{"section":
         "\u001b]0;x\u0007", "name": "\u001b[31mrow", "kind": "time", "per": "\u007f", "ours": {"median": 1, "low": 1,
         "high": 1}, "note": "\u2066"}]})");
  const std::string trace = workshop.file("t.jsonl", "{\"timestamp\": 0, \"" + kHostile + "\": 1}\n");
  const std::string config = workshop.file("e.yaml", "page_size: 16\n\"k\\e[2J\\u202e\": 1\n");
  for (const std::string& arguments :
       {"config check " + path,
        "config dump " + path,
        "config check " + config,
        "replay " + path + " --trace " + path,
        "replay " + engine + " --trace " + path,
        "replay " + engine + " --workload " + path,
        "replay " + engine + " --trace " + trace,
        "replay " + engine + " --trace " + trace + " --record " + path,
        "replay " + engine + " --trace " + trace + " --json " + path,
        "replay " + engine + " --trace " + trace + " --policy " + quoted(kHostile),
        "replay " + engine + " --trace " + trace + " --set " + quoted(kHostile + "=1"),
        "replay " + engine + " --trace " + trace + " --limit " + quoted(kHostile),
        "replay " + engine + " --trace " + trace + " --resize " + quoted("5:" + kHostile + ":64"),
        quoted(kHostile),
        "top --feed " + quoted(kHostile),
        "top --pools --feed " + quoted(kHostile),
        "top --resize 1M --feed " + quoted(kHostile),
        "plugins check " + path,
        "plugins describe " + quoted(kHostile),
        "plugins new " + quoted(kHostile),
        "plugins --plugins " + path,
        "verify " + path,
        "bench --from " + path,
        "bench --from " + figures,
        "bench --only " + quoted(kHostile),
        "demo --json " + path,
        "demo --store " + quoted(kHostile)}) {
    CAPTURE(canopy::printable(arguments));
    const Ended run = run_canopy(workshop, arguments);
    CHECK_MESSAGE(is_tame(run.out), canopy::printable_lines(run.out));
    CHECK_MESSAGE(is_tame(run.err), canopy::printable_lines(run.err));
    CHECK_FALSE((run.out + run.err).empty());
  }
}

TEST_CASE("a namespace and a plugin cannot send commands to a terminal") {
  const Workshop workshop;
  const std::string workload = workshop.file(
      "w.yaml",
      "requests: 2000\nmix:\n  - few_shot: {}\n    namespace: \"\\e[2J\\e]0;owned\\a\\u202eevil\\nsecond line\"\n");
  const std::string name = "terminal-" + std::to_string(::getpid());
  Started served(workshop, "served",
                 "replay " + (kSource / "configs/engines/lru.yaml").string() + " --workload " + workload +
                     " --pace 100 --feed " + name);
  Ended shown;
  CHECK(soon([&] {
    shown = run_canopy(workshop, "top --once --feed " + name);
    return has(shown.out, "evil");
  }));
  CHECK_MESSAGE(is_tame(shown.out), canopy::printable_lines(shown.out));
  CHECK(has(shown.out, "?[2J?]0;owned?"));
  CHECK(has(shown.out, "?evil?second line"));
  served.end(SIGTERM);

  const LeaverFolder leaver;
  const std::string folder = leaver.path.string();
  for (const std::string& arguments :
       {"plugins check " + folder + "/leaver.so", "plugins --plugins " + folder,
        "plugins describe leaver --plugins " + folder, "config describe --plugins " + folder}) {
    CAPTURE(arguments);
    const Ended run = run_canopy(workshop, arguments);
    CHECK_MESSAGE(is_tame(run.out), canopy::printable_lines(run.out));
    CHECK_MESSAGE(is_tame(run.err), canopy::printable_lines(run.err));
    CHECK_FALSE((run.out + run.err).empty());
  }
}

TEST_CASE("a plugin that ends the process is no success") {
  const Workshop workshop;
  const LeaverFolder leaver;
  const Ended run = run_canopy(workshop, "replay " + (kSource / "configs/engines/lru.yaml").string() + " --workload " +
                                             (kSource / "configs/workloads/chat.yaml").string() +
                                             " --limit 20 --policy leaver --plugins " + leaver.path.string());
  if (has(run.err, "leaver.so: ")) {
    MESSAGE("SKIPPED: --plugins does not trust the build's folder: " << run.err);
    return;
  }
  CHECK(run.status == 1);
  CHECK_MESSAGE(has(run.err, "a plugin ended the process with exit()"), run.err);
}
