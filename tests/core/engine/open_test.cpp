/// Engine::open: registry, plugins, file and engine in one call.
#include <support/engines.h>
#include <support/folder.h>

using namespace canopy;
using namespace canopy::test;

TEST_CASE("an engine that is opened from its file keeps the plugins that it needs") {
  const Folder folder;
  auto opened = Engine::open(folder.file("cache.yaml", kSmall), own_plugin_folder());
  REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().text));
  Engine& engine = **opened;
  leave(engine, tokens(1, 16));
  CHECK(engine.begin(arrival(tokens(1, 16))).matched() == 12);
  check_settled(engine);
  CHECK(engine.digest() == [] {
    auto same = engine_of(kSmall);
    leave(*same, tokens(1, 16));
    same->begin(arrival(tokens(1, 16)));
    return same->digest();
  }());
}

TEST_CASE("the error of Engine::open is that of the step that failed") {
  const Folder folder;
  const auto error = [&](const std::string& path, const std::filesystem::path& plugins = {}) {
    const auto opened = Engine::open(path, plugins);
    return opened ? std::string() : opened.error().text;
  };
  CHECK(error(folder.at("none.yaml")).find("none.yaml") != std::string::npos);
  CHECK(error(folder.file("cache.yaml", "page_sizes: 4\n")).find("page_sizes") != std::string::npos);
  CHECK(error(folder.file("cache.yaml", kSmall), folder.path()).find("known here: none") != std::string::npos);
}
