/// Addresses, names, and the map of a cluster.
#include <redis/address.h>
#include <redis/lookup.h>
#include <redis/password.h>
#include <redis/record_name.h>
#include <redis/slots_reply.h>

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "reply_text.h"

using namespace canopy;
using namespace canopy::test;
using namespace canopy::redis;

namespace {

std::string addresses(std::string_view text) {
  const auto read = read_addresses(text);
  if (!read) return read.error().text;
  std::string all;
  for (const Address& address : *read) all += address.text() + "|";
  return all;
}

struct Ranges final : ReplySink {
  std::byte* place(std::uint64_t) override { return nullptr; }
  void element(const Element& element) override { reply.take(element); }
  SlotsReply reply;
};

std::string ranges(std::string_view bytes) {
  Ranges ranges;
  RespReader reader(ranges);
  REQUIRE(feed(reader, bytes, 1000));
  std::string all;
  for (const SlotRange& range : ranges.reply.ranges())
    all += std::to_string(range.first) + "-" + std::to_string(range.last) + " " + range.owner.host + ":" +
           std::to_string(range.owner.port) + "|";
  return all;
}

}  // namespace

TEST_CASE("addresses of servers are read, and what is none gets a sentence") {
  CHECK(addresses("cache-1:7001, 10.0.0.2:7002,[::1]:7003") == "cache-1:7001|10.0.0.2:7002|[::1]:7003|");
  CHECK(addresses("/run/redis.sock") == "/run/redis.sock|");
  CHECK(addresses("::1:6379") == "[::1]:6379|");
  for (const char* bad :
       {"", "cache-1", "cache-1:", "cache-1:0", "cache-1:65536", ":6379", "a b:1", "cache-1:7001,", "redis://x:1"}) {
    CAPTURE(bad);
    CHECK(addresses(bad).starts_with("`at`: '"));
    CHECK(addresses(bad).find("expected HOST:PORT") != std::string::npos);
  }
  CHECK(addresses("/" + std::string(200, 'x')).find("too long for the path of a socket") != std::string::npos);
}

TEST_CASE("an address in digits and the path of a socket are known at once, with no thread that asks for them") {
  for (int i = 0; i < 20; ++i)
    for (const Address& address : {Address{"127.0.0.1", 6379, {}}, Address{"::1", 6379, {}}, Address{{}, 0, "/x"}}) {
      Lookup lookup;
      lookup.begin(address);
      CHECK(lookup.state() == Lookup::State::known);
      CHECK(lookup.number() == 0);
      CHECK(!lookup.leave(0));  // there is no other
    }
}

TEST_CASE("names distinguish all that differs, and records of one home lie in one slot") {
  PageStorage::Context context;
  context.record_bytes = 8192;
  RecordNames names(context);
  const PageKey key{{1, 2, 3, 0xABCD}};
  CHECK(names.record(key, 7).find(":8192:0.1:{000000000000abcd}:0000000000000007:0000000000000001") !=
        std::string::npos);
  const std::string name(names.record(key, 7)), epoch(names.epoch(key));
  CHECK(name != names.record(key, 8));
  for (std::size_t word = 0; word < 4; ++word) {
    PageKey other = key;
    ++other.bits[word];
    CHECK(name != names.record(other, 7));
    CHECK(epoch != names.epoch(other));
  }
  for (std::size_t byte = 0; byte < 32; ++byte) {
    PageStorage::Context other = context;
    other.fingerprint[byte] = std::byte{1};
    CHECK(name != RecordNames(other).record(key, 7));
  }
  PageStorage::Context ranked = context, longer = context;
  ranked.ranks = 2, longer.record_bytes = 4096;
  CHECK(name != RecordNames(ranked).record(key, 7));
  CHECK(name != RecordNames(longer).record(key, 7));
  // CRC-16/XMODEM of what is in the braces, as binascii.crc_hqx of Python has it, modulo 16384.
  CHECK(slot_of_home(0xABCD) == 15695);
  CHECK(slot_of_space({{1, 2, 3, 4}}) == 14725);
}

TEST_CASE("the map of a cluster is read, and what is none is left out") {
  const std::string node = "*4\r\n$9\r\n127.0.0.1\r\n:7001\r\n$2\r\nid\r\n*2\r\n$8\r\nhostname\r\n$1\r\nx\r\n";
  const std::string other = "*3\r\n$-1\r\n:7002\r\n$2\r\nid\r\n";
  CHECK(ranges("*2\r\n*4\r\n:0\r\n:8191\r\n" + node + other + "*3\r\n:8192\r\n:16383\r\n" + other) ==
        "0-8191 127.0.0.1:7001|8192-16383 :7002|");
  CHECK(ranges("*0\r\n").empty());
  CHECK(ranges("-ERR This instance has cluster support disabled\r\n").empty());
  CHECK(ranges("*1\r\n*3\r\n:5\r\n:16384\r\n" + node).empty());
  CHECK(ranges("*1\r\n*3\r\n:5\r\n:4\r\n" + node).empty());
  CHECK(ranges("*1\r\n*3\r\n:-1\r\n:4\r\n" + node).empty());
  CHECK(ranges("*1\r\n*2\r\n:1\r\n:4\r\n").empty());
  CHECK(ranges("*1\r\n*3\r\n:1\r\n:4\r\n*2\r\n$1\r\nx\r\n:0\r\n").empty());
  CHECK(ranges("*3\r\n:1\r\n:4\r\n*2\r\n$1\r\nx\r\n:7\r\n").empty());
}

TEST_CASE("a password comes from the environment or a file, and where there is none a sentence says so") {
  ::setenv("CANOPY_TEST_PASSWORD", "secret", 1);
  ::setenv("CANOPY_TEST_EMPTY", "", 1);
  CHECK(*read_password("CANOPY_TEST_PASSWORD", "") == "secret");
  CHECK(read_password("", "")->empty());
  CHECK(read_password("CANOPY_TEST_EMPTY", "").error().text.find("no variable 'CANOPY_TEST_EMPTY'") !=
        std::string::npos);
  CHECK(read_password("a", "b").error().text.find("both") != std::string::npos);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("canopy_password_" + std::to_string(::getpid()));
  std::ofstream(file) << "s e c r e t\nmore\n";
  CHECK(*read_password("", file) == "s e c r e t");
  std::ofstream(file) << "\nmore\n";
  CHECK(read_password("", file).error().text.find("is empty") != std::string::npos);
  std::ofstream(file) << std::string(2000, 'x');
  CHECK(read_password("", file).error().text.find("too long") != std::string::npos);
  std::filesystem::remove(file);
  CHECK(read_password("", file).error().text.find("No such file") != std::string::npos);
  CHECK(read_password("", "/tmp").error().text.find("a folder") != std::string::npos);
}
