#include "page_record.h"

#include <canopy/helpers/record_head.h>

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "record_summary.h"

namespace canopy {
namespace {

struct Sum {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};

/// The part of a record's header before its words. Little endian.
struct Header {
  std::array<char, 8> magic;
  std::uint32_t format, header_bytes;
  std::uint64_t record_bytes, unused;
  PageKey key, parent;
  Fingerprint fingerprint;
  std::uint32_t group, begin, units, words;
  std::uint64_t image_bytes;
  std::uint32_t flags, cipher;  ///< 0: the image is as it was saved
  std::byte reserved[64];
  Sum image_sum;
  Sum header_sum;  ///< sum of the whole header except this field
};
static_assert(offsetof(Header, key) == offsetof(RecordHead, key) &&
              offsetof(Header, fingerprint) == sizeof(RecordHead) && offsetof(Header, group) == 128 &&
              offsetof(Header, image_sum) == 224 && sizeof(Header) == 256);
static_assert(sizeof(Header) + kRecordWords * sizeof(std::uint32_t) == kRecordHeader);

// The library's functions, which choose the processor's best instructions at run time.
Sum sum_of(const std::byte* bytes, std::size_t count, std::uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, count, seed);
  return {hash.low64, hash.high64};
}

Sum header_sum(const std::byte* record) {
  const std::uint64_t front = XXH3_64bits(record, offsetof(Header, header_sum));
  return sum_of(record + sizeof(Header), kRecordHeader - sizeof(Header), front);
}

Header header_of(const RecordFacts& facts) {
  Header header{};
  header.magic = RecordHead::kMagic;
  header.format = 1;
  header.header_bytes = static_cast<std::uint32_t>(kRecordHeader);
  header.record_bytes = kRecordHeader + facts.image_bytes;
  header.key = facts.key;
  header.parent = facts.parent;
  header.fingerprint = facts.fingerprint;
  header.group = facts.group;
  header.begin = facts.begin;
  header.words = static_cast<std::uint32_t>(facts.words.size());
  header.image_bytes = facts.image_bytes;
  return header;
}

std::span<const std::uint32_t> kept_words(const RecordFacts& facts) {
  return facts.words.first(std::min(facts.words.size(), kRecordWords));
}

}  // namespace

void seal_record(std::byte* record, const RecordFacts& facts) {
  Header header = header_of(facts);
  header.image_sum = sum_of(record + kRecordHeader, facts.image_bytes, 0);
  const auto words = kept_words(facts);
  std::memcpy(record, &header, sizeof header);
  std::memcpy(record + sizeof header, words.data(), words.size_bytes());
  std::memset(record + sizeof header + words.size_bytes(), 0, kRecordHeader - sizeof header - words.size_bytes());
  header.header_sum = header_sum(record);
  std::memcpy(record, &header, sizeof header);
}

const char* flaw_of_record(const std::byte* record, const RecordFacts& expected) {
  Header found, right = header_of(expected);
  std::memcpy(&found, record, sizeof found);
  if (found.magic != right.magic) return "it is no record";
  if (found.format != right.format || found.header_bytes != right.header_bytes) return "it has another format";
  if (found.record_bytes != right.record_bytes || found.image_bytes != right.image_bytes) return "it has another size";
  if (found.header_sum != header_sum(record)) return "its header is damaged";
  if (found.fingerprint != right.fingerprint) return "it is of another model or layout";
  if (found.key != right.key) return "it has another key";
  if (found.parent != right.parent) return "it continues another page";
  right.image_sum = found.image_sum;
  right.header_sum = found.header_sum;
  if (std::memcmp(&found, &right, sizeof found) != 0) return "it is about another page";
  const auto words = kept_words(expected);
  if (std::memcmp(record + sizeof found, words.data(), words.size_bytes()) != 0) return "it has other words";
  if (found.image_sum != sum_of(record + kRecordHeader, expected.image_bytes, 0)) return "its image is damaged";
  return nullptr;
}

RecordSummary read_record(std::span<const std::byte> record) {
  Header found{};
  RecordSummary summary;
  if (record.size() < kRecordHeader) {
    summary.flaw = "it ends too early";
    return summary;
  }
  std::memcpy(&found, record.data(), sizeof found);
  const Header right = header_of({});
  summary.key = found.key;
  summary.fingerprint = found.fingerprint;
  if (found.magic != right.magic) summary.flaw = "it is no record";
  else if (found.format != right.format || found.header_bytes != right.header_bytes)
    summary.flaw = "it has another format";
  else if (found.header_sum != header_sum(record.data())) summary.flaw = "its header is damaged";
  else if (found.image_bytes > record.size() - kRecordHeader) summary.flaw = "it ends too early";
  else if (found.image_sum != sum_of(record.data() + kRecordHeader, found.image_bytes, 0))
    summary.flaw = "its image is damaged";
  return summary;
}

}  // namespace canopy
