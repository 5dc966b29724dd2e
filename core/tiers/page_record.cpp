#include "page_record.h"

#include <canopy/base/sha256.h>
#include <canopy/engine/engine_config.h>
#include <canopy/helpers/record_head.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include <cache/cache_state.h>
#include <cache/guard/ports.h>

namespace canopy {

namespace {

static_assert(std::endian::native == std::endian::little, "words are hashed as they lie in memory");

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

void append_number(std::string& text, std::uint32_t number) { text += bytes_of(number); }

}  // namespace

Fingerprint fingerprint_of(std::string_view text) { return std::bit_cast<Fingerprint>(sha256(text)); }

PageKey PageKeys::space(const Space& tuple) const {
  const std::string_view fields[] = {tuple.tenant, tuple.adapter, tuple.salt};
  std::string text = "canopy page key 1";
  text += bytes_of(fingerprint_);
  std::uint32_t present = 0;
  for (std::size_t i = 0; i < std::size(fields); ++i) present |= fields[i].empty() ? 0 : 1U << i;
  append_number(text, present);
  for (const std::string_view field : fields) {
    append_number(text, static_cast<std::uint32_t>(field.size()));
    text += field;
  }
  return std::bit_cast<PageKey>(sha256(text));
}

/// Returns how many pages of `words` a path has keys for.
std::size_t PageKeys::shared(const Path& path, const PageKey& space, std::span<const std::uint32_t> words) const {
  if (path.space != space) return 0;
  constexpr std::size_t kBlock = 256;  // words compared at once; the last block is compared word by word
  const std::size_t both = std::min(words.size(), path.words.size());
  std::size_t same = 0;
  while (same + kBlock <= both && std::memcmp(&words[same], &path.words[same], kBlock * sizeof words[0]) == 0)
    same += kBlock;
  while (same < both && words[same] == path.words[same]) ++same;
  return same > overlap_ ? (same - overlap_) / page_size_ : 0;
}

void PageKeys::follow(const PageKey& space, std::span<const std::uint32_t> words) {
  pages_ = words.size() > overlap_ ? (words.size() - overlap_) / page_size_ : 0;
  std::size_t known = 0, at = kPaths - 1;
  for (std::size_t i = 0; i < kPaths; ++i)
    if (const std::size_t both = shared(paths_[i], space, words); both > known) known = both, at = i;
  // Reuse a path that ends here, or that includes this one. Copy the shared part of a path that continues differently.
  if (known < pages_ && known < paths_[at].chain.size() && at != kPaths - 1) {
    const auto kept = static_cast<std::ptrdiff_t>(known);
    paths_.back().reserve(pages_, page_size_, overlap_);
    paths_.back().chain.assign(paths_[at].chain.begin(), paths_[at].chain.begin() + kept);
    paths_.back().words.assign(words.begin(), words.begin() + kept * page_size_);
    at = kPaths - 1;
  }
  std::rotate(paths_.begin(), paths_.begin() + static_cast<std::ptrdiff_t>(at),
              paths_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  if (known < pages_) extend(paths_.front(), known, space, words);
  else if (pages_ == 0) paths_.front() = {space, {}, {}};
}

/// Takes the memory for `pages` pages, so that words and chain change together.
void PageKeys::Path::reserve(std::size_t pages, Units page_size, Units overlap) {
  const auto make_room = [](auto& list, std::size_t count) {
    if (list.capacity() < count) list.reserve(std::max(count, 2 * list.capacity()));
  };
  make_room(words, pages * page_size + overlap);
  make_room(chain, pages);
}

/// Keeps `known` pages of the path, and computes the others.
void PageKeys::extend(Path& path, std::size_t known, const PageKey& space, std::span<const std::uint32_t> words) {
  const auto kept = static_cast<std::ptrdiff_t>(known * page_size_);
  const auto used = static_cast<std::ptrdiff_t>(pages_ * page_size_ + overlap_);
  path.reserve(pages_, page_size_, overlap_);
  path.space = space;
  path.words.resize(static_cast<std::size_t>(kept));
  path.words.insert(path.words.end(), words.begin() + kept, words.begin() + used);
  path.chain.resize(pages_);
  for (std::size_t i = known; i < pages_; ++i) {
    const PageKey& before = i == 0 ? space : path.chain[i - 1];
    const auto page = words.subspan(i * page_size_, page_size_ + overlap_);
    path.chain[i] = std::bit_cast<PageKey>(
        sha256(bytes_of(before), {reinterpret_cast<const char*>(page.data()), page.size_bytes()}));
  }
  computed_ += pages_ - known;
}

PageKey PageKeys::key(std::size_t page, std::size_t group) const {
  const std::vector<PageKey>& chain = paths_.front().chain;
  PageKey key = chain[page];
  const auto number = static_cast<std::uint32_t>(group);
  if (group > 0) key = std::bit_cast<PageKey>(sha256(bytes_of(key), bytes_of(number)));
  key.bits[3] = chain[page - page % kBlockPages].bits[0];
  return key;
}

namespace {

/// Returns a line that begins with the length of its text, so that different lists of texts give different results.
std::string line(const char* name, std::string_view text) { return fmt::format("{} {} {}\n", name, text.size(), text); }

std::string layout_of(const CacheState& device, std::size_t group) {
  const StorePort* const store = device.pools[group].store_port();
  if (!store) return "no rows\n";
  std::string text = fmt::format("layers {}\n", store->view().layers);
  for (const Stream& stream : store->streams())
    text += fmt::format("{} bytes ", stream.row_bytes) + line("stream", stream.name);
  return text;
}

}  // namespace

std::string fingerprint_text(const EngineConfig& config, const CacheState& device) {
  const ModelConfig& model = config.model;
  const std::string ranks = model.replicated ? "replicated\n" : fmt::format("rank {} of {}\n", model.rank, model.ranks);
  std::string text = "canopy record 1\n" + line("model", model.name) + line("revision", model.revision) +
                     line("dtype", model.dtype) + line("extra", model.extra) + ranks +
                     fmt::format("page {} overlap {}\n", device.page_size, device.overlap) +
                     line("key", config.key.name);
  for (std::size_t g = 0; g < device.pools.size(); ++g)
    text += line("group", config.groups[g].name) +
            fmt::format("reach {} every {}\n", config.groups[g].reach, config.groups[g].every) + layout_of(device, g);
  return text;
}

std::string fingerprint_text(const EngineConfig& config, const CacheState& device, std::size_t group) {
  return fingerprint_text(config, device) + line("records of", config.groups[group].name);
}

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
