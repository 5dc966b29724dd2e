#include "page_keys.h"

#include <canopy/base/sha256.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

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

}  // namespace canopy
