/// Notes: read and written as text, kept beside a recording, named, gone to and removed.
#include <doctest/doctest.h>
#include <window/note_files.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "ink.h"
#include "recorded.h"
#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;
using namespace std::chrono_literals;

namespace {

std::string error_of(const std::string& text, std::uint64_t last = 500) {
  const auto notes = Notes::parse(text, "run.feed.notes", last);
  return notes ? std::string() : notes.error().text;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// A recording of 300 operations, and its notes, which are removed in the end.
struct NotedFile {
  FeedScript script{100'000};
  RecordedFile file;
  std::string notes;
  explicit NotedFile(const std::string& name) : file(script, story(), name), notes(file.path() + ".notes") {
    std::filesystem::remove(notes);
  }
  ~NotedFile() { std::filesystem::remove(notes); }
  std::vector<Event> story() {
    std::vector<Event> events;
    for (int i = 0; i < 300; ++i) {
      script.add(0, 1);
      const auto some = script.commit();
      events.insert(events.end(), some.begin(), some.end());
    }
    return events;
  }
  /// Opens it as the window does.
  std::unique_ptr<App> open(const std::string& name = {}) const {
    auto recording = Recording::open(file.path());
    REQUIRE(recording);
    auto app = std::make_unique<App>(link_to(std::move(*recording), name.empty() ? file.path() : name), Settings{});
    app->offer_notes(note_files());
    return app;
  }
};

void turn_app(Headless& screen, App& app) {
  while (!app.pump(1000ms)) continue;
  for (int i = 0; i < 3; ++i) screen.frame(app);
}

void type_words(Headless& screen, App& app, const char* words) {
  ImGui::GetIO().AddInputCharactersUTF8(words);
  screen.frame(app);
}

}  // namespace

TEST_CASE("notes are text and back, and what is wrong in a file is named with its place") {
  Notes notes;
  notes.set(40, "here the hit rate falls");
  notes.set(7, "");
  notes.set(300, "größer: \u00fcber\n\x1b[31m 8 M\u202e");
  CHECK(notes.text() == "canopy notes 1\n7\n40 here the hit rate falls\n300 größer: über??[31m 8 M?\n");
  const auto again = Notes::parse(notes.text(), "x", 300);
  REQUIRE(again);
  CHECK(*again == notes);
  CHECK(Notes::parse("", "x", 300)->all().empty());
  CHECK(Notes::parse("canopy notes 1\r\n12 a  b \r\n", "x", 300)->at(12)->text == "a  b ");
  notes.set(1, std::string(Notes::kMostBytes - 1, 'x') + "ü");  // cut between characters
  CHECK(notes.at(1)->text == std::string(Notes::kMostBytes - 1, 'x'));

  CHECK(error_of("canopy notes 2\n") == "run.feed.notes:1:1: expected 'canopy notes 1', found 'canopy notes 2'");
  CHECK(error_of("canopy notes 1\n12 a\nabc\n") ==
        "run.feed.notes:3:1: expected a commit, a space and a text, found 'abc'");
  CHECK(error_of("canopy notes 1\n12: a\n") ==
        "run.feed.notes:2:1: expected a commit, a space and a text, found '12: a'");
  CHECK(error_of("canopy notes 1\n501 a\n") == "run.feed.notes:2:1: expected a commit from 1 to 500, found 501");
  CHECK(error_of("canopy notes 1\n0\n") == "run.feed.notes:2:1: expected a commit from 1 to 500, found 0");
  CHECK(error_of("canopy notes 1\n5\n5 a\n") == "run.feed.notes:3:1: commit 5 has a note already");
  CHECK(error_of("canopy notes 1\n5 " + std::string(300, 'x')) ==
        "run.feed.notes:2:203: a note has at most 200 bytes, this one has 300");
  CHECK_FALSE(error_of("canopy notes 1\n99999999999999999999999 a\n").empty());
  CHECK_FALSE(error_of(std::string("canopy notes 1\n5\0\x80\xff", 19)).empty());
  // Whatever bytes a file has, it is read or refused, and what was read is written as it was read.
  std::mt19937 random(7);
  std::size_t read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = "canopy notes 1\n7\n40 here the hit rate falls\n300 \xc3\xa4\n";
    for (int change = 0; change < 3; ++change) text[random() % text.size()] = static_cast<char>(random() % 256);
    if (const auto some = Notes::parse(text, "x", 500)) {
      ++read;
      CHECK(*Notes::parse(some->text(), "x", 500) == *some);
    }
  }
  CHECK(read > 100);
  std::string many = "canopy notes 1\n";
  for (std::size_t i = 1; i <= Notes::kMost + 1; ++i) many += std::to_string(i) + "\n";
  CHECK(error_of(many, 20'000) == "run.feed.notes:10002:1: there are more than 10,000 notes");
}

TEST_CASE("a moment is marked and named with the keyboard, and is there when the recording is opened again") {
  const NotedFile noted("noted");
  Headless screen;
  {
    const auto app = noted.open();
    turn_app(screen, *app);
    CHECK_FALSE(std::filesystem::exists(noted.notes));  // nothing is written unasked
    app->time().seek(120);
    turn_app(screen, *app);
    screen.key(*app, 'm');
    turn_app(screen, *app);
    CHECK(Ink().has("Note at commit 120"));
    CHECK(content_of(noted.notes) == "canopy notes 1\n120\n");  // marked at once
    type_words(screen, *app, "here the limit was lowered");
    screen.press(*app, ImGuiKey_Enter);
    turn_app(screen, *app);
    CHECK_FALSE(Ink().has("Note at commit 120"));
    CHECK(content_of(noted.notes) == "canopy notes 1\n120 here the limit was lowered\n");
    // A second one, without a name; its field is left with Esc.
    app->time().seek(200);
    turn_app(screen, *app);
    screen.key(*app, 'm');
    turn_app(screen, *app);
    screen.press(*app, ImGuiKey_Escape);
    turn_app(screen, *app);
    CHECK_FALSE(Ink().has("Note at commit 200"));
    CHECK(Ink().has("here the limit was"));  // on the timeline
    CHECK(Ink().overprinted() == std::vector<std::string>{});
  }
  const auto app = noted.open();
  turn_app(screen, *app);
  CHECK(app->time().notes.all().size() == 2);
  screen.key(*app, 'n');
  turn_app(screen, *app);
  CHECK(app->time().at == 120);
  screen.key(*app, 'n');
  turn_app(screen, *app);
  CHECK(app->time().at == 200);
  screen.key(*app, 'K');
  turn_app(screen, *app);
  const Ink ink;
  CHECK(ink.has("here the limit was lowered"));
  CHECK(ink.has("kept in " + noted.notes));
  CHECK(ink.overprinted() == std::vector<std::string>{});
  const Ink::Line* remove = ink.find("remove");
  REQUIRE(remove);
  screen.click(*app, {(remove->from.x + remove->to.x) / 2, (remove->from.y + remove->to.y) / 2});
  turn_app(screen, *app);
  CHECK(content_of(noted.notes) == "canopy notes 1\n200\n");
}

TEST_CASE("notes that cannot be read stay as they are, and notes of another inspector are kept too") {
  const NotedFile noted("mended");
  Headless screen;
  const std::string wrong = "canopy notes 1\n12 a note\nnonsense\n";
  std::ofstream(noted.notes) << wrong;
  {
    const auto app = noted.open();
    turn_app(screen, *app);
    app->time().notes.set(5, "mine");
    turn_app(screen, *app);
    CHECK(content_of(noted.notes) == wrong);
    CHECK(Ink().has("expected a commit, a space"));  // said in the time bar, without a panel being open
    app->show_panel('K');
    turn_app(screen, *app);
    CHECK(
        app->time().notes_complaint ==
        noted.notes +
            ":3:1: expected a commit, a space and a text, found 'nonsense'. Notes are not saved until this is mended.");
    CHECK(Ink().has("save a copy") == false);  // nothing can be written by this app
  }
  std::ofstream(noted.notes) << "canopy notes 1\n12 a note\n";
  const auto one = noted.open(), other = noted.open();
  turn_app(screen, *one);
  turn_app(screen, *other);
  one->time().notes.set(5, "mine");
  turn_app(screen, *one);
  other->time().notes.set(6, "hers");
  turn_app(screen, *other);
  CHECK(content_of(noted.notes) == "canopy notes 1\n5 mine\n6 hers\n12 a note\n");
  // A name that another one gave, and what another one removed, stay so.
  one->time().notes.set(12, "a better name");
  turn_app(screen, *one);
  one->time().notes.remove(5);
  turn_app(screen, *one);
  other->time().notes.set(7, "more");
  turn_app(screen, *other);
  CHECK(content_of(noted.notes) == "canopy notes 1\n6 hers\n7 more\n12 a better name\n");
  // A file that was spoiled meanwhile stays as it is, and takes the notes when it is mended.
  std::ofstream(noted.notes) << wrong;
  other->time().notes.set(8, "late");
  turn_app(screen, *other);
  CHECK(content_of(noted.notes) == wrong);
  CHECK(other->time().notes_complaint.find(":3:1: expected") != std::string::npos);
  std::ofstream(noted.notes) << "canopy notes 1\n20 by hand\n";
  other->time().notes.set(9, "later");
  turn_app(screen, *other);
  CHECK(content_of(noted.notes) == "canopy notes 1\n8 late\n9 later\n20 by hand\n");
  CHECK(other->time().notes_complaint.empty());
  // If nothing can be written, the reason is shown.
  const auto nowhere = noted.open("/nowhere/run.feed");
  turn_app(screen, *nowhere);
  nowhere->time().notes.set(5, "mine");
  turn_app(screen, *nowhere);
  CHECK(nowhere->time().notes_complaint.find("/nowhere/run.feed.notes") != std::string::npos);
}

TEST_CASE("a live feed's moments can be marked too, and nothing is written") {
  Stage shown;
  shown.script.add(0, 10);
  shown.open();
  shown.app->offer_notes(note_files());
  for (int i = 0; i < 5; ++i) {
    shown.script.add(0, 1);
    shown.turn();
  }
  shown.screen.key(*shown.app, 'm');
  shown.draw();
  CHECK(shown.app->time().notes.at(6) != nullptr);
  shown.screen.press(*shown.app, ImGuiKey_Enter);
  shown.screen.key(*shown.app, 'K');
  shown.draw();
  CHECK(Ink().has("notes of a live feed end with it"));
  CHECK_FALSE(std::filesystem::exists("a script.notes"));
  CHECK_FALSE(std::filesystem::exists(".notes"));
}
