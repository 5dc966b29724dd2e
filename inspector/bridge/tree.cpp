#include <bridge/tree.h>

#include <algorithm>
#include <random>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace canopy::bridge {

Tree::Tree(const Options& options)
    : options_(options),
      blocks_(options.keep_tokens ? options.page_size : 0, options.most_blocks),
      runs_(blocks_, options.page_size),
      secret_(std::uint64_t{std::random_device{}()} << 32 | std::random_device{}()) {}

std::uint64_t Tree::mixed(std::uint64_t hash) const { return XXH3_64bits_withSeed(&hash, sizeof(hash), secret_); }

Tree::Loose& Tree::loose(std::uint16_t worker) {
  if (loose_.size() <= worker) loose_.resize(worker + std::size_t{1});
  return loose_[worker];
}

std::uint64_t Tree::unplaced() const {
  std::uint64_t sum = 0;
  for (const Loose& each : loose_) sum += each.unplaced.size();
  return sum;
}

void Tree::store(const Stored& stored, Tick tick) {
  const auto bit = static_cast<std::uint8_t>(1U << stored.group);
  if (stored.tokens.empty()) {
    for (const std::uint64_t hash : stored.hashes)
      if (const std::uint32_t known = blocks_.find(stored.worker, hash); known != 0) store_again(known, stored.group);
      else if (auto& unplaced = loose(stored.worker).unplaced; unplaced.size() < options_.most_blocks)
        unplaced[mixed(hash)] |= bit;
    return;
  }
  std::uint32_t before = stored.parent ? blocks_.find(stored.worker, *stored.parent) : 0;
  std::uint32_t head = 0, tail = 0, fresh = 0;  // new blocks that will form one run
  const auto end_run = [&] {
    if (fresh != 0) runs_.add(head, tail, fresh, tick);
    fresh = 0;
  };
  for (std::size_t i = 0; i < stored.hashes.size(); ++i) {
    bool is_new = false;
    const std::uint32_t block = known_or_new(stored, i, before, is_new);
    if (block == 0) {
      counts_.left_out += stored.hashes.size() - i;
      break;
    }
    if (!is_new) {
      end_run();
      store_again(block, stored.group);
    } else {
      if (fresh != 0 && (!blocks_.is_only_child(block) || blocks_[block].groups != blocks_[head].groups)) end_run();
      if (fresh++ == 0) head = block;
      tail = block;
    }
    before = block;
  }
  end_run();
}

/// Returns the block of a hash, or a new one below the block before it. 0: there is no room.
std::uint32_t Tree::known_or_new(const Stored& stored, std::size_t i, std::uint32_t before, bool& is_new) {
  const std::uint64_t hash = stored.hashes[i];
  if (const std::uint32_t known = blocks_.find(stored.worker, hash); known != 0) return known;
  const auto tokens = stored.tokens.subspan(i * options_.page_size, options_.page_size);
  const std::uint32_t made = blocks_.add(stored.worker, hash, tokens);
  if (made == 0) return 0;
  is_new = true;
  Block& block = blocks_[made];
  block.groups = static_cast<std::uint8_t>(1U << stored.group);
  block.name = XXH3_64bits(tokens.data(), tokens.size_bytes());
  if (!stored.extra.empty()) block.name = XXH3_64bits_withSeed(&stored.extra[i], sizeof(stored.extra[i]), block.name);
  if (before != 0) {
    block.space = blocks_[blocks_[before].run != 0 ? runs_.head_of(before) : before].space;
    if (blocks_[before].is_named) name(block, blocks_[before].name);
    place(made, before);
  } else if (stored.parent) {
    block.space = stored.unknown_space;
    make_orphan(made, *stored.parent);
  } else {
    block.space = stored.space;
    name(block, stored.root);
  }
  count(block, true);
  Loose& here = loose(stored.worker);
  if (here.awaited.contains(mixed(hash))) can_mend_ = true;
  if (const auto found = here.unplaced.find(mixed(hash)); found != here.unplaced.end()) {
    block.groups |= found->second;
    here.unplaced.erase(found);
  }
  return made;
}

/// Gives a block the name of its prefix. `above`: that of the prefix before it.
void Tree::name(Block& block, std::uint64_t above) {
  block.name = XXH3_64bits_withSeed(&block.name, sizeof(block.name), above);
  block.is_named = true;
}

/// Names a block and all blocks below it. REQUIRES: none of them is named, and the parent is.
void Tree::name_from(std::uint32_t block) {
  std::vector<std::uint32_t> unnamed{block};
  while (!unnamed.empty()) {
    Block& next = blocks_[unnamed.back()];
    unnamed.pop_back();
    if (next.groups != 0) count(next, false);
    name(next, blocks_[next.parent].name);
    if (next.groups != 0) count(next, true);
    for (std::uint32_t child = next.first_child; child != 0; child = blocks_[child].next) unnamed.push_back(child);
  }
}

void Tree::count(const Block& block, bool more) { common_.count(block.worker, block.is_named ? block.name : 0, more); }

void Tree::make_orphan(std::uint32_t block, std::uint64_t parent) {
  ++counts_.unknown_parents;
  orphans_.emplace(block, parent);
  ++loose(blocks_[block].worker).awaited[mixed(parent)];
}

/// Removes a block from the orphans; does nothing if it is none.
void Tree::end_orphan(std::uint32_t block) {
  const auto orphan = orphans_.find(block);
  if (orphan == orphans_.end()) return;
  auto& awaited = loose(blocks_[block].worker).awaited;
  if (const auto waits = awaited.find(mixed(orphan->second)); --waits->second == 0) awaited.erase(waits);
  orphans_.erase(orphan);
}

void Tree::mend(Tick tick) {
  can_mend_ = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> placed;
  for (const auto& [block, parent_hash] : orphans_)
    if (const std::uint32_t parent = blocks_.find(blocks_[block].worker, parent_hash); parent != 0)
      placed.push_back({block, parent});
  std::sort(placed.begin(), placed.end());
  runs_.suspend(true);
  for (const auto& [block, parent] : placed) {
    if (root_of(parent) == block) continue;  // the block would be above itself: the events contradict each other
    end_orphan(block);
    place(block, parent);
    runs_.join(block);
    if (blocks_[parent].is_named) name_from(block);
  }
  runs_.suspend(false);
  runs_.send_cleared();
  runs_.send_all(tick);
}

void Tree::store_again(std::uint32_t block, std::uint8_t group) {
  const auto bit = static_cast<std::uint8_t>(1U << group);
  if ((blocks_[block].groups & bit) == 0) return set_groups(block, blocks_[block].groups | bit);
  if (options_.repeats_are_reports) return;
  ++more_copies_[copy_of(block, group)];
  ++copies_;
}

/// Puts a block below a parent. The parent's only child so far can then no longer continue its run.
void Tree::place(std::uint32_t block, std::uint32_t parent) {
  blocks_.link(block, parent);
  const std::uint32_t sibling = blocks_[block].next;
  if (sibling != 0 && blocks_[sibling].run != 0 && blocks_[sibling].run == blocks_[parent].run) runs_.cut(sibling);
}

std::uint32_t Tree::root_of(std::uint32_t block) const {
  for (;;) {
    if (blocks_[block].run != 0) block = runs_.head_of(block);
    if (blocks_[block].parent == 0) return block;
    block = blocks_[block].parent;
  }
}

void Tree::set_groups(std::uint32_t block, std::uint8_t groups) {
  const bool was = blocks_[block].groups != 0;
  runs_.set_groups(block, groups);
  if (was != (groups != 0)) count(blocks_[block], groups != 0);
}

void Tree::remove(std::uint16_t worker, std::uint8_t group, std::span<const std::uint64_t> hashes) {
  const auto bit = static_cast<std::uint8_t>(1U << group);
  changed_.clear();
  for (const std::uint64_t hash : hashes) {
    const std::uint32_t block = blocks_.find(worker, hash);
    if (block == 0 || (blocks_[block].groups & bit) == 0) {
      auto& unplaced = loose(worker).unplaced;
      const auto found = block == 0 ? unplaced.find(mixed(hash)) : unplaced.end();
      if (found == unplaced.end() || (found->second & bit) == 0) ++counts_.unknown_removed;
      else if ((found->second &= static_cast<std::uint8_t>(~bit)) == 0) unplaced.erase(found);
      continue;
    }
    if (const auto more = more_copies_.find(copy_of(block, group)); more != more_copies_.end()) {
      --copies_;
      if (--more->second == 0) more_copies_.erase(more);
      continue;
    }
    blocks_[block].groups &= static_cast<std::uint8_t>(~bit);
    if (blocks_[block].groups == 0) count(blocks_[block], false);
    changed_.push_back(block);
  }
  remove_unheld(changed_);
}

/// Removes blocks that no group has any longer. Leaves come first, each with all blocks above it that are no longer
/// needed: in whatever order a server names the blocks of a node, the node is removed as one.
void Tree::remove_unheld(std::span<const std::uint32_t> changed) {
  for (const std::uint32_t block : changed)
    if (blocks_[block].used && blocks_[block].groups == 0 && blocks_[block].first_child == 0) prune(block);
  for (const std::uint32_t block : changed)
    if (blocks_[block].used && blocks_[block].groups != runs_.groups_of(block))
      runs_.set_groups(block, blocks_[block].groups);
}

void Tree::prune(std::uint32_t leaf) {
  while (leaf != 0) {
    std::uint32_t top = leaf;
    while (top != runs_.head_of(leaf) && blocks_[blocks_[top].parent].groups == 0) top = blocks_[top].parent;
    runs_.remove(top);
    const std::uint32_t above = blocks_[top].parent;
    for (std::uint32_t at = leaf; at != above;) {
      const std::uint32_t next = blocks_[at].parent;
      end_orphan(at);
      blocks_.erase(at);
      at = next;
    }
    if (above == 0) return;
    const std::uint32_t child = blocks_[above].first_child;
    if (child != 0) return runs_.join(child);
    leaf = blocks_[above].groups == 0 ? above : 0;
  }
}

void Tree::clear(std::uint16_t worker) {
  loose(worker).unplaced.clear();
  changed_.clear();
  blocks_.each_of(worker, [&](std::uint32_t slot) { changed_.push_back(slot); });
  std::sort(changed_.begin(), changed_.end());
  for (const std::uint32_t slot : changed_) {
    Block& block = blocks_[slot];
    for (std::uint8_t g = 0; g < kMaxGroups; ++g)
      if (const auto more = more_copies_.find(copy_of(slot, g)); more != more_copies_.end()) {
        copies_ -= more->second;
        more_copies_.erase(more);
      }
    if (block.groups != 0) count(block, false);
    block.groups = 0;
  }
  if (changed_.empty()) return;
  if (changed_.size() < blocks_.count()) return remove_unheld(changed_);
  blocks_.clear();
  runs_.clear();
  orphans_.clear();
  for (Loose& each : loose_) each.awaited.clear();
}

}  // namespace canopy::bridge
