#include <scenario.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

namespace {

using canopy::test::run_scenario;

std::vector<std::filesystem::path> scenario_files() {
  const auto folder = std::filesystem::path(__FILE__).parent_path().parent_path() / "scenarios";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".scenario") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

TEST_CASE("every scenario goes as it is told") {
  const auto files = scenario_files();
  CHECK(files.size() >= 15);
  for (const auto& file : files)
    for (const auto& error : run_scenario(file)) FAIL_CHECK(error);
}

TEST_CASE("a scenario that goes otherwise is reported with its line, what was expected and what came") {
  const auto errors = run_scenario("engine page_size=1 capacity=4\n\ninsert 1 2   -> had 1  # it was empty\n", "story");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0] == "story:3: expected had 1, came 0");
}

TEST_CASE("a scenario that cannot be understood is reported with its line") {
  CHECK(run_scenario("insert 1\n", "a") == std::vector<std::string>{"a:1: the first line must be 'engine ...'"});
  CHECK(run_scenario("engine\nswim 1\n", "b") == std::vector<std::string>{"b:2: 'swim' is no operation"});
  CHECK(run_scenario("engine\nmatch x\n", "c") == std::vector<std::string>{"c:2: 'x' is not a number"});
  CHECK(run_scenario("engine\nclear -> swum 3\n", "d") ==
        std::vector<std::string>{"d:2: expected swum 3, came nothing of the kind"});
}
