/// libCacheSim's oracleGeneral, and files compressed by zstd.
#include <doctest/doctest.h>
#include <support/folder.h>
#include <workload/trace_formats.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::workload;

template <class Number>
void append_little(std::string& bytes, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) bytes += static_cast<char>(number >> 8 * i & 0xff);
}

std::string oracle_record(std::uint32_t seconds, std::uint64_t object, std::uint32_t size, std::int64_t next) {
  std::string bytes;
  append_little(bytes, seconds);
  append_little(bytes, object);
  append_little(bytes, size);
  append_little(bytes, static_cast<std::uint64_t>(next));
  return bytes;
}

struct OracleRead {
  std::vector<TraceRecord> records;
  std::string error;
};

OracleRead read_objects(const char* format, const std::string& content, const TraceOptions& options = {}) {
  const test::Folder folder;
  const std::string path = folder.file("objects", content);
  auto reader = open_records(format + (":" + path), options);
  if (!reader) return {{}, reader.error().text.substr(path.size())};
  OracleRead all;
  for (TraceRecord record;;) {
    auto got = (*reader)->next(record);
    if (!got) all.error = got.error().text.substr(path.size());
    if (!got || !*got) break;
    all.records.push_back(record);
  }
  if (all.error.empty()) CHECK((*reader)->progress() == 1.0);
  return all;
}

// "1,7,100\n" 400 times with zstd 1.5.4, and "1,7,100\n2,8,100\n3,7,600\n": two frames.
constexpr unsigned char kManyFrame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x64, 0x80, 0x0b, 0x7d, 0x00, 0x00,
                                        0x40, 0x31, 0x2c, 0x37, 0x2c, 0x31, 0x30, 0x30, 0x0a, 0x01,
                                        0x00, 0x75, 0x9c, 0x5f, 0xb8, 0x31, 0x85, 0xbe, 0x37};
constexpr unsigned char kThreeFrame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x18, 0xc1, 0x00, 0x00, 0x31, 0x2c, 0x37, 0x2c,
                                         0x31, 0x30, 0x30, 0x0a, 0x32, 0x2c, 0x38, 0x2c, 0x31, 0x30, 0x30, 0x0a, 0x33,
                                         0x2c, 0x37, 0x2c, 0x36, 0x30, 0x30, 0x0a, 0xdb, 0x2b, 0x6d, 0x1a};

template <std::size_t N>
std::string bytes_of(const unsigned char (&bytes)[N]) {
  return {reinterpret_cast<const char*>(bytes), N};
}

/// Returns true if this build reads zstd; if not, checks its error message.
bool reads_zstd() {
  const OracleRead read = read_objects("csv", bytes_of(kThreeFrame));
  if (read.error.empty()) return true;
  CHECK(read.error ==
        ": is compressed by zstd, and this Canopy was built without libzstd; decompress it first, by "
        "`zstd -d`, or build with libzstd-dev");
  MESSAGE("SKIPPED: this build has no libzstd");
  return false;
}

}  // namespace

TEST_CASE("oracleGeneral: a record is a request for an object, whose prompt no other object shares") {
  const std::string good =
      oracle_record(10, 7, 600, 2) + oracle_record(11, ~std::uint64_t{0}, 600, -1) + oracle_record(13, 7, 1100, -2);
  const OracleRead read = read_objects("oracle", good);
  CHECK(read.error == "");
  REQUIRE(read.records.size() == 3);
  CHECK(read.records[0].time_ms == 0);
  CHECK(read.records[2].time_ms == 3000);
  CHECK(read.records[0].length() == 600);
  CHECK(read.records[0].block == 512);
  CHECK(read.records[0].ids.size() == 2);
  CHECK(read.records[2].ids.size() == 3);
  CHECK(read.records[2].ids[1] == read.records[0].ids[1]);  // the same object, however long it is
  CHECK(read.records[1].ids[0] != read.records[0].ids[0]);

  const OracleRead divided = read_objects("oracle", good, {.token_bytes = 100});
  REQUIRE(divided.records.size() == 3);
  CHECK(divided.records[0].length() == 6);
  const OracleRead rounded = read_objects("csv", "1,7,101\n", {.token_bytes = 100});
  REQUIRE(rounded.records.size() == 1);
  CHECK(rounded.records[0].length() == 2);
}

TEST_CASE("oracleGeneral: a file that is cut off, or is something else, is refused with the request") {
  const std::string good = oracle_record(10, 7, 600, -1);
  CHECK(read_objects("oracle", good + good.substr(0, 5)).error ==
        ": request 2: has 5 bytes; expected 24: was the file cut off, or is it not oracleGeneral?");
  CHECK(read_objects("oracle", good + good + oracle_record(1, 2, 3, 1)).error ==
        ": request 3: 'next' is 1; expected a later request, -1 for none, or -2 for not known: is this file "
        "oracleGeneral?");
  CHECK(read_objects("oracle", oracle_record(1, 2, 3, -3)).error.starts_with(": request 1: 'next' is -3"));
  CHECK(read_objects("oracle", oracle_record(1, 2, 20'000'001, -1)).error ==
        ": request 1: 'size' is 20000001; expected a whole number of tokens from 0 to 20000000. If it is in bytes, "
        "`canopy trace import --token-bytes N` divides it");
  CHECK(read_objects("oracle", oracle_record(1, 2, 20'000'001, -1), {.token_bytes = 2}).error == "");
  CHECK(read_objects("oracle", "").error == ": request 1: is not there; expected records of 24 bytes");
}

TEST_CASE("a file compressed by zstd is read as it is, frame after frame, and a damaged one is refused") {
  if (!reads_zstd()) return;
  const std::string both = bytes_of(kManyFrame) + bytes_of(kThreeFrame);
  const OracleRead read = read_objects("csv", both);
  CHECK(read.error == "");
  REQUIRE(read.records.size() == 403);
  CHECK(read.records[399].length() == 100);
  CHECK(read.records[402].length() == 600);
  CHECK(read.records[402].ids[0] == read.records[0].ids[0]);
  for (const std::size_t missing : {std::size_t{1}, sizeof kThreeFrame - 5})
    CHECK(read_objects("csv", both.substr(0, both.size() - missing))
              .error.find("the zstd data ends too early; was the file cut off?") != std::string::npos);
  std::string damaged = both;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);  // the sum of what was packed
  CHECK(read_objects("csv", damaged).error.find("the zstd data is damaged") != std::string::npos);
}
