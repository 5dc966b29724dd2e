/// Answers of servers, cut at every place; and bytes that are no answer.
#include <canopy/base/random.h>
#include <redis/outbox.h>

#include <doctest/doctest.h>

#include "reply_text.h"

using namespace canopy;
using namespace canopy::test;
using redis::RespReader;

namespace {

constexpr std::uint64_t kPlaced = 20;

std::string value(std::size_t bytes) { return "$" + std::to_string(bytes) + "\r\n" + std::string(bytes, 'v') + "\r\n"; }

/// Every kind of reply, with values that are placed, kept, dropped, empty, and longer than the reader's buffer.
const std::string kReplies = "+OK\r\n:1\r\n-MOVED 3999 127.0.0.1:6381\r\n$-1\r\n" + value(kPlaced) + ":-7\r\n" +
                             value(0) + value(kPlaced) + value(kPlaced + 1) + "*0\r\n*-1\r\n" +
                             "*2\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$1\r\nx\r\n:6379\r\n$-1\r\n" + "+\r\n" + value(kPlaced);

std::string replies_of(std::string_view bytes, std::size_t most) {
  ReplyText replies(kPlaced);
  RespReader reader(replies);
  if (!feed(reader, bytes, most)) return "not RESP2 after\n" + replies.text();
  return replies.text();
}

}  // namespace

TEST_CASE("replies are read as they are meant, and the same wherever they are cut") {
  const std::string v(kPlaced, 'v');
  const std::string expected = "status 0 OK.\ninteger 1 .\nerror 0 MOVED 3999 127.0.0.1:6381.\nnil 0 .\nvalue 20 " + v +
                               ".\ninteger -7 .\ntext 0 .\nvalue 20 " + v + ".\ntext 21 " + v +
                               "v.\narray 0 .\nnil 0 .\narray 2 ,\narray 3 ,\ninteger 0 ,\ninteger 16383 ,\narray 2 ,\n"
                               "text 1 x,\ninteger 6379 ,\nnil 0 .\nstatus 0 .\nvalue 20 " +
                               v + ".\n";
  CHECK(replies_of(kReplies, kReplies.size()) == expected);
  for (std::size_t most = 1; most < 60; ++most) CHECK(replies_of(kReplies, most) == expected);
  for (std::size_t cut = 0; cut <= kReplies.size(); ++cut) {
    ReplyText replies(kPlaced);
    RespReader reader(replies);
    REQUIRE(feed(reader, std::string_view(kReplies).substr(0, cut), kReplies.size()));
    REQUIRE(feed(reader, std::string_view(kReplies).substr(cut), kReplies.size()));
    CHECK(replies.text() == expected);
  }
}

TEST_CASE("a long value goes where it belongs, and the next reply is read behind it") {
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{70'000}, std::size_t{300'000}}) {
    for (const bool wanted : {true, false}) {
      const std::string stream = value(bytes) + ":5\r\n" + value(bytes) + ":6\r\n";
      for (const std::size_t most : {std::size_t{1000}, std::size_t{5000}, stream.size()}) {
        ReplyText replies(wanted ? bytes : 1);
        RespReader reader(replies);
        REQUIRE(feed(reader, stream, most));
        std::string expected;
        for (const char* number : {"5", "6"}) {
          expected += wanted ? "value " : bytes <= RespReader::kLongestText ? "text " : "dropped ";
          expected += std::to_string(bytes) + " ";
          if (wanted || bytes <= RespReader::kLongestText) expected += std::string(bytes, 'v');
          expected += std::string(".\ninteger ") + number + " .\n";
        }
        CHECK(replies.text() == expected);
      }
    }
  }
}

TEST_CASE("a value that is not wanted any more does not touch its memory again") {
  const std::string stream = value(1000) + ":5\r\n";
  for (std::size_t cut = 0; cut < stream.size(); ++cut) {
    ReplyText replies(1000);
    RespReader reader(replies);
    REQUIRE(feed(reader, std::string_view(stream).substr(0, cut), cut));
    const bool began = reader.in_value();
    reader.drop_value();
    CHECK(!reader.in_value());
    REQUIRE(feed(reader, std::string_view(stream).substr(cut), 7));
    CHECK(replies.text().starts_with(began ? "dropped 1000 .\n" : "value 1000 v"));
    CHECK(replies.text().ends_with("integer 5 .\n"));
  }
}

TEST_CASE("bytes that are no RESP2 are refused, and no element is reported") {
  for (const char* bytes :
       {"hello\r\n", "+OK\n", "\r\n", "$5\r\nhelloXX", "$x\r\n", "$-2\r\n", "$536870913\r\n", ":\r\n", ":1 \r\n",
        ":99999999999999999999\r\n", "*-2\r\n", "*1048577\r\n", "*\r\n", "?1\r\n", "_\r\n"})
    for (const std::size_t most : {std::size_t{1}, std::size_t{100}}) {
      CAPTURE(bytes);
      CHECK(replies_of(bytes, most) == "not RESP2 after\n");
    }
  CHECK(replies_of("+" + std::string(RespReader::kBuffer, 'x') + "\r\n", 100) == "not RESP2 after\n");
  std::string deep;
  for (std::size_t i = 0; i <= RespReader::kDeepest; ++i) deep += "*1\r\n";
  CHECK(replies_of(deep, 100).starts_with("not RESP2"));
}

TEST_CASE("what is sent is the same when the queue never runs empty, and memory of sent words is given back") {
  redis::Outbox outbox;
  std::string expected, sent;
  const std::string word(1000, 'w');
  for (int i = 0; i < 400; ++i) {
    const std::string text = std::to_string(i) + word;
    outbox.array(1), outbox.word(text);
    expected += "*1\r\n$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    if (i < 10) continue;  // ten commands stay in the queue
    iovec piece{};
    REQUIRE(outbox.next({&piece, 1}) == 1);
    const std::size_t now = std::min<std::size_t>(piece.iov_len, expected.size() - sent.size() - 10'000);
    sent.append(static_cast<const char*>(piece.iov_base), now);
    outbox.sent(now);
  }
  CHECK(outbox.unsent() == expected.size() - sent.size());
  CHECK(sent == expected.substr(0, sent.size()));
  CHECK(sent.size() > 350'000);
}

TEST_CASE("what is sent is the same wherever the socket stops, and lends only what is not sent yet") {
  std::vector<std::byte> record(1000, std::byte{'r'});
  const int one = 1, other = 2;
  const auto fill = [&](redis::Outbox& outbox) {
    outbox.array(2), outbox.word("GET"), outbox.word("name");
    outbox.array(3), outbox.word("SET"), outbox.word("name"), outbox.record(record, &one);
    outbox.array(3), outbox.word("SET"), outbox.word(""), outbox.record(record, &other);
  };
  const std::string r(1000, 'r');
  const std::string expected = "*2\r\n$3\r\nGET\r\n$4\r\nname\r\n*3\r\n$3\r\nSET\r\n$4\r\nname\r\n$1000\r\n" + r +
                               "\r\n*3\r\n$3\r\nSET\r\n$0\r\n\r\n$1000\r\n" + r + "\r\n";
  for (std::size_t most = 1; most < 1200; most += 7) {
    redis::Outbox outbox;
    std::string sent;
    for (int round = 0; round < 2; ++round) {  // more comes while the first part is on its way
      fill(outbox);
      CHECK(outbox.lends_from(&one));
      while (outbox.unsent() > (round == 0 ? expected.size() / 2 : 0)) {
        iovec pieces[3];
        const std::size_t count = outbox.next(pieces);
        std::size_t now = 0;
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t part = std::min(pieces[i].iov_len, most - now);
          sent.append(static_cast<const char*>(pieces[i].iov_base), part);
          now += part;
        }
        outbox.sent(now);
        REQUIRE(outbox.unsent() + sent.size() == expected.size() * (round == 0 ? 1 : 2));
      }
    }
    CHECK(sent == expected + expected);
    CHECK(!outbox.lends_from(&one));
    CHECK(!outbox.lends_from(&other));
  }
}
