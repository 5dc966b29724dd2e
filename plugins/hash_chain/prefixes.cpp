#include "prefixes.h"

#include <canopy/helpers/prefix_print.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace canopy::hash_chain {

std::uint64_t Prefixes::hash(std::uint32_t parent, NamespaceId space, std::span<const std::uint32_t> words) const {
  const std::uint64_t before = parent ? prefixes_[parent].hash : first_print(space);
  return XXH3_64bits_withSeed(words.data(), words.size_bytes(), before);
}

std::uint32_t Prefixes::find(std::uint32_t parent, NamespaceId space, std::span<const std::uint32_t> given) const {
  if (parent != 0)
    if (const std::uint32_t child = prefixes_[parent].likely;
        child != 0 && prefixes_[child].parent == parent && std::ranges::equal(words(child), given))
      return child;
  const std::uint64_t wanted = hash(parent, space, given);
  std::uint32_t slot = buckets_[wanted & (buckets_.size() - 1)];
  for (; slot != 0; slot = prefixes_[slot].next) {
    const Prefix& prefix = prefixes_[slot];
    if (prefix.hash == wanted && prefix.parent == parent && prefix.space == space &&
        std::ranges::equal(words(slot), given))
      return slot;
  }
  return 0;
}

void Prefixes::reserve(std::size_t count) {
  const std::size_t most = prefixes_.size() + count;  // free slots are not counted
  if (most > prefixes_.capacity()) {
    const std::size_t room = std::max(most, 2 * prefixes_.capacity());
    words_.reserve(room * width_);
    prefixes_.reserve(room);
  }
  if (count_ + count <= buckets_.size()) return;
  std::vector<std::uint32_t> wider(std::bit_ceil(2 * (count_ + count)), 0);
  buckets_.swap(wider);
  for (std::uint32_t slot = 1; slot < prefixes_.size(); ++slot)
    if (prefixes_[slot].depth) prefixes_[slot].next = std::exchange(bucket(prefixes_[slot].hash), slot);
}

std::uint32_t Prefixes::add(std::uint32_t parent, NamespaceId space, std::span<const std::uint32_t> given) {
  std::uint32_t slot = free_;
  if (slot != 0) {
    free_ = prefixes_[slot].next;
  } else {
    slot = static_cast<std::uint32_t>(prefixes_.size());
    prefixes_.emplace_back();
    words_.resize(words_.size() + width_);
  }
  Prefix& prefix = prefixes_[slot];
  prefix.life += 1;
  prefix.hash = hash(parent, space, given);
  prefix.parent = parent;
  prefix.space = space;
  prefix.depth = (parent ? prefixes_[parent].depth : 0) + 1;
  prefix.number = ++numbers_;
  if (parent) ++prefixes_[parent].children, prefixes_[parent].likely = slot;
  std::ranges::copy(given, words_.begin() + static_cast<std::ptrdiff_t>(slot * width_));
  prefix.next = std::exchange(bucket(prefix.hash), slot);
  ++count_;
  return slot;
}

void Prefixes::prune(std::uint32_t slot) {
  while (slot != 0 && prefixes_[slot].first == 0 && prefixes_[slot].children == 0) {
    Prefix& prefix = prefixes_[slot];
    std::uint32_t* link = &bucket(prefix.hash);
    while (*link != slot) link = &prefixes_[*link].next;
    *link = prefix.next;
    const std::uint32_t parent = prefix.parent, life = prefix.life;
    prefix = {};
    prefix.life = life;
    prefix.next = std::exchange(free_, slot);
    --count_;
    if (parent) --prefixes_[parent].children;
    slot = parent;
  }
}

void Prefixes::clear() {
  // Slots keep their lives, so that no id is used for two prefixes.
  if (prefixes_.empty()) prefixes_.resize(1), words_.resize(width_), buckets_.resize(64);
  std::ranges::fill(buckets_, 0);
  free_ = 0;
  count_ = 0;
  for (std::uint32_t slot = static_cast<std::uint32_t>(prefixes_.size()) - 1; slot > 0; --slot) {
    const std::uint32_t life = prefixes_[slot].life;
    prefixes_[slot] = {};
    prefixes_[slot].life = life;
    prefixes_[slot].next = std::exchange(free_, slot);
  }
}

}  // namespace canopy::hash_chain
