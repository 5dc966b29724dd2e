/// A what-if beside the inspector: the child, the figures it writes, and what happens when either is not as it should
/// be.
#include <doctest/doctest.h>
#include <signal.h>
#include <sources/what_if.h>
#include <support/folder.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

using namespace canopy;
using namespace canopy::inspector;
using namespace std::chrono_literals;

namespace {

constexpr const char* kGood = R"({"source": "chat", "requests": 9, "prompt_tokens": 1000, "more": [], "rows": [
  {"policy": "lru", "capacity_tokens": 3000000, "page_size": 16, "hit_tokens": 250, "hit_rate": 0.25,
   "optimum_share": null, "digest": "00"},
  {"policy": "infinite", "capacity_tokens": null, "page_size": 16, "hit_tokens": 500, "hit_rate": 0.5,
   "optimum_share": 1.0}]})";

std::string why_not(std::string text) {
  const auto file = read_comparison(text);
  return file ? "" : file.error().text;
}

/// kGood with one part changed.
std::string with(const std::string& part, const std::string& instead) {
  std::string text = kGood;
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), instead);
}

/// A folder for everything that is made meanwhile, so that tests beside this one are not seen.
class OwnFolder {
 public:
  OwnFolder() { ::setenv("TMPDIR", folder_.path().c_str(), 1); }
  ~OwnFolder() {
    if (before_.empty()) ::unsetenv("TMPDIR");
    else ::setenv("TMPDIR", before_.c_str(), 1);
  }
  OwnFolder(const OwnFolder&) = delete;

 private:
  std::string before_ = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "";
  test::Folder folder_;
};

/// A program in a folder of its own; both are removed in the end.
class Program : test::Folder {
 public:
  explicit Program(const std::string& lines) {
    file("canopy", "#!/bin/sh\n" + lines);
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  std::string path() const { return at("canopy"); }
  using test::Folder::at;
};

void wait_for_end(WhatIf& run) {
  for (int i = 0; i < 3000 && run.state() == WhatIf::State::running; ++i) {
    std::this_thread::sleep_for(10ms);
    run.look();
  }
}

std::set<std::string> folders() {
  std::set<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path()))
    if (entry.path().filename().string().starts_with("canopy-what-if-")) all.insert(entry.path());
  return all;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool appears(const std::string& path) {
  for (int i = 0; i < 500 && text_of(path).empty(); ++i) std::this_thread::sleep_for(10ms);
  return !text_of(path).empty();
}

}  // namespace

TEST_CASE("what-if: the figures of a comparison are read, and what is not known stays unknown") {
  const auto file = read_comparison(kGood);
  REQUIRE(file);
  CHECK(file->source == "chat");
  CHECK(file->requests == 9);
  CHECK(file->prompt_tokens == 1000);
  REQUIRE(file->rows.size() == 2);
  CHECK(file->rows[0].policy == "lru");
  CHECK(file->rows[0].capacity == 3'000'000);
  CHECK(file->rows[0].hit_rate == 0.25);
  CHECK_FALSE(file->rows[0].optimum_share);
  CHECK_FALSE(file->rows[1].capacity);
  CHECK(file->rows[1].optimum_share == 1.0);
}

TEST_CASE("what-if: figures that are malformed are refused with a sentence that says where") {
  const std::string front = "the figures of `canopy compare` cannot be read: ";
  CHECK(why_not("").starts_with("the figures of `canopy compare` are no JSON (byte "));
  CHECK(why_not(std::string(kGood).substr(0, 90)).starts_with("the figures of `canopy compare` are no JSON (byte "));
  CHECK(why_not(std::string(100'000, '[')).starts_with("the figures of `canopy compare` are no JSON (byte "));
  CHECK(why_not("[]") == front + "the comparison is array, not an object");
  CHECK(why_not(with("\"rows\"", "\"lines\"")) == front + "the comparison has no 'rows'");
  CHECK(why_not(with("\"hit_rate\": 0.5", "\"hit_rate\": 1.5")) ==
        front + "row 2: 'hit_rate' is '1.5', not a share from 0 to 1");
  CHECK(why_not(with("\"hit_rate\": 0.5", "\"hit_rate\": null")) ==
        front + "row 2: 'hit_rate' is 'null', not a share from 0 to 1");
  CHECK(why_not(with("3000000", "-3")) == front + "row 1: 'capacity_tokens' is '-3', not a whole number from 0 on");
  CHECK(why_not(with("\"policy\": \"lru\"", "\"policy\": 7")) == front + "row 1: 'policy' is '7', not text");
  CHECK(why_not(with("\"page_size\": 16, ", "")) == front + "row 1 has no 'page_size'");
  CHECK(why_not(R"({"source": "", "requests": 1, "prompt_tokens": 1, "rows": {}})") ==
        front + "'rows' is object, not a list");
}

TEST_CASE("what-if: a program gets its arguments as they are, and its lines and its end are told") {
  const Program program("printf '%s\\n' \"$@\" >&2\nprintf 'no line end' >&2\nexit 3\n");
  const std::vector<std::string> arguments = {"$(touch x); `id`", "two words", "*", ""};
  std::vector<std::string> command = {program.path()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto child = ChildProcess::start(command);
  REQUIRE(child);
  for (int i = 0; i < 500 && !(*child)->exit_code(); ++i) std::this_thread::sleep_for(10ms);
  CHECK((*child)->exit_code() == 3);
  std::vector<std::string> expected = arguments;
  expected.emplace_back("no line end");
  CHECK((*child)->lines() == expected);

  const auto none = ChildProcess::start({"/nowhere/canopy"});
  REQUIRE_FALSE(none);
  CHECK(none.error().text == "'/nowhere/canopy' cannot be started: No such file or directory");
}

TEST_CASE("what-if: without a program, a trace or a configuration a sentence says what is missing") {
  const OwnFolder own;
  WhatIf run("/nowhere/canopy");
  run.start({"t.jsonl", "lru", "1M", "16"}, "page_size: 16\n");
  CHECK(run.state() == WhatIf::State::failed);
  CHECK(run.sentence() == "'/nowhere/canopy' cannot be started: No such file or directory");
  run.start({"", "lru", "1M", "16"}, "page_size: 16\n");
  CHECK(run.sentence() == "Name a trace first.");
  run.start({"t.jsonl", "", "1M", "16"}, "page_size: 16\n");
  CHECK(run.sentence() == "Name at least one policy.");
  run.start({"t.jsonl", "lru", "1M", "16"}, "");
  CHECK(run.sentence() == "The feed has not told the engine's configuration, which the comparison needs.");
  CHECK(folders().empty());
}

TEST_CASE("what-if: one run a page size, with progress, and the figures of all of them") {
  const OwnFolder own;
  // It writes kGood with the page size that it was asked for.
  const Program program(
      "for a in \"$@\"; do case $a in --json=*) out=${a#*=};; --page-size=*) page=${a#*=};; esac; done\n"
      "echo 'reading: 50 %, 3 requests, 2 s passed' >&2; echo 'compare: 40 %, 3 requests, 2 s passed' >&2\n"
      "while [ ! -e " +
      std::string("\"$(dirname \"$0\")/go\"") + " ]; do sleep 0.02; done\n" + "cat > \"$out\" <<END\n" + kGood +
      "\nEND\nsed -i \"s/\\\"page_size\\\": 16/\\\"page_size\\\": $page/\" \"$out\"\n");
  WhatIf run(program.path());
  run.start({"t.jsonl", "lru", "3M", "16, 64"}, "page_size: 16\n");
  REQUIRE(run.state() == WhatIf::State::running);
  CHECK(folders().size() == 1);
  for (int i = 0; i < 500 && run.share() == 0; ++i) std::this_thread::sleep_for(10ms), run.look();
  CHECK(run.share() == 0.2);  // of two
  CHECK(run.sentence() == "page size 16 (1 of 2), compare: 40 %, 3 requests, 2 s passed");
  const std::uint64_t before = run.changes();
  std::ofstream(program.at("go")) << "go";
  wait_for_end(run);
  REQUIRE_MESSAGE(run.state() == WhatIf::State::done, run.sentence());
  CHECK(run.changes() != before);
  REQUIRE(run.rows().size() == 4);
  CHECK(run.rows()[0].page_size == 16);
  CHECK(run.rows()[2].page_size == 64);
  CHECK(run.trace().source == "chat");
  CHECK(folders().empty());
}

TEST_CASE("what-if: a child that fails has its last sentence shown, one that is cut off leaves no figures") {
  const OwnFolder own;
  const Program complains("echo first >&2; echo \"$2: line 3: no such key\" >&2; exit 2\n");
  WhatIf run(complains.path());
  run.start({"t.jsonl", "lru", "3M", "16"}, "page_size: 16\n");
  wait_for_end(run);
  CHECK(run.state() == WhatIf::State::failed);
  CHECK(run.sentence() == "the engine's configuration: line 3: no such key");

  const Program silent("exit 1\n");
  WhatIf other(silent.path());
  other.start({"t.jsonl", "lru", "3M", "16"}, "page_size: 16\n");
  wait_for_end(other);
  CHECK(other.sentence() == "`canopy compare` ended with exit code 1 and said nothing.");

  const Program nothing("exit 0\n");
  WhatIf third(nothing.path());
  third.start({"t.jsonl", "lru", "3M", "16"}, "page_size: 16\n");
  wait_for_end(third);
  CHECK(third.state() == WhatIf::State::failed);
  CHECK(third.sentence().starts_with("the figures of `canopy compare` are no JSON"));
  CHECK(third.rows().empty());
  CHECK(folders().empty());
}

TEST_CASE("what-if: the child ends when it is cancelled, and when the inspector does") {
  const OwnFolder own;
  const Program program("echo $$ > \"$(dirname \"$0\")/pid\"\nexec sleep 100\n");
  const auto alive = [&] { return ::kill(std::stoi(text_of(program.at("pid"))), 0) == 0; };
  {
    WhatIf run(program.path());
    run.start({"t.jsonl", "lru", "3M", "16"}, "page_size: 16\n");
    REQUIRE(appears(program.at("pid")));
    CHECK(alive());
    run.cancel();
    CHECK(run.state() == WhatIf::State::idle);
    CHECK_FALSE(alive());
    std::filesystem::remove(program.at("pid"));
    run.start({"t.jsonl", "lru", "3M", "16"}, "page_size: 16\n");
    REQUIRE(appears(program.at("pid")));
    CHECK(alive());
  }
  CHECK_FALSE(alive());
  CHECK(folders().empty());
}

TEST_CASE("what-if: `canopy compare` itself, over a workload") {
  const std::string configs = CANOPY_CONFIGS;
  WhatIf run(CANOPY_PROGRAM);
  run.start({configs + "/workloads/chat.yaml", "lru,optimum", "20k,100k", "16,64"},
            text_of(configs + "/engines/sglang_lru.yaml"));
  wait_for_end(run);
  REQUIRE_MESSAGE(run.state() == WhatIf::State::done, run.sentence());
  REQUIRE(run.rows().size() == 8);
  CHECK(run.rows()[0].policy == "lru");
  CHECK(run.rows()[0].page_size == 16);
  CHECK(run.rows()[4].page_size == 64);
  for (std::size_t i = 0; i < 8; i += 4)
    for (const std::size_t k : {i, i + 1}) CHECK(run.rows()[k].hit_rate <= run.rows()[k + 2].hit_rate);

  run.start({configs + "/workloads/chat.yaml", "lruu", "20k", "16"}, text_of(configs + "/engines/sglang_lru.yaml"));
  wait_for_end(run);
  CHECK(run.state() == WhatIf::State::failed);
  CHECK(run.sentence().starts_with("--policies: no policy is called 'lruu'. Did you mean 'lru'?\n  known here: "));
}
