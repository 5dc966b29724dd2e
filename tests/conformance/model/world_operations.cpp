/// The required results of each operation, and its effect on the models.
#include "page_lists.h"
#include "world.h"

#include <algorithm>

namespace canopy::test {

namespace {

GroupPages spans_of(const FlatIndex::PerGroup<std::vector<Page>>& pages) {
  GroupPages spans;
  for (std::size_t g = 0; g < kMaxGroups; ++g) spans[g] = pages[g];
  return spans;
}

}  // namespace

Outcome World::match(const Operation& operation) {
  const Key key = key_of(operation);
  peek(key);
  Chain chain = chain_of(key, config_.page_size, config_.overlap);
  const std::size_t expected = flat_.matched(chain);
  const std::size_t full = flat_.full_length(chain);
  coverage_.short_matches += expected < flat_.known(chain);
  chain.resize(expected);
  RequestFacts facts = facts_of(key);
  facts.priority = operation.priority;
  Receipt receipt{
      index_->match(key, facts), LockState::held, operation.space, flat_.lock(std::move(chain)), 0, facts.id};
  if (order_) order_->used(receipt.hold.chain, true), order_->lock(receipt.hold.chain);
  coverage_.hits += expected > 0;
  expect_equal("units that whole-path groups have", std::size_t{receipt.lock.full_length}, full * config_.page_size);
  Outcome outcome{{"length", in_units(receipt.lock.length)}, {"full", in_units(receipt.lock.full_length)}};
  check_lock(receipt, outcome);
  keep(operation.as, std::move(receipt));
  return outcome;
}

Outcome World::find(const Operation& operation) {
  const Key key = key_of(operation);
  Chain chain = chain_of(key, config_.page_size, config_.overlap);
  const std::size_t expected = flat_.matched(chain), full = flat_.full_length(chain);
  chain.resize(expected);
  // Keys of every length, more than an index may take at a time, one of a namespace without nodes: nothing changes.
  std::vector<Key> ahead{{NamespaceId{~0U >> 1}, key.words}};
  std::vector<std::vector<std::uint32_t>> words;  // each its own, so that a sanitizer sees what is read behind it
  for (std::size_t i = 0; i < 20; ++i) {
    const auto some = key.words.first(key.words.size() * i / 19);
    ahead.push_back({key.space, words.emplace_back(some.begin(), some.end())});
  }
  index_->prefetch(ahead);
  const Found found = index_->find(key);
  expect_equal("length that a find found", std::size_t{found.length}, expected * config_.page_size);
  expect_equal("units that a find found in whole-path groups", std::size_t{found.full_length},
               full * config_.page_size);
  if ((found.node == NodeId::none) != chain.empty()) disagree("a find of {} units names the wrong node", found.length);
  if (order_) order_->used(chain, false);
  const GroupPages shown = index_->pages(found.node);
  const FlatIndex::Hold would = flat_.lock(chain);
  for (std::size_t g = 0; g < parts_.size(); ++g)
    expect_same_pages("pages of a node that was found", copied(shown[g]), flat_.pages(would, g));
  flat_.unlock(would);
  if (!operation.as.empty() && (config_.scenario || !chain.empty()))
    sights_[operation.as] = {found, operation.space, std::move(chain)};
  return {{"length", in_units(found.length)}, {"full", in_units(found.full_length)}};
}

Outcome World::hold(const Operation& operation) {
  const auto at = sights_.find(operation.name);
  if (at == sights_.end()) return no_such("find", operation.name), Outcome{};
  const Sight& sight = at->second;
  const bool serves = !sight.gone && !sight.chain.empty() && flat_.matched(sight.chain) == sight.chain.size();
  coverage_.sights_held += serves, coverage_.sights_gone += sight.gone;
  coverage_.sights_broken += !serves && !sight.gone && !sight.chain.empty();
  RequestFacts facts;
  facts.space = sight.space;
  facts.id = ++requests_;
  Receipt receipt{index_->hold(sight.found.node, &facts), LockState::held, sight.space, {}, 0, serves ? facts.id : 0};
  if (!serves) {
    if (receipt.lock.id != LockId::none) disagree("a lock of {} units on a node that is gone", receipt.lock.length);
    return {{"refused", 1}};
  }
  receipt.hold = flat_.lock(sight.chain);
  if (order_) order_->used(sight.chain, true), order_->lock(sight.chain);
  Outcome outcome{{"refused", 0}, {"length", in_units(receipt.lock.length)}};
  check_lock(receipt, outcome);
  keep(operation.as, std::move(receipt));
  return outcome;
}

void World::lose_sight() {
  for (auto& [name, sight] : sights_) sight.gone |= !sight.chain.empty() && flat_.find(sight.chain.back()) == nullptr;
}

Outcome World::insert(const Operation& operation) {
  for (const auto& [name, from] : operation.from) group_in(config_, name);
  if (operation.name.empty()) return insert_below(nullptr, operation);
  const auto found = receipt(operation.name);
  if (found == receipts_.end() || found->second.state == LockState::released) return {};
  if (found->second.state == LockState::forgotten) return insert_nowhere(operation, found->second.lock);
  return insert_below(&found->second, operation);
}

Outcome World::insert_below(Receipt* below, const Operation& operation) {
  const Key key = key_of(operation);
  Chain chain = chain_of(key, config_.page_size, config_.overlap);
  const Receipt nothing;
  const Chain& start = (below ? below : &nothing)->hold.chain;
  if (start.size() > chain.size() || !std::equal(start.begin(), start.end(), chain.begin())) {
    if (config_.scenario) disagree("the key does not begin with the key of '{}'", operation.name);
    return {};
  }
  const std::size_t covered = start.size();
  const auto brought = obtain(operation, covered, chain.size());
  if (!brought) {
    ++coverage_.out_of_pages;
    return {{"refused", 1}};
  }
  while (below && below->kept > 0) undo_keep(*below);  // the insert replaces the lock
  const Inserted result = index_->insert(below ? below->lock : Lock{}, key, spans_of(*brought),
                                         {operation.priority, operation.chunked, 0, below ? below->inserted : 0});
  // Results of an index are valid until its next call.
  Brought spare;
  for (std::size_t g = 0; g < parts_.size(); ++g) spare[g] = copied(result.spare[g]);
  FlatIndex::Added added;
  if (remembers_) {
    added = flat_.insert(key, chain, covered, *brought);
    expect_equal("units that were present before", std::size_t{result.had}, added.had * config_.page_size);
  } else {
    give_back(spans_of(*brought));
  }
  // A node without pages in any group is not made, and the inserted key ends before it.
  chain.resize(added.length);
  Receipt receipt{result.lock,       LockState::held,    operation.space,
                  flat_.lock(chain), result.lock.length, below ? below->request : 0};
  if (order_ && remembers_) {
    order_->inserted(chain, added.had, operation.priority, !operation.chunked, operation.space);
    order_->lock(chain);
  }
  if (below) {
    flat_.unlock(below->hold);
    flat_.check_removed();
    if (order_) order_->unlock(below->hold.chain);
    below->state = LockState::released;
  }
  coverage_.refilled += added.refilled;
  Outcome outcome{{"had", in_units(result.had)}, {"length", in_units(result.lock.length)}, {"refused", 0}};
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    expect_same_pages("spare pages", spare[g], added.spare[g]);
    coverage_.spare_pages += spare[g].size();
    outcome.emplace_back(label(g, "spare"), spare[g].size());
  }
  check_lock(receipt, outcome);
  give_back(spans_of(spare));
  keep(operation.as, std::move(receipt));
  return outcome;
}

/// Inserts below a lock that clear() ended: nothing may change, and all pages stay with the caller.
Outcome World::insert_nowhere(const Operation& operation, const Lock& stale) {
  const auto units = operation.words.size() < config_.overlap ? 0 : operation.words.size() - config_.overlap;
  const std::size_t whole = units / config_.page_size, covered = stale.length / config_.page_size;
  if (stale.node == NodeId::none || whole < covered) return {};
  const auto brought = obtain(operation, covered, whole);
  if (!brought) return {{"refused", 1}};
  ++coverage_.refused_locks;
  const Inserted result =
      index_->insert(stale, key_of(operation), spans_of(*brought), {operation.priority, operation.chunked});
  expect_equal("units under a stale lock after an insert", result.lock.length, stale.length);
  for (std::size_t g = 0; g < parts_.size(); ++g)
    expect_same_pages("spare pages of an insert below a stale lock", copied(result.spare[g]), {});
  give_back(spans_of(*brought));
  return {{"refused", 1}};
}

Outcome World::release(const Operation& operation) {
  const auto found = receipt(operation.name);
  if (found == receipts_.end()) return {};
  Receipt& receipt = found->second;
  if (receipt.state == LockState::held) {
    let_go(receipt, operation.finished ? Ending::finished : Ending::retracted);
    return {{"refused", 0}};
  }
  if (receipt.lock.id == LockId::none) {
    index_->release(receipt.lock);
    return {{"refused", 0}};
  }
  // The index detects a second release by the count of locks, so not while another lock covers the same pages. Avoiding
  // that is the caller's duty.
  const FlatIndex::Entry* end = receipt.state == LockState::released ? flat_.find(receipt.hold.chain.back()) : nullptr;
  if (end && end->paths > 0) return {};
  ++coverage_.refused_locks;
  index_->release(receipt.lock);
  return {{"refused", 1}};
}

Outcome World::flush(NamespaceId space) {
  const GroupPages left = index_->flush(space);
  Outcome outcome;
  Brought unlocked;
  for (std::size_t g = 0; g < parts_.size(); ++g)
    for (const PrefixName name : flat_.all_unlocked(g, space)) {
      unlocked[g].push_back(flat_.find(name)->pages[g]);
      if (order_) order_->forget(name);
    }
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    std::vector<Page> pages = copied(left[g]), expected = unlocked[g];
    for (const Page page : expected) flat_.remove(g, page);
    std::ranges::sort(pages), std::ranges::sort(expected);
    expect_same_pages("pages of a flush", pages, expected);
    outcome.emplace_back(label(g, "pages"), pages.size());
  }
  flat_.check_removed();
  lose_sight();
  give_back(left);
  return outcome;
}

Outcome World::clear() {
  const GroupPages left = index_->clear();
  Outcome outcome;
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    std::vector<Page> pages = copied(left[g]), expected = flat_.all_pages(g);
    std::ranges::sort(pages), std::ranges::sort(expected);
    expect_same_pages("pages of a clear", pages, expected);
    outcome.emplace_back(label(g, "pages"), pages.size());
  }
  flat_.clear();
  lose_sight();
  if (order_) order_->clear();
  for (auto& [name, receipt] : receipts_) {
    if (receipt.state == LockState::held) receipt.state = LockState::forgotten;
    receipt.kept = 0;
  }
  give_back(left);
  return outcome;
}

Outcome World::peek(const Key& key) {
  const Chain chain = chain_of(key, config_.page_size, config_.overlap);
  const ChainView found(chain.data(), flat_.matched(chain));
  const Probe probe = index_->peek(key);
  expect_equal("length that a peek found", std::size_t{probe.length}, found.size() * config_.page_size);
  const std::size_t full = flat_.full_length(chain);
  expect_equal("units that a peek found in whole-path groups", std::size_t{probe.full_length},
               full * config_.page_size);
  Outcome outcome{{"length", in_units(probe.length)}, {"full", in_units(probe.full_length)}};
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    expect_equal("evictable units that a peek found", probe.evictable[g],
                 std::uint64_t{flat_.unlocked(found, g)} * config_.page_size);
    outcome.emplace_back(label(g, "evictable"), in_units(probe.evictable[g]));
  }
  return outcome;
}

Outcome World::own(const Operation& operation, std::size_t group) {
  if (owned_.contains(operation.as)) return {};
  auto pages = obtain(group, operation.number());
  if (!pages) return {{"refused", 1}};
  parts_[group].owned += pages->size();
  owned_.emplace(operation.as, std::pair(group, *std::move(pages)));
  return {{"refused", 0}};
}

Outcome World::drop(const std::string& name) {
  const auto found = owned_.find(name);
  if (found == owned_.end()) return no_such("owner of pages", name), Outcome{};
  const auto& [group, pages] = found->second;
  parts_[group].owned -= pages.size();
  give_back(group, pages);
  owned_.erase(found);
  return {};
}

Outcome World::relax(const Operation& operation, std::size_t group) {
  const auto found = receipt(operation.name);
  if (found == receipts_.end() || found->second.state != LockState::held) return {};
  Receipt& receipt = found->second;
  coverage_.relaxed += parts_[group].reach != kWholePath;
  const Units from = meant(operation.number());
  index_->relax(receipt.lock, group, from);
  flat_.relax(receipt.hold, group, from / config_.page_size);
  Outcome outcome;
  check_lock(receipt, outcome);
  return outcome;
}

Outcome World::remap(std::size_t group, std::uint64_t count) {
  SlotAllocator& allocator = *parts_[group].allocator;
  const std::vector<PrefixName> names = flat_.all_unlocked(group);
  const std::size_t moved = std::min({std::size_t{count}, names.size(), std::size_t{allocator.occupancy().free}});
  std::vector<Page> from, to(moved);
  if (!allocator.allocate(to)) disagree("the allocator refused {} pages that it calls free", moved);
  for (std::size_t i = 0; i < moved; ++i) {
    from.push_back(flat_.find(names[i])->pages[group]);
    flat_.relocate(names[i], group, to[i]);
  }
  index_->remap(group, from, to);
  give_back(group, from);
  return {{"pages", moved}};
}

Outcome World::state() {
  struct Count final : QueueVisitor {
    std::uint64_t waiters = 0;
    void waiting(const NodeFacts&, Rank) override { ++waiters; }
  };
  Outcome outcome{{"nodes", index_->use().nodes}, {"refused", index_->use().refused}};
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    Count queue;
    index_->waiting(g, queue);
    const Sizes sizes = index_->sizes(g);
    outcome.emplace_back(label(g, "evictable"), in_units(sizes.evictable));
    outcome.emplace_back(label(g, "protected"), in_units(sizes.protected_));
    outcome.emplace_back(label(g, "free"), parts_[g].allocator->occupancy().free);
    outcome.emplace_back(label(g, "waiting"), queue.waiters);
  }
  return outcome;
}

}  // namespace canopy::test
