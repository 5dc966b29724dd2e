/// What each operation must answer, and what becomes of the models.
#include "page_lists.h"
#include "world.h"

#include <algorithm>

namespace canopy::test {

Outcome World::match(const Operation& operation) {
  const Key key = key_of(operation);
  peek(key);
  Chain chain = chain_of(key, config_.page_size, config_.overlap);
  chain.resize(flat_.matched(chain));
  RequestFacts facts;
  facts.space = operation.space;
  facts.priority = operation.priority;
  facts.prompt = static_cast<std::uint32_t>(operation.words.size());
  const Lock lock = index_->match(key, facts);
  order_.matched(chain);
  flat_.lock(chain);
  order_.lock(chain);
  coverage_.hits += !chain.empty();
  check_lock(lock, chain);
  const std::uint64_t length = lock.length;
  keep(operation.as, {lock, LockState::held, operation.space, std::move(chain)});
  return {{"length", length}};
}

Outcome World::insert(const Operation& operation) {
  Receipt below{{}, LockState::held, operation.space, {}};
  auto found = receipts_.end();
  if (!operation.name.empty()) {
    found = receipts_.find(operation.name);
    if (found == receipts_.end() || found->second.state == LockState::let_go) return {};
    if (found->second.state == LockState::forgotten) return insert_nowhere(operation, found->second.lock);
    below = found->second;
  }
  Chain chain = chain_of(key_of(operation), config_.page_size, config_.overlap);
  const std::size_t covered = below.chain.size();
  if (covered > chain.size() || !std::equal(below.chain.begin(), below.chain.end(), chain.begin())) return {};

  const std::vector<Page> pages = obtain(chain.size() - covered);
  if (pages.size() < chain.size() - covered) {
    ++coverage_.out_of_pages;
    return {{"refused", 1}};
  }
  const Inserted result =
      index_->insert(below.lock, key_of(operation), {pages}, {operation.priority, operation.chunked});
  const std::vector<Page> spare = copied(result.spare[0]);
  if (!remembers_) {
    expect_same_pages("spare pages of an index that keeps nothing", spare, {});
    give_back(pages);
    chain.clear();
  } else {
    const FlatIndex::Added added = flat_.insert(operation.space, chain, covered, pages);
    expect_equal("units that were there already", std::size_t{result.had}, added.had * config_.page_size);
    expect_same_pages("spare pages", spare, added.spare);
    order_.inserted(chain, added.had, operation.priority, !operation.chunked);
    flat_.unlock(below.chain), order_.unlock(below.chain);
    flat_.lock(chain), order_.lock(chain);
  }
  coverage_.spare_pages += spare.size();
  if (found != receipts_.end()) found->second.state = LockState::let_go;
  check_lock(result.lock, chain);
  give_back(spare);
  keep(operation.as, {result.lock, LockState::held, operation.space, std::move(chain)});
  return {{"had", result.had}, {"spare", spare.size()}, {"length", result.lock.length}, {"refused", 0}};
}

/// The lock was forgotten by clear(): nothing may change, and all pages stay the caller's.
Outcome World::insert_nowhere(const Operation& operation, const Lock& stale) {
  const auto units = operation.words.size() < config_.overlap ? 0 : operation.words.size() - config_.overlap;
  const std::size_t whole = units / config_.page_size;
  const std::size_t covered = stale.length / config_.page_size;
  if (stale.node == NodeId::none || whole < covered) return {};
  const std::vector<Page> pages = obtain(whole - covered);
  if (pages.size() < whole - covered) return {{"refused", 1}};
  ++coverage_.refused_locks;
  const Inserted result = index_->insert(stale, key_of(operation), {pages}, {operation.priority, operation.chunked});
  expect_equal("units under a stale lock after an insert", result.lock.length, stale.length);
  expect_same_pages("spare pages of an insert below a stale lock", copied(result.spare[0]), {});
  give_back(pages);
  return {{"refused", 1}};
}

Outcome World::release(const Operation& operation) {
  const auto found = receipts_.find(operation.name);
  if (found == receipts_.end()) return {};
  Receipt& receipt = found->second;
  if (receipt.state == LockState::held) {
    RequestFacts facts;
    facts.space = receipt.space;
    facts.matched = receipt.lock.length;
    let_go(receipt, operation.finished ? &facts : nullptr);
    return {{"refused", 0}};
  }
  if (receipt.lock.node == NodeId::none) {
    index_->release(receipt.lock);
    return {{"refused", 0}};
  }
  // A lock released twice is seen by its count, so not while another one covers the same pages: that duty is
  // the caller's.
  const FlatIndex::Entry* end = receipt.state == LockState::let_go ? flat_.find(receipt.chain.back()) : nullptr;
  if (end && end->locks > 0) return {};
  ++coverage_.refused_locks;
  index_->release(receipt.lock);
  return {{"refused", 1}};
}

Outcome World::evict(std::size_t count) {
  const std::vector<Page> pages = copied(index_->evict(0, count)[0]);
  std::vector<PrefixName> parents;
  std::size_t freed = 0;
  std::uint64_t nodes = 0;
  while (freed < count) {
    const auto candidates = order_.next();
    if (candidates.empty()) break;
    const std::vector<PrefixName>* victim = nullptr;
    for (const auto& candidate : candidates)
      if (freed < pages.size() && flat_.find(candidate.front())->page == pages[freed]) victim = &candidate;
    std::vector<Page> expected;
    for (const PrefixName name : victim ? *victim : candidates.front()) expected.push_back(flat_.find(name)->page);
    const std::size_t end = std::min(freed + expected.size(), pages.size());
    const std::vector<Page> came(pages.begin() + static_cast<std::ptrdiff_t>(std::min(freed, end)),
                                 pages.begin() + static_cast<std::ptrdiff_t>(end));
    expect_same_pages(fmt::format("leaf {} of an eviction of {}", nodes, count).c_str(), came, expected);
    coverage_.left_as_new_leaf += std::ranges::find(parents, victim->back()) != parents.end();
    parents.push_back(order_.before(victim->front()));
    for (auto name = victim->rbegin(); name != victim->rend(); ++name) flat_.forget(*name), order_.forget(*name);
    freed = end;
    ++nodes;
  }
  expect_equal("pages that an eviction freed", pages.size(), freed);
  coverage_.left += nodes;
  if (flat_.sizes().protected_ > 0) coverage_.left_beside_locks += nodes;
  give_back(pages);
  return {{"pages", pages.size()}, {"nodes", nodes}};
}

Outcome World::flush(NamespaceId space) {
  std::vector<Page> pages = copied(index_->flush(space)[0]);
  std::vector<Page> expected;
  for (const PrefixName name : flat_.all_unlocked(space)) {
    expected.push_back(flat_.find(name)->page);
    flat_.forget(name), order_.forget(name);
  }
  std::ranges::sort(pages), std::ranges::sort(expected);
  expect_same_pages("pages of a flush", pages, expected);
  give_back(pages);
  return {{"pages", pages.size()}};
}

Outcome World::clear() {
  std::vector<Page> pages = copied(index_->clear()[0]);
  std::vector<Page> expected;
  for (const PrefixName name : flat_.all()) expected.push_back(flat_.find(name)->page);
  std::ranges::sort(pages), std::ranges::sort(expected);
  expect_same_pages("pages of a clear", pages, expected);
  flat_ = {};
  order_.clear();
  for (auto& [name, receipt] : receipts_) {
    if (receipt.state != LockState::held) continue;
    receipt.state = LockState::forgotten;
  }
  give_back(pages);
  return {{"pages", pages.size()}};
}

Outcome World::peek(const Key& key) {
  const Chain chain = chain_of(key, config_.page_size, config_.overlap);
  const ChainView found(chain.data(), flat_.matched(chain));
  const Probe probe = index_->peek(key);
  expect_equal("length that a peek found", std::size_t{probe.length}, found.size() * config_.page_size);
  expect_equal("evictable units that a peek found", probe.evictable[0],
               std::uint64_t{flat_.unlocked(found)} * config_.page_size);
  return {{"length", probe.length}, {"evictable", probe.evictable[0]}};
}

Outcome World::hold(const Operation& operation) {
  if (held_.contains(operation.as)) return {};
  std::vector<Page> pages = obtain(operation.count);
  if (pages.size() < operation.count) return {{"refused", 1}};
  held_pages_ += pages.size();
  held_.emplace(operation.as, std::move(pages));
  return {{"refused", 0}};
}

Outcome World::drop(const std::string& name) {
  const auto found = held_.find(name);
  if (found == held_.end()) return {};
  held_pages_ -= found->second.size();
  give_back(found->second);
  held_.erase(found);
  return {};
}

Outcome World::remap(std::uint32_t count) {
  const std::vector<PrefixName> names = flat_.all_unlocked();
  const std::size_t moved = std::min({std::size_t{count}, names.size(), std::size_t{allocator_->occupancy().free}});
  std::vector<Page> from, to(moved);
  if (!allocator_->allocate(to)) disagree("the allocator refused {} pages that it calls free", moved);
  for (std::size_t i = 0; i < moved; ++i) {
    from.push_back(flat_.find(names[i])->page);
    flat_.rename(names[i], to[i]);
  }
  index_->remap(0, from, to);
  give_back(from);
  return {{"pages", moved}};
}

}  // namespace canopy::test
