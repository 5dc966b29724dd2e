/// The parts of `canopy serve` that need no sockets.
#include <canopy/base/host_check.h>
#include <canopy/base/printable.h>
#include <doctest/doctest.h>
#include <serve/outbox.h>
#include <serve/protocol.h>
#include <serve/router.h>
#include <serve/token.h>
#include <sources/attachment.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

using namespace canopy;
using namespace canopy::inspector;

namespace {

std::vector<Event> operation(std::size_t events, bool keyframe = false) {
  std::vector<Event> all(events, std::bit_cast<Event>(event::StorageHealth{}));
  if (keyframe) all.insert(all.begin(), std::bit_cast<Event>(event::Keyframe{}));
  all.push_back(std::bit_cast<Event>(event::Commit{}));
  return all;
}

std::size_t events_of(const std::vector<Piece>& pieces) {
  std::size_t events = 0;
  for (const Piece& piece : pieces) events += piece.events->size();
  return events;
}

}  // namespace

TEST_CASE("serve: a token is 32 digits, new each time, and only the whole one is accepted") {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) {
    const std::string token = make_token();
    CHECK(token.size() == 32);
    CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(tokens.insert(token).second);
    CHECK(same_token(token, token));
    CHECK_FALSE(same_token(token, token.substr(1)));
    CHECK_FALSE(same_token(token, token + token));
    CHECK_FALSE(same_token(token, ""));
    std::string other = token;
    other.back() = other.back() == '0' ? '1' : '0';
    CHECK_FALSE(same_token(token, other));
  }
  CHECK_FALSE(same_token("", ""));
}

TEST_CASE("serve: a token in a file stays, and only its owner may read it") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("canopy-token-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string path = (folder / "token").string();
  const auto made = kept_token(path);
  REQUIRE(made);
  CHECK(made->size() == 32);
  CHECK((fs::status(path).permissions() & fs::perms::all) == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(*kept_token(path) == *made);
  const auto why = [&](const std::string& text) {
    std::ofstream(path) << text;
    const auto token = kept_token(path);
    return token ? "taken: " + *token : token.error().text;
  };
  CHECK(why(std::string(40, 'a') + "\r\n") == "taken: " + std::string(40, 'a'));
  const std::string none = path + ": this is no token; expected a line of 32 to 128 letters and digits";
  for (const std::string& text : {std::string(), std::string(31, 'a'), std::string(129, 'a'), std::string(40, ' '),
                                  std::string(40, 'a') + "\nb", std::string(40, '\xff')})
    CHECK(why(text) == none);
  fs::permissions(path, fs::perms::group_read, fs::perm_options::add);
  CHECK(why(*made) == path + ": its mode is 0640; expected that only its owner can read it (chmod 600)");
  CHECK(kept_token(folder.string()).error().text == folder.string() + ": it is a folder; expected a file");
  CHECK(kept_token((folder / "none" / "token").string()).error().text ==
        (folder / "none" / "token").string() + ": it cannot be made: No such file or directory");
  fs::remove_all(folder);
}

TEST_CASE("serve: the hosts of a server that listens on one address, and on all") {
  const HostCheck one("10.1.2.3", {});
  CHECK(one.allows("10.1.2.3:7780", "10.1.2.3"));
  CHECK(one.allows("localhost:7780", "10.1.2.3"));
  CHECK_FALSE(one.allows("10.1.2.4:7780", "10.1.2.4"));
  const HostCheck all("0.0.0.0", {"proxy"});
  CHECK(all.allows("10.1.2.4:7780", "10.1.2.4"));
  CHECK_FALSE(all.allows("10.1.2.5:7780", "10.1.2.4"));
  CHECK_FALSE(all.allows("evil.example", "10.1.2.4"));
  CHECK(all.allows("PROXY:1", "10.1.2.4"));
  const HostCheck six("FD00:0::1", {});
  CHECK(six.allows("[fd00::1]:7780", "fd00::1"));
  CHECK(six.allows("[::1]", "fd00::1"));
  CHECK_FALSE(six.allows("[fd00::2]", "fd00::1"));
  CHECK(flaw_of_host("canopy.example.org").empty());
  for (const char* wrong : {"", "a:80", "http://a", "a/b", "a b"}) CHECK_FALSE(flaw_of_host(wrong).empty());
}

TEST_CASE("serve: Accept-Encoding") {
  for (const char* yes : {"gzip", "GZIP", "br, gzip", "gzip;q=0.5", "deflate;q=0, gzip ; q=1", "*", "gzip;q=0.001"})
    CHECK_MESSAGE(takes_gzip(yes), yes);
  for (const char* no : {"", "br", "gzip;q=0", "gzip;q=0.000", "identity, gzip ;q=0.0", "x-gzip", ",,;"})
    CHECK_MESSAGE(!takes_gzip(no), no);
}

TEST_CASE("serve: texts are JSON, whatever a name contains") {
  CHECK(json_text("a\"b\\c") == R"("a\"b\\c")");
  CHECK(json_text("\x1b[2J\n\xff") == R"("\\x1b[2J\\x0a\\xff")");
  CHECK(protocol::feeds({}) == R"({"feeds":[]})");
  const FoundFeed found[] = {{"a", 1, "p\"", 16, 2, true, "", true}, {"b", 2, "", 1, 1, false, "gone", false}};
  CHECK(protocol::feeds(found) ==
        R"({"feeds":[{"name":"a","process":1,"program":"p\"","page_size":16,"groups":2,"controls":true,"tokens":true,)"
        R"("ended":""},{"name":"b","process":2,"program":"","page_size":1,"groups":1,"controls":false,"tokens":false,)"
        R"("ended":"gone"}]})");
}

TEST_CASE("serve: a stream is cut into whole operations, and a keyframe is apart") {
  Pieces pieces;
  std::vector<Event> stream;
  for (const auto& part : {operation(3), operation(4), operation(5, true), operation(6)})
    stream.insert(stream.end(), part.begin(), part.end());
  // In one read, and event by event.
  for (const std::size_t step : {stream.size(), std::size_t{1}, std::size_t{7}}) {
    std::vector<Piece> all;
    for (std::size_t at = 0; at < stream.size(); at += step)
      for (const Piece& piece : pieces.take({stream.data() + at, std::min(step, stream.size() - at)}))
        all.push_back(piece);
    CHECK(pieces.waiting() == 0);
    CHECK(events_of(all) == stream.size());
    for (const Piece& piece : all) {
      CHECK(is<event::Commit>(piece.events->back()));
      CHECK(piece.keyframe == is<event::Keyframe>(piece.events->front()));
      CHECK(piece.begins == piece.keyframe);
      CHECK((!piece.keyframe || piece.events->size() == 7));
    }
  }
  // Larger than a message.
  const auto large = pieces.take(operation(100'000, true));
  CHECK(large.size() == 4);
  CHECK(events_of(large) == 100'002);
  for (const Piece& piece : large) {
    CHECK(piece.bytes() <= protocol::kMostBytes);
    CHECK(piece.keyframe);
    CHECK(piece.begins == (&piece == &large.front()));
  }
  // A loss drops what has begun.
  const auto half = operation(5);
  CHECK(pieces.take({half.data(), 3}).empty());
  CHECK(pieces.waiting() == 3);
  pieces.lost();
  CHECK(events_of(pieces.take(half)) == 6);
}

TEST_CASE("serve: an outbox holds a keyframe of any size, and 8 MiB of what follows") {
  Pieces pieces;
  Outbox box;
  FeedShape shape;
  const auto take = [&](std::size_t events, bool keyframe = false) {
    for (const Piece& piece : pieces.take(operation(events, keyframe))) box.take(piece);
  };
  CHECK_FALSE(box.wants_keyframe());
  take(1, true);
  CHECK(box.next() == nullptr);
  box.attach("a", shape);
  CHECK(box.wants_keyframe());
  take(5);
  take(1'000'000, true);  // 32 MB
  CHECK_FALSE(box.wants_keyframe());
  CHECK(box.waiting() == 0);
  take(1000);
  CHECK(box.waiting() == 1001 * sizeof(Event));
  take(10, true);  // another page's
  CHECK(box.waiting() == 1001 * sizeof(Event));

  const Message* message = box.next();
  REQUIRE(message);
  CHECK(message->words == R"({"attached":"a"})");
  CHECK(box.next() == nullptr);  // the first one is still being sent
  box.sent();
  message = box.next();
  REQUIRE(message);
  CHECK(message->size() == FeedHeader::kBytes);
  box.sent();

  for (int i = 0; i < 300; ++i) take(1000);
  CHECK_FALSE(box.wants_keyframe());  // it must read that events were lost first
  CHECK(box.waiting() == 0);
  take(10, true);
  message = box.next();
  REQUIRE(message);
  CHECK(message->words == R"({"lapped":true})");
  CHECK_FALSE(box.wants_keyframe());
  box.sent();
  CHECK(box.next() == nullptr);
  CHECK(box.wants_keyframe());
  take(10, true);
  message = box.next();
  REQUIRE(message);
  CHECK(message->size() == 12 * sizeof(Event));
  box.sent();
  take(1);
  box.detach("over");
  CHECK_FALSE(box.wants_keyframe());
  message = box.next();
  REQUIRE(message);
  CHECK(message->events());  // events from before the end are still sent
}
