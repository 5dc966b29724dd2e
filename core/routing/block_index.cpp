#include <canopy/routing/block_index.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <string>

namespace canopy::routing {
namespace {

constexpr Name kRoot = 0x63616E6F70792031;  // any number but 0

/// 0 is no key of a table.
constexpr std::uint64_t not_0(std::uint64_t key) { return key == 0 ? 1 : key; }
constexpr std::uint64_t bit(std::size_t worker) { return std::uint64_t{1} << worker; }

}  // namespace

Name root_of(std::string_view adapter, std::string_view salt) {
  if (adapter.empty() && salt.empty()) return kRoot;
  std::string text(adapter);
  text += '\0';
  text += salt;
  return not_0(XXH3_64bits_withSeed(text.data(), text.size(), kRoot));
}

Name next_name(Name before, std::span<const Token> block) {
  return not_0(XXH3_64bits_withSeed(block.data(), block.size_bytes(), before));
}

BlockIndex::BlockIndex(std::uint32_t block_tokens, std::size_t workers, std::size_t expected, std::uint64_t secret)
    : block_tokens_(block_tokens), blocks_(secret, expected), counts_(workers) {
  for (std::size_t worker = 0; worker < workers; ++worker) known_.emplace_back(secret, expected / workers);
}

Name BlockIndex::name_of(std::size_t worker, std::uint64_t hash) const {
  const Known* known = known_[worker].find(not_0(hash));
  return known ? known->name : 0;
}

void BlockIndex::prefetch_hash(std::size_t worker, std::uint64_t hash) const { known_[worker].prefetch(not_0(hash)); }

void BlockIndex::store(std::size_t worker, Tier tier, std::uint64_t hash, Name name) {
  Known& known = known_[worker][not_0(hash)];
  if (known.name != 0 && known.name != name) {
    // The worker gives another block this hash: what it called so before cannot be removed any more.
    if (Block* old = blocks_.find(known.name); old && old->any() & bit(worker)) {
      for (std::uint64_t& workers : old->workers) workers &= ~bit(worker);
      --counts_[worker];
      if (old->any() == 0) blocks_.erase(old);
    }
  }
  known.name = name;
  Block& block = blocks_[name];
  counts_[worker] += (block.any() & bit(worker)) == 0;
  block.workers[static_cast<std::size_t>(tier)] |= bit(worker);
}

bool BlockIndex::remove(std::size_t worker, Tier tier, std::uint64_t hash) {
  Known* known = known_[worker].find(not_0(hash));
  Block* block = known ? blocks_.find(known->name) : nullptr;
  if (!block || !(block->workers[static_cast<std::size_t>(tier)] & bit(worker))) {
    // Another hash of the same tokens took the block away.
    if (known && (!block || !(block->any() & bit(worker)))) known_[worker].erase(known);
    return false;
  }
  block->workers[static_cast<std::size_t>(tier)] &= ~bit(worker);
  if (block->any() & bit(worker)) return true;
  known_[worker].erase(known);
  --counts_[worker];
  if (block->any() == 0) blocks_.erase(block);
  return true;
}

void BlockIndex::clear(std::size_t worker) {
  known_[worker].each([&](const Known& known) {
    Block* block = blocks_.find(known.name);
    if (!block) return;
    for (std::uint64_t& workers : block->workers) workers &= ~bit(worker);
    if (block->any() == 0) blocks_.erase(block);
  });
  known_[worker].clear();
  counts_[worker] = 0;
}

void BlockIndex::clear(std::size_t worker, Tier tier) {
  std::vector<std::uint64_t> hashes;
  known_[worker].each([&](const Known& known) { hashes.push_back(known.key); });
  for (const std::uint64_t hash : hashes) remove(worker, tier, hash);
}

void BlockIndex::find(std::span<const Token> prompt, Name root, std::span<Overlap> found, Scratch& scratch) const {
  std::fill(found.begin(), found.end(), Overlap{});
  const std::size_t blocks = prompt.size() / block_tokens_;
  if (scratch.names.size() < blocks) scratch.names.resize(blocks);
  // Names are made some blocks ahead, so that their memory is on its way when they are looked up.
  constexpr std::size_t kAhead = 24;
  Name last = root;
  const auto name = [&](std::size_t at) {
    last = scratch.names[at] = next_name(last, prompt.subspan(at * block_tokens_, block_tokens_));
    blocks_.prefetch(last);
  };
  for (std::size_t i = 0; i < std::min(kAhead, blocks); ++i) name(i);

  // Neighbours mostly have the same workers in the same tiers: those are counted once for a run of them.
  std::array<std::uint64_t, kTiers> run{};
  std::uint32_t length = 0;
  const auto count_run = [&] {
    for (std::size_t tier = 0; tier < kTiers && length > 0; ++tier)
      for (std::uint64_t left = run[tier]; left != 0; left &= left - 1)
        found[static_cast<std::size_t>(std::countr_zero(left))].blocks[tier] += length;
  };
  std::uint64_t unbroken = ~std::uint64_t{0};
  for (std::size_t i = 0; i < blocks; ++i) {
    if (i + kAhead < blocks) name(i + kAhead);
    const Block* block = blocks_.find(scratch.names[i]);
    unbroken &= block ? block->any() : 0;
    if (unbroken == 0) break;
    std::array<std::uint64_t, kTiers> best{};
    std::uint64_t left = unbroken;
    for (std::size_t tier = 0; tier < kTiers; ++tier) {
      best[tier] = left & block->workers[tier];
      left &= ~best[tier];
    }
    if (best != run) {
      count_run();
      run = best;
      length = 0;
    }
    ++length;
  }
  count_run();
}

std::size_t BlockIndex::bytes() const {
  std::size_t bytes = blocks_.bytes();
  for (const auto& known : known_) bytes += known.bytes();
  return bytes;
}

}  // namespace canopy::routing
