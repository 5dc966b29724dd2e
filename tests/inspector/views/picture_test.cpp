#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <window/script.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "feed_script.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

TEST_CASE("a script selects, zooms and takes pictures that are not blank, without a display") {
  std::string why;
  const auto canvas = Canvas::make(1280, 720, why);
  if (!canvas) {
    std::printf("SKIPPED: %s\n", why.c_str());
    return;
  }
  FeedScript script;
  const auto root = script.add(0, 10);
  script.add(root, 30);
  script.lock(script.add(root, 60));
  App app(std::make_unique<ScriptLink>(script, script.commit()), Settings{});
  const auto path = std::filesystem::temp_directory_path() / "canopy-inspector-picture.png";
  std::filesystem::remove(path);
  std::istringstream lines(
      "# a comment\n\nclick node 3\ncolour hits\nkey t\nwheel 300 200 3\nkey Escape\ntab EVENTS\n"
      "key ?\nkey Escape\nview nodes\nclick node 2\nclick node 3\nscreenshot " +
      path.string() + "\n");
  CHECK(Script{}.run(lines, *canvas, app) == "");
  CHECK(app.selection().node == (std::uint64_t{1} << 32 | 3));
  CHECK(app.settings().light);
  CHECK(app.settings().tree == TreeView::nodes);
  CHECK(std::filesystem::file_size(path) > 10'000);
  std::filesystem::remove(path);
  // A picture by a key goes to the current folder, and a message says so.
  const auto folder = std::filesystem::temp_directory_path() / ("canopy-picture-" + std::to_string(::getpid()));
  const auto before = std::filesystem::current_path();
  std::filesystem::create_directory(folder);
  std::filesystem::current_path(folder);
  std::istringstream keys("key s\nwait\n");
  CHECK(Script{}.run(keys, *canvas, app) == "");
  CHECK(app.selection().exports.result == "wrote canopy-picture.png");
  CHECK(std::filesystem::file_size("canopy-picture.png") > 10'000);
  std::ofstream("canopy-picture.png") << "precious";
  std::istringstream again("key s\nwait\n");
  CHECK(Script{}.run(again, *canvas, app) == "");
  CHECK(app.selection().exports.result.starts_with("canopy-picture.png: this is not a PNG picture"));
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);

  const auto pixels = canvas->pixels();
  std::set<std::uint32_t> colours;
  for (std::size_t i = 0; i + 2 < pixels.size(); i += 3)
    colours.insert(static_cast<std::uint32_t>(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]));
  CHECK(colours.size() > 50);

  // Across, then down: the gap below the tree, 20 pixels down.
  std::istringstream drag("drag 1000 311 1000 331\n");
  CHECK(Script{}.run(drag, *canvas, app) == "");
  CHECK(app.settings().shares.contains("top"));

  for (const auto& [line, complaint] :
       {std::pair("jump", "1: 'jump' is not a command"),
        {"select node 99", "1: there is no node '99'"},
        {"click over there", "1: 'over' is not a place; expected X Y or node N"},
        {"view forest", "1: 'forest' is not a view of the tree; expected icicle or nodes"},
        {"seek 50%", "1: 'seek' needs a recording, or a live feed whose past is kept"},
        {"requests 5", "1: there is no demo engine to run"},
        {"tab TREE", "1: there is no tab 'TREE'"},
        {"range 5", "1: a word is missing"},
        {"zoom 5 x", "1: 'x' is not a moment; expected a commit, or a share such as 50%"}}) {
    std::istringstream wrong(line);
    CHECK(Script{}.run(wrong, *canvas, app) == complaint);
  }
}

TEST_CASE("a picture that cannot be written whole is a sentence, and what was there stays what it is") {
  const std::vector<unsigned char> rgb(std::size_t{3} * 64 * 64, 7);
  const auto path = std::filesystem::temp_directory_path() / ("canopy-no-room-" + std::to_string(::getpid()));
  CHECK(write_png(path.string(), rgb, 64, 64).empty());
  CHECK(std::filesystem::exists(path));

  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto on_excess = std::signal(SIGXFSZ, SIG_IGN);
  const auto old = std::filesystem::file_size(path);
  const rlimit little{20, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  const std::string why = write_png(path.string(), rgb, 64, 64);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, on_excess);
  CHECK(why == path.string() + ": could not be written: File too large");
  CHECK(std::filesystem::file_size(path) == old);

  // A recording, a script, a key: whatever is no picture.
  std::ofstream(path) << "precious";
  CHECK(write_png(path.string(), rgb, 64, 64).starts_with(path.string() + ": this is not a PNG picture"));
  CHECK(std::filesystem::file_size(path) == 8);
  std::filesystem::remove(path);
  CHECK(write_png("/dev/null", rgb, 64, 64).starts_with("/dev/null: is a device"));
  CHECK(write_png("/nowhere/x.png", rgb, 64, 64) == "/nowhere/x.png: could not be written: No such file or directory");
}
