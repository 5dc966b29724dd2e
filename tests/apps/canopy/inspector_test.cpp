/// The command line of canopy-inspector, and of `canopy top` beside it: what is said, and by which exit code it ends.
#include <doctest/doctest.h>
#include <signal.h>

#include <cstdio>

#include "program.h"

namespace {

using namespace cli;

Ended inspector(const Workshop& workshop, const std::string& arguments) {
  return run(workshop, "canopy-inspector", arguments);
}

bool is_built() {
  if (fs::exists(kBin / "canopy-inspector")) return true;
  std::printf("SKIPPED: canopy-inspector is not built\n");
  return false;
}

/// EGL without a display, which a picture needs.
bool draws(const Workshop& workshop) {
  const Ended tried = inspector(workshop, "--requests 1 --screenshot " + (workshop.path / "first.png").string());
  if (!has(tried.err, "cannot draw a picture")) return true;
  std::printf("SKIPPED: %s\n", tried.err.c_str());
  return false;
}

const std::string kReplay = "replay " + (kSource / "configs/engines/sliding_window.yaml").string() + " --workload " +
                            (kSource / "configs/workloads/chat.yaml").string() + " --mode timed --limit 60";

/// A replay that serves its feed until it is killed.
class Served {
 public:
  Served(const Workshop& workshop, std::string name) : name_(std::move(name)) {
    const std::string line = "exec " + (kBin / "canopy").string() + " " + kReplay + " --pace 5 --feed " + name_ +
                             " >/dev/null 2>&1 </dev/null";
    child_ = ::fork();
    if (child_ == 0) {
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    for (int tries = 0; tries < 300; ++tries) {
      if (run_canopy(workshop, "top --feed " + name_ + " --once").status == 0) return;
      ::usleep(20'000);
    }
    FAIL("the replay did not serve its feed");
  }
  ~Served() { end(); }
  void end() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }
  const std::string& name() const { return name_; }
  pid_t process() const { return child_; }

 private:
  std::string name_;
  pid_t child_ = -1;
};

std::string own_name(const char* what) { return what + std::to_string(::getpid()); }

void forget(const Served& served) { fs::remove("/dev/shm/canopy-" + served.name()); }

}  // namespace

TEST_CASE("inspector: help and version are no errors and what the command line cannot mean is one") {
  if (!is_built()) return;
  const Workshop workshop;
  const Ended help = inspector(workshop, "--help");
  CHECK(help.status == 0);
  for (const char* word : {"attach", "open", "--screenshot", "--script", "--size"}) CHECK(has(help.out, word));
  CHECK(inspector(workshop, "--version").status == 0);
  const std::pair<const char*, const char*> cases[] = {{"--bogus", "--bogus"},
                                                       {"open", "file"},
                                                       {"--scale 9", "--scale"},
                                                       {"--theme blue", "--theme"},
                                                       {"--requests 0", "--requests"},
                                                       {"--size 12 --screenshot x.png", "--size 12: expected a size"},
                                                       {"--size 1600x900x2 --screenshot x.png", "expected a size"},
                                                       {"--size -1x900 --screenshot x.png", "expected a size"},
                                                       {"--size 99999x900 --screenshot x.png", "expected a size"}};
  for (const auto& [arguments, sentence] : cases) {
    CAPTURE(arguments);
    const Ended run = inspector(workshop, arguments);
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, sentence), run.err);
  }
}

TEST_CASE("inspector: a file that is no recording is a sentence with its name") {
  if (!is_built()) return;
  const Workshop workshop;
  const std::string recorded = (workshop.path / "run.feed").string();
  REQUIRE(run_canopy(workshop, kReplay + " --record " + recorded).status == 0);
  const std::string whole = slurp(recorded);
  std::string other_version = whole;
  other_version[8] = 64;  // bytes an event
  std::string other_format = whole;
  other_format[7] = '2';
  const std::pair<std::string, const char*> cases[] = {
      {"/nowhere/run.feed", "/nowhere/run.feed: No such file or directory"},
      {workshop.path.string(), "expected a regular file"},
      {"/dev/zero", "expected a regular file"},
      {workshop.file("empty.feed", ""), "empty.feed: this is not a recording of a feed: it is too short for a header"},
      {workshop.file("text.feed", std::string(9000, 'x')),
       "text.feed: this is not a recording of a feed; `canopy replay"},
      {workshop.file("header.feed", whole.substr(0, 4096)), "header.feed: the recording contains no whole operation"},
      {workshop.file("cut.feed", whole.substr(0, 5000)), "cut.feed: the recording contains no whole operation"},
      {workshop.file("other.feed", other_version), "other.feed: its header makes no sense"},
      {workshop.file("old.feed", other_format),
       "old.feed: it is a feed of another version of Canopy, in format '2'; this one reads format '5'"}};
  for (const auto& [file, sentence] : cases) {
    CAPTURE(file);
    const Ended run = inspector(workshop, "open " + file + " --screenshot " + (workshop.path / "x.png").string());
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, sentence), run.err);
    CHECK_FALSE(fs::exists(workshop.path / "x.png"));
  }
  // All whole operations are shown, wherever the file ends.
  if (!draws(workshop)) return;
  for (const std::size_t bytes : {whole.size() / 2 + 7, whole.size() - 1}) {
    const std::string cut = workshop.file("cut.feed", whole.substr(0, bytes));
    const Ended run = inspector(workshop, "open " + cut + " --screenshot " + (workshop.path / "cut.png").string());
    CHECK_MESSAGE(run.status == 0, run.err);
    CHECK(fs::file_size(workshop.path / "cut.png") > 10'000);
  }
}

TEST_CASE("inspector: a script's complaint names file and line, and a picture that cannot be kept is an error") {
  if (!is_built()) return;
  const Workshop workshop;
  if (!draws(workshop)) return;
  CHECK(fs::file_size(workshop.path / "first.png") > 10'000);
  const std::string script = workshop.file("look.script", "requests 20\ncolour hits\n\njump 3\n");
  const std::pair<std::string, std::string> cases[] = {
      {"--script " + script, script + ":4: 'jump' is not a command"},
      {"--script /nowhere/look.script", "the script '/nowhere/look.script' cannot be read"},
      {"--requests 1 --screenshot /nowhere/x.png", "/nowhere/x.png: could not be written: No such file or directory"},
      {"--requests 1 --screenshot " + workshop.path.string(), "is a folder; expected a regular file"},
      {"--requests 1 --screenshot " + script, script + ": this is not a PNG picture"},
      {"--requests 1 --screenshot /dev/full", "/dev/full: is a device; expected a regular file"}};
  for (const auto& [arguments, sentence] : cases) {
    CAPTURE(arguments);
    const Ended run = inspector(workshop, arguments);
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, sentence), run.err);
  }
}

TEST_CASE("inspector and top: nothing to attach to, several feeds, one that is dead") {
  if (!is_built()) return;
  const Workshop workshop;
  const Ended unknown = inspector(workshop, "attach absent-" + own_name("x") + " --screenshot x.png");
  CHECK(unknown.status == 2);
  CHECK_MESSAGE(has(unknown.err, "there is no feed with this name"), unknown.err);

  Served one(workshop, own_name("one-")), two(workshop, own_name("two-"));
  const Ended which = run_canopy(workshop, "top --once");
  CHECK(which.status == 2);
  CHECK(has(which.err, one.name()));

  // The writer is killed while `top` reads: it says so and ends well.
  const std::string out = (workshop.path / "top.txt").string();
  std::string line = (kBin / "canopy").string();
  line += " top --feed " + two.name() + " >" + out + " 2>&1 </dev/null";
  const pid_t top = ::fork();
  if (top == 0) {
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  for (int tries = 0; tries < 500 && !has(slurp(out), "Hottest prefixes"); ++tries) ::usleep(20'000);
  const std::string process = "process " + std::to_string(two.process());
  two.end();
  int status = -1;
  ::waitpid(top, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK_MESSAGE(has(slurp(out), "The feed has ended: " + process + ", which wrote the feed, has gone."), slurp(out));

  for (const Ended& dead : {inspector(workshop, "attach " + two.name() + " --screenshot x.png"),
                            run_canopy(workshop, "top --feed " + two.name() + " --once")}) {
    CHECK(dead.status == 2);
    CHECK_MESSAGE(has(dead.err, "the feed '" + two.name() + "': " + process + ", which wrote it, has gone"), dead.err);
    CHECK_MESSAGE(has(dead.err, "'" + one.name() + "'"), dead.err);  // other tests may serve feeds, too
  }
  if (draws(workshop)) {
    const std::string picture = (workshop.path / "one.png").string();
    const Ended shown = inspector(workshop, "attach " + one.name() + " --screenshot " + picture);
    CHECK_MESSAGE(shown.status == 0, shown.err);
    CHECK(fs::file_size(picture) > 10'000);
    // Without a name: of several, one is chosen.
    const Served other(workshop, own_name("another-"));
    const std::string script = workshop.file("pick.script", "screenshot " + picture + "\nselect request 1\n");
    const Ended several = inspector(workshop, "attach --script " + script);
    CHECK(several.status == 2);
    CHECK_MESSAGE(has(several.err, script + ":2: no request is known yet"), several.err);
    const Ended chosen = inspector(
        workshop,
        "attach --script " + workshop.file("pick.script", "key Enter\nwait\nselect heaviest\nselect request 999999\n"));
    CHECK_MESSAGE(has(chosen.err, ":4: request 999999 is not known; "), chosen.err);
    forget(other);
  }
  one.end();
  forget(one);
  forget(two);
}
