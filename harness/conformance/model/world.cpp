#include "world.h"

#include "index_walk.h"
#include "mismatch.h"
#include "page_lists.h"
#include "plugins.h"

#include <algorithm>

namespace canopy::test {

namespace {

/// An index that keeps nothing is a legal one: "cache off".
bool keeps_what_it_is_given(const WorldConfig& config, const PrefixIndex::Context& context) {
  const auto index = make<PrefixIndex>(config.index, context, config.options);
  const std::vector<std::uint32_t> words(context.page_size + context.overlap, 1);
  const std::array<Page, 1> pages{1};
  return index->insert({}, {NamespaceId::shared, words}, {pages}, {}).lock.length > 0;
}

}  // namespace

void Coverage::add(const Coverage& other) {
  operations += other.operations, splits += other.splits, left += other.left;
  left_beside_locks += other.left_beside_locks, left_as_new_leaf += other.left_as_new_leaf;
  spare_pages += other.spare_pages, hits += other.hits, refused_locks += other.refused_locks;
  out_of_pages += other.out_of_pages, walks += other.walks;
  most_nodes = std::max(most_nodes, other.most_nodes);
}

World::World(const WorldConfig& config)
    : config_(config), allocator_(make<SlotAllocator>(config.allocator, {})), order_(order_of(config.policy)) {
  for (auto& policy : policies_) policy = make<EvictionStrategy>(config.policy, {});
  const std::array groups{
      Group{"full", kWholePath, std::uint64_t{config.capacity} * config.page_size, policies_[0].get()}};
  const PrefixIndex::Context context{config.page_size, config.overlap, groups};
  index_ = make<PrefixIndex>(config.index, context, config.options);
  remembers_ = keeps_what_it_is_given(config, context);
  allocator_->offer({0, config.capacity + 1});
}

Outcome World::apply(const Operation& operation) {
  if (!operation.group.empty() || !operation.from.empty()) disagree("this engine has one group, which needs no name");
  Outcome outcome;
  switch (operation.verb) {
    case Verb::match:
      outcome = match(operation);
      break;
    case Verb::insert:
      outcome = insert(operation);
      break;
    case Verb::release:
      outcome = release(operation);
      break;
    case Verb::evict:
      outcome = evict(operation.count);
      break;
    case Verb::flush:
      outcome = flush(operation.space);
      break;
    case Verb::clear:
      outcome = clear();
      break;
    case Verb::peek:
      outcome = peek(key_of(operation));
      break;
    case Verb::hold:
      outcome = hold(operation);
      break;
    case Verb::drop:
      outcome = drop(operation.name);
      break;
    case Verb::remap:
      outcome = remap(operation.count);
      break;
    case Verb::policy:
      index_->use_policy(0, policies_[policy_ ^= 1].get());
      break;
    case Verb::state:
      outcome = state();
      break;
    case Verb::tree:
      outcome = {{"tree", shape_of(*index_, {"full"}, 1)}};
      break;
    case Verb::relax:
      disagree("relax is for an engine with groups=");
  }
  ++coverage_.operations;
  check_sums();
  if (coverage_.operations % config_.walk_every == 0) {
    ++coverage_.walks;
    check_whole(*index_, *allocator_, *policies_[policy_], flat_, order_, config_);
  }
  return outcome;
}

void World::finish() {
  for (auto& [name, receipt] : receipts_)
    if (receipt.state == LockState::held) let_go(receipt, nullptr);
  while (!held_.empty()) drop(held_.begin()->first);
  check_whole(*index_, *allocator_, *policies_[policy_], flat_, order_, config_);
  evict(config_.capacity);
  check_sums();
  expect_equal("pages free when all is let go and evicted", allocator_->occupancy().free,
               std::uint64_t{config_.capacity});
}

Outcome World::state() {
  struct Count final : QueueVisitor {
    std::uint64_t waiters = 0;
    void waiting(const NodeFacts&, Rank) override { ++waiters; }
  } queue;
  index_->waiting(0, queue);
  const Sizes sizes = index_->sizes(0);
  return {{"evictable", sizes.evictable}, {"protected", sizes.protected_},        {"nodes", index_->use().nodes},
          {"waiting", queue.waiters},     {"free", allocator_->occupancy().free}, {"refused", index_->use().refused}};
}

std::vector<Page> World::obtain(std::size_t count) {
  std::vector<Page> pages(count);
  const std::uint64_t free = allocator_->occupancy().free;
  if (allocator_->allocate(pages)) {
    if (count > free) disagree("the allocator gave {} pages when {} were free", count, free);
    return pages;
  }
  if (count <= free) disagree("the allocator refused {} pages when {} were free", count, free);
  expect_equal("free pages after a refusal", allocator_->occupancy().free, free);
  evict(count - free);
  if (allocator_->allocate(pages)) return pages;
  return {};
}

void World::give_back(std::span<const Page> pages) {
  if (!allocator_->free(pages)) disagree("the allocator would not take back [{}]", fmt::join(pages, " "));
}

void World::keep(const std::string& name, Receipt receipt) {
  if (name.empty()) return let_go(receipt, nullptr);
  const auto found = receipts_.find(name);
  if (found != receipts_.end() && found->second.state == LockState::held) let_go(found->second, nullptr);
  receipts_[name] = std::move(receipt);
}

void World::let_go(Receipt& receipt, const RequestFacts* finished) {
  index_->release(receipt.lock, finished);
  flat_.unlock(receipt.chain);
  order_.unlock(receipt.chain);
  receipt.state = LockState::let_go;
}

void World::check_lock(const Lock& lock, ChainView chain) {
  expect_equal("units under a lock", std::size_t{lock.length}, chain.size() * config_.page_size);
  if ((lock.node == NodeId::none) != chain.empty()) disagree("a lock of {} units names the wrong node", lock.length);
  expect_equal("depth at which a whole path's hold begins", lock.from[0], Units{0});
  expect_same_pages("pages under a lock", copied(index_->pages(lock)[0]), flat_.pages(chain));
}

void World::check_sums() {
  const Sizes sizes = index_->sizes(0), model = flat_.sizes();
  expect_equal("evictable units", sizes.evictable, model.evictable * config_.page_size);
  expect_equal("protected units", sizes.protected_, model.protected_ * config_.page_size);
  for (std::uint32_t i = 0; i < config_.namespaces; ++i) {
    const auto space = static_cast<NamespaceId>(i);
    expect_equal("evictable units of a namespace", index_->sizes(0, space).evictable,
                 flat_.sizes(space).evictable * config_.page_size);
    expect_equal("protected units of a namespace", index_->sizes(0, space).protected_,
                 flat_.sizes(space).protected_ * config_.page_size);
  }
  const Occupancy occupancy = allocator_->occupancy();
  expect_equal("pages of the pool", occupancy.capacity, std::uint64_t{config_.capacity});
  const std::uint64_t resident = (sizes.evictable + sizes.protected_) / config_.page_size;
  expect_equal("free + evictable + protected + held pages", occupancy.free + resident + held_pages_,
               occupancy.capacity);
  const IndexUse use = index_->use();
  expect_equal("nodes", use.nodes, std::uint64_t{order_.segments()});
  expect_equal("locks that were refused", use.refused, coverage_.refused_locks);
  coverage_.splits = order_.splits();
  coverage_.most_nodes = std::max(coverage_.most_nodes, use.nodes);
}

}  // namespace canopy::test
