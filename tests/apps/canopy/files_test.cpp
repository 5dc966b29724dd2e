/// The files of a run: its inputs, its outputs, and files that other programs put in their place.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "program.h"

namespace {

using namespace cli;

const std::string kTraceLine = R"({"timestamp": 1, "input_length": 700, "output_length": 5, "hash_ids": [3, 4]})";
const std::string kEngine =
    "page_size: 16\n"
    "groups: { full: { reach: path, capacity: 12000, allocator: free_list, eviction: lru } }\n";
const std::string kWorkload = "requests: 20\nmix:\n  - thrash: { prompt_tokens: 100, working_set_tokens: 300 }\n";
constexpr const char* kMagic = "canopyf";

/// A folder with an engine, a trace and a workload, and everything else that a run of the tests may harm.
struct Desk : Workshop {
  Desk() {
    file("e.yaml", kEngine);
    file("t.jsonl", kTraceLine + "\n" + kTraceLine + "\n");
    file("broken.jsonl", kTraceLine + "\n" + kTraceLine + "\n" + kTraceLine + "\n{\n");
    file("blank.jsonl", "\n\n");
    file("w.yaml", kWorkload);
    file("precious", "precious\n");
    fs::create_symlink("t.jsonl", path / "link");
    fs::create_symlink("nowhere", path / "dangling");
    fs::create_hard_link(path / "t.jsonl", path / "hard");
    fs::create_directory(path / "folder");
    fs::create_symlink(".", path / "folder/back");
  }
  /// Every file by name, with what it holds or leads to.
  std::map<std::string, std::string> content() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(path)) {
      const std::string name = entry.path().filename();
      if (name == "stdout" || name == "stderr") continue;
      all[name] = entry.is_symlink()        ? "-> " + fs::read_symlink(entry.path()).string()
                  : entry.is_regular_file() ? slurp(entry.path())
                                            : "";
    }
    return all;
  }
};

/// `canopy` in the folder itself.
Ended in(const Workshop& desk, const std::string& arguments, const std::string& before = {}) {
  const std::string line = "cd " + desk.path.string() + " && " + before + " timeout 60 " +
                           (kBin / program_of(arguments)).string() + " " + arguments + " >stdout 2>stderr </dev/null";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(desk.path / "stdout"), slurp(desk.path / "stderr")};
}

}  // namespace

TEST_CASE("no output replaces an input or another output, by whatever name") {
  const Desk desk;
  const auto before = desk.content();
  const std::string bench = "bench --quick --only split ";
  for (const char* arguments : {"replay e.yaml --trace t.jsonl --record t.jsonl",
                                "replay e.yaml --trace t.jsonl --json t.jsonl",
                                "replay e.yaml --trace mooncake:t.jsonl --json t.jsonl",
                                "replay e.yaml --trace t.jsonl --record link",
                                "replay e.yaml --trace link --json t.jsonl",
                                "replay e.yaml --trace t.jsonl --json hard",
                                "replay e.yaml --trace t.jsonl --json folder/../t.jsonl",
                                "replay e.yaml --trace t.jsonl --json e.yaml",
                                "replay e.yaml --trace t.jsonl --record e.yaml",
                                "replay e.yaml --workload w.yaml --json w.yaml",
                                "replay e.yaml --trace t.jsonl --set 'feed={file: {path: t.jsonl}}'",
                                "replay e.yaml --trace t.jsonl --record same --json same",
                                "replay e.yaml --trace t.jsonl --record same --json same.part",
                                "replay e.yaml --trace t.jsonl --record nowhere --json dangling",
                                "replay e.yaml --trace t.jsonl --record folder/x --json folder/back/../folder/x",
                                "replay e.yaml --trace t.jsonl --json stdout",
                                "replay e.yaml --trace t.jsonl --record stderr",
                                "demo --json stdout",
                                "trace stat t.jsonl --json same --report same",
                                "trace stat t.jsonl --json same --report ./same",
                                "trace stat t.jsonl --json nowhere --report dangling",
                                "trace stat t.jsonl --report hard",
                                "trace import t.jsonl --output link",
                                "compare e.yaml --trace t.jsonl --capacity 4000 --json same --html folder/../same",
                                "compare e.yaml --trace t.jsonl --capacity 4000 --html same --requests ./same"}) {
    CAPTURE(arguments);
    const Ended run = in(desk, arguments);
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, " is the same file as "), run.err);
    CHECK(has(run.err, "nothing was written"));
    CHECK(run.out.empty());
    CHECK(desk.content() == before);
  }
  desk.file("old.json", R"({"index": "radix", "source": "", "quick": true, "rows": [], "remarks": []})");
  const auto with_old = desk.content();
  for (const std::string& arguments :
       {bench + "--compare old.json --json old.json", std::string("bench --from old.json --json old.json"),
        bench + "--trace t.jsonl --json hard"}) {
    CAPTURE(arguments);
    const Ended run = in(desk, arguments);
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, " is the same file as "), run.err);
    CHECK(desk.content() == with_old);
  }
}

TEST_CASE("a recording replaces a recording or an empty file, and nothing when the run is refused") {
  const Desk desk;
  const auto before = desk.content();
  const std::string replay = "replay e.yaml --trace ";
  for (const auto& [arguments, sentence] :
       {std::pair("t.jsonl --record precious", "precious: this is not a recording"),
        {"t.jsonl --record folder", "folder: this is a folder"},
        {"t.jsonl --record /dev/null", "/dev/null: this is a device"},
        {"t.jsonl --record nowhere/run.feed", "nowhere/run.feed: No such file or directory"},
        {"broken.jsonl --record run.feed", "broken.jsonl:4:"},
        {"broken.jsonl --record run.feed --json run.json", "broken.jsonl:4:"},
        {"blank.jsonl --record run.feed --json run.json", "has no requests"},
        {"t.jsonl --record run.feed --policy lruu", "Did you mean 'lru'?"},
        {"t.jsonl --record run.feed --set index=radixx", "Did you mean 'radix'?"},
        {"t.jsonl --record run.feed --resize x", "--resize x"},
        {"t.jsonl --record run.feed --limit x", "--limit"}}) {
    CAPTURE(arguments);
    const Ended run = in(desk, replay + arguments);
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, sentence), run.err);
    CHECK(desk.content() == before);
  }
  desk.file("run.feed", "");
  CHECK(in(desk, replay + "t.jsonl --record run.feed").status == 0);
  const std::string first = slurp(desk.path / "run.feed");
  CHECK(first.starts_with(kMagic));
  CHECK((first.size() - 4096) % 32 == 0);
  CHECK_FALSE(fs::exists(desk.path / "run.feed.part"));
  // A refused run leaves the old recording, and what a killed one left does not stand in the way.
  CHECK(in(desk, replay + "broken.jsonl --record run.feed").status == 2);
  CHECK(slurp(desk.path / "run.feed") == first);
  fs::copy_file(desk.path / "run.feed", desk.path / "run.feed.part");
  CHECK(in(desk, "replay e.yaml --workload w.yaml --record run.feed").status == 0);
  CHECK(slurp(desk.path / "run.feed") != first);
  CHECK_FALSE(fs::exists(desk.path / "run.feed.part"));
  // But for something else under that name.
  desk.file("run.feed.part", "precious\n");
  CHECK(has(in(desk, replay + "t.jsonl --record run.feed").err, "run.feed.part: this is not a recording"));
  CHECK(slurp(desk.path / "run.feed.part") == "precious\n");
}

TEST_CASE("links stay links, and those of other users are not followed") {
  const Desk desk;
  CHECK(in(desk, "replay e.yaml --trace t.jsonl --json dangling").status == 0);
  CHECK(fs::is_symlink(desk.path / "dangling"));
  CHECK(has(slurp(desk.path / "nowhere"), "\"requests\": 2"));
  fs::create_symlink("run.feed", desk.path / "to_feed");
  CHECK(in(desk, "replay e.yaml --trace t.jsonl --record to_feed").status == 0);
  CHECK(fs::is_symlink(desk.path / "to_feed"));
  CHECK(slurp(desk.path / "run.feed").starts_with(kMagic));
  fs::create_symlink("round", desk.path / "round");
  CHECK(has(in(desk, "replay e.yaml --trace t.jsonl --json round").err, "Too many levels of symbolic links"));
  fs::create_symlink("precious", desk.path / "planted");
  if (::lchown((desk.path / "planted").c_str(), 12345, 12345) != 0) return;  // only root can
  for (const char* output : {"--record", "--json"}) {
    const Ended run = in(desk, std::string("replay e.yaml --trace t.jsonl ") + output + " planted");
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, "another user's link"), run.err);
  }
  CHECK(slurp(desk.path / "precious") == "precious\n");
}

TEST_CASE("a report keeps the mode of the file it replaces, and a new one has that of the umask") {
  const Desk desk;
  const auto mode = [&](const char* name) {
    struct stat facts{};
    REQUIRE(::stat((desk.path / name).c_str(), &facts) == 0);
    return facts.st_mode & 0777;
  };
  const std::string replay = "replay e.yaml --trace t.jsonl --json ";
  CHECK(in(desk, replay + "narrow.json", "umask 077;").status == 0);
  CHECK(mode("narrow.json") == 0600);
  CHECK(in(desk, replay + "wide.json", "umask 002;").status == 0);
  CHECK(mode("wide.json") == 0664);
  CHECK(in(desk, replay + "narrow.json", "umask 002;").status == 0);
  CHECK(mode("narrow.json") == 0600);
}

TEST_CASE("an empty value is refused and not taken for one that was not given") {
  const Desk desk;
  const auto before = desk.content();
  for (const char* option : {"--json", "--record", "--policy", "--capacity", "--set", "--store", "--feed"}) {
    const Ended run = in(desk, std::string("replay e.yaml --trace t.jsonl ") + option + " ''");
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, std::string(option) + ": its value is empty"), run.err);
  }
  CHECK(in(desk, "top --feed ''").status == 2);
  CHECK(desk.content() == before);
}

TEST_CASE("a disk without room and a pipe without a reader lose neither the figures nor the report") {
  const Desk desk;
  const auto shell = [&](const std::string& line) {
    const std::string all = "cd " + desk.path.string() + " && CANOPY=" + (kBin / "canopy").string() + "; " + line;
    return std::system(all.c_str());
  };
  const std::string replay = "$CANOPY replay e.yaml --trace t.jsonl ";
  // No file may grow, so the output goes through a pipe.
  desk.file("r.json", "old");
  shell("(trap '' XFSZ; ulimit -f 0; " + replay + "--json r.json 2>&1; echo status $?) | cat > seen");
  std::string seen = slurp(desk.path / "seen");
  CHECK_MESSAGE(has(seen, " 0 violations"), seen);
  CHECK_MESSAGE(has(seen, "r.json: could not be written: File too large"), seen);
  CHECK(has(seen, "status 2"));
  CHECK(slurp(desk.path / "r.json") == "old");

  shell("(ulimit -f 20; " + replay +
        "--set groups.full.capacity=64 --workload w.yaml 2>&1; $CANOPY replay e.yaml"
        " --workload w.yaml --record long.feed 2>&1; echo status $?) | cat > seen");
  seen = slurp(desk.path / "seen");
  CHECK_MESSAGE(has(seen, "long.feed.part: the recording ends here: File too large"), seen);
  CHECK(has(seen, "status 2"));

  // The reader has gone before the first line.
  shell("(" + replay + "--json piped.json --record piped.feed; echo status $? > seen) | true");
  CHECK(has(slurp(desk.path / "piped.json"), "\"requests\": 2"));
  CHECK(slurp(desk.path / "piped.feed").starts_with(kMagic));
}

TEST_CASE("what is printed never lands in a file of the run, where standard output or error is closed") {
  const Desk desk;
  const auto before = desk.content();
  const std::string replay =
      "cd " + desk.path.string() + " && " + (kBin / "canopy").string() + " replay e.yaml --trace ";
  REQUIRE(std::system((replay + "t.jsonl --record w.feed --json w.json >/dev/null 2>&1").c_str()) == 0);
  const auto size = fs::file_size(desk.path / "w.feed");
  for (const char* closed : {">&-", "2>&-", "<&- >&- 2>&-"}) {
    CAPTURE(closed);
    const int status = std::system((replay + "t.jsonl --record r.feed --json r.json " + closed).c_str());
    // Standard output could not be written: that is said by the exit code, once everything else is done.
    CHECK(WEXITSTATUS(status) == (std::string(closed) == "2>&-" ? 0 : 2));
    CHECK(slurp(desk.path / "r.feed").starts_with(kMagic));
    CHECK(fs::file_size(desk.path / "r.feed") == size);
    CHECK(has(slurp(desk.path / "r.json"), "\"requests\": 2"));
    CHECK_FALSE(has(slurp(desk.path / "r.feed"), "checks,"));
    CHECK(WEXITSTATUS(std::system((replay + "broken.jsonl --record r2.feed " + closed).c_str())) == 2);
  }
  for (const auto& [name, text] : before) CHECK(desk.content().at(name) == text);
}

TEST_CASE("what is no regular file never hangs a command") {
  const Desk desk;
  REQUIRE(::mkfifo((desk.path / "fifo").c_str(), 0600) == 0);
  fs::create_symlink("fifo", desk.path / "lru_page4_plain_seed1.jsonl");
  const auto start = std::chrono::steady_clock::now();
  for (const char* arguments :
       {"replay fifo --trace t.jsonl", "replay e.yaml --trace fifo", "replay e.yaml --workload fifo",
        "replay e.yaml --trace t.jsonl --record fifo", "replay e.yaml --trace t.jsonl --json fifo", "bench --from fifo",
        "bench --compare fifo", "bench --quick --json fifo", "bench --quick --trace fifo",
        "verify lru_page4_plain_seed1.jsonl", "config check fifo", "config dump fifo", "plugins check fifo",
        "plugins new fifo", "demo --json fifo"}) {
    CAPTURE(arguments);
    const Ended run = in(desk, arguments);
    CHECK((run.status == 1 || run.status == 2));
    CHECK_FALSE((run.err + run.out).empty());
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(50));
}
