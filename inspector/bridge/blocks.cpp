#include <bridge/blocks.h>

#include <algorithm>
#include <random>

namespace canopy::bridge {

std::size_t Blocks::Mixed::operator()(std::uint64_t hash) const {
  const std::uint64_t mixed = (hash ^ key) * 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>((mixed ^ mixed >> 29) * (key | 1));
}

Blocks::Blocks(Units words, std::size_t most)
    : words_(words), most_(most), mixed_{std::uint64_t{std::random_device{}()} << 32 | std::random_device{}()} {
  clear();
}

std::uint32_t Blocks::find(std::uint16_t worker, std::uint64_t hash) const {
  if (worker >= by_hash_.size()) return 0;
  const auto found = by_hash_[worker].find(hash);
  return found == by_hash_[worker].end() ? 0 : found->second;
}

std::uint32_t Blocks::add(std::uint16_t worker, std::uint64_t hash, std::span<const Token> tokens) {
  std::uint32_t slot = 0;
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  } else {
    if (blocks_.size() > most_) return 0;
    slot = slots();
    blocks_.emplace_back();
    if (words_ != 0) tokens_.resize(blocks_.size() * words_);
  }
  Block& block = blocks_[slot];
  block.hash = hash, block.worker = worker, block.used = true;
  if (words_ != 0) std::copy_n(tokens.begin(), words_, tokens_.begin() + std::ptrdiff_t{slot} * words_);
  while (by_hash_.size() <= worker) by_hash_.emplace_back(0, mixed_);
  by_hash_[worker].emplace(hash, slot);
  return slot;
}

void Blocks::link(std::uint32_t slot, std::uint32_t parent) {
  Block &block = blocks_[slot], &above = blocks_[parent];
  block.parent = parent;
  block.next = above.first_child;
  if (block.next != 0) blocks_[block.next].prev = slot;
  above.first_child = slot;
}

void Blocks::erase(std::uint32_t slot) {
  Block& block = blocks_[slot];
  if (block.next != 0) blocks_[block.next].prev = block.prev;
  if (block.prev != 0) blocks_[block.prev].next = block.next;
  else if (block.parent != 0) blocks_[block.parent].first_child = block.next;
  by_hash_[block.worker].erase(block.hash);
  block = {};
  free_.push_back(slot);
}

void Blocks::clear() {
  blocks_.assign(1, {});
  free_.clear();
  tokens_.assign(words_, 0);
  by_hash_.clear();
}

}  // namespace canopy::bridge
