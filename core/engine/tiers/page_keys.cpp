#include "tiers/page_keys.h"

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

template <class To>
To digest_as(const wire::Digest& digest) {
  To to;
  static_assert(sizeof to == sizeof digest.bytes);
  std::memcpy(&to, digest.bytes.data(), sizeof to);
  return to;
}

void append_number(std::string& text, std::uint32_t number) { text += bytes_of(number); }

}  // namespace

Fingerprint fingerprint_of(std::string_view text) { return digest_as<Fingerprint>(wire::Sha256().of(text)); }

PageKey PageKeys::space(const Space& tuple) {
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
  return digest_as<PageKey>(sha256_.of(text));
}

void PageKeys::follow(const PageKey& space, std::span<const std::uint32_t> words) {
  const std::size_t pages = words.size() > overlap_ ? (words.size() - overlap_) / page_size_ : 0;
  std::size_t known = 0;
  if (space == space_) {
    const std::size_t both = std::min(words.size(), words_.size());
    const auto same = static_cast<std::size_t>(
        std::mismatch(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(both), words_.begin()).first -
        words.begin());
    known = std::min({chain_.size(), pages, same > overlap_ ? (same - overlap_) / page_size_ : 0});
  }
  space_ = space;
  const std::size_t kept = known * page_size_, used = pages * page_size_ + (pages > 0 ? overlap_ : 0);
  words_.resize(std::min(words_.size(), kept));
  words_.insert(words_.end(), words.begin() + static_cast<std::ptrdiff_t>(kept),
                words.begin() + static_cast<std::ptrdiff_t>(used));
  chain_.resize(known);
  chain_.reserve(pages);
  while (chain_.size() < pages) {
    const PageKey& before = chain_.empty() ? space_ : chain_.back();
    const auto page = words.subspan(chain_.size() * page_size_, page_size_ + overlap_);
    chain_.push_back(digest_as<PageKey>(
        sha256_.of(bytes_of(before), {reinterpret_cast<const char*>(page.data()), page.size_bytes()})));
  }
}

PageKey PageKeys::key(std::size_t page, std::size_t group) {
  PageKey key = chain_[page];
  const auto number = static_cast<std::uint32_t>(group);
  if (group > 0) key = digest_as<PageKey>(sha256_.of(bytes_of(key), bytes_of(number)));
  key.bits[3] = chain_[page - page % kBlockPages].bits[0];
  return key;
}

}  // namespace canopy
