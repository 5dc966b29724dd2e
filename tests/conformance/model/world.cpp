#include "world.h"

#include <program/mismatch.h>
#include "index_kind.h"
#include "index_walk.h"
#include "page_lists.h"
#include "plugins.h"
#include "whole_check.h"

#include <canopy/helpers/prefix_print.h>
#include <program/counts.h>

#include <algorithm>

namespace canopy::test {

namespace {

/// Returns the groups for the index; if the world has none, one that needs the whole path.
std::vector<Part> parts_of(const WorldConfig& config) {
  if (config.words_are_pages && config.overlap > 0) disagree("words=pages is for keys without an overlap");
  std::vector<Part> parts;
  for (const GroupSettings& group :
       config.groups.empty() ? std::vector<GroupSettings>{{"full", kWholePath, 0, ""}} : config.groups) {
    Part& part = parts.emplace_back();
    part.name = group.name;
    part.reach = group.reach;
    if (config.words_are_pages && group.reach != kWholePath) part.reach *= config.page_size;
    part.capacity = group.capacity ? group.capacity : config.capacity;
    part.policy_name = group.policy.empty() ? config.policy : group.policy;
    part.allocator = make<SlotAllocator>(config.allocator, {});
    part.allocator->offer({0, part.capacity + 1});
    for (auto& policy : part.policies) policy = make<EvictionStrategy>(part.policy_name, {}, config.policy_options);
  }
  return parts;
}

std::vector<Units> reaches_of(const std::vector<Part>& parts) {
  std::vector<Units> reaches;
  for (const Part& part : parts) reaches.push_back(part.reach);
  return reaches;
}

/// Returns false for an index that keeps nothing, which is allowed ("cache off").
bool keeps_what_it_is_given(const WorldConfig& config, const PrefixIndex::Context& context) {
  const auto index = make<PrefixIndex>(config.index, context, config.options);
  const std::vector<std::uint32_t> words(context.page_size + context.overlap, 1);
  const std::array<Page, 1> page{1};
  GroupPages pages;
  for (std::size_t g = 0; g < context.groups.size(); ++g) pages[g] = page;
  return index->insert({}, {NamespaceId::shared, words}, pages, {}).lock.length > 0;
}

}  // namespace

void Coverage::add(const Coverage& other) {
  const std::uint64_t most = std::max(most_nodes, other.most_nodes);
  program::add_counts(*this, other);
  most_nodes = most;
}

World::World(const WorldConfig& config)
    : config_(config), parts_(parts_of(config)), flat_(config.page_size, reaches_of(parts_)) {
  std::vector<Group> groups;
  for (const Part& part : parts_)
    groups.push_back(
        {part.name.c_str(), part.reach, std::uint64_t{part.capacity} * config.page_size, part.policies[0].get()});
  const PrefixIndex::Context context{config.page_size, config.overlap, groups};
  index_ = make<PrefixIndex>(config.index, context, config.options);
  tenants_ = index_->tenants();
  remembers_ = keeps_what_it_is_given(config, context);
  // VictimOrder counts uses as Canopy does.
  const bool counts_as_sglang = config.options.find("sglang") != std::string::npos;
  if (parts_.size() > 1 || parts_[0].reach != kWholePath || counts_as_sglang) return;
  if (remembers_ && !kind_of(config.index, config.options).tree) return;
  order_.emplace(parts_[0].policy_name);
}

Outcome World::apply(const Operation& operation) {
  const auto group = group_in(config_, operation.group);
  if (!group) return {};
  Outcome outcome = run(operation, *group);
  ++coverage_.operations;
  check_sums();
  if (coverage_.operations % config_.walk_every == 0) check_whole();
  return outcome;
}

Outcome World::run(const Operation& operation, std::size_t group) {
  switch (operation.verb) {
    case Verb::match:
      return match(operation);
    case Verb::insert:
      return insert(operation);
    case Verb::release:
      return release(operation);
    case Verb::evict:
      if (!operation.of) return evict(group, operation.number());
      if (!has(*operation.of)) return {};
      return evict(group, operation.number(), operation.of,
                   operation.most.value_or(std::numeric_limits<std::uint32_t>::max()));
    case Verb::flush:
      return flush(operation.space);
    case Verb::clear:
      return clear();
    case Verb::peek:
      return peek(key_of(operation));
    case Verb::own:
      return own(operation, group);
    case Verb::find:
      return find(operation);
    case Verb::hold:
      return hold(operation);
    case Verb::drop:
      return drop(operation.name);
    case Verb::relax:
      return relax(operation, group);
    case Verb::remap:
      return remap(group, operation.number());
    case Verb::policy:
      return replace_policy(operation, group);
    case Verb::state:
      return state();
    case Verb::assign:
      return assign(operation.space, operation.of.value_or(TenantId::unnamed));
    case Verb::keep:
      return keep_path(operation.name);
    case Verb::unkeep:
      return unkeep_path(operation.name);
    case Verb::tree: {
      std::vector<std::string> names;
      for (const Part& part : parts_) names.push_back(part.name);
      return {{"tree", shape_of(*index_, names, meant(1))}};
    }
    default:
      disagree("an index has no such operation: {}", text_of(operation));
  }
}

void World::finish() {
  for (auto& [name, receipt] : receipts_)
    if (receipt.state == LockState::held) let_go(receipt, Ending::aborted);
  while (!owned_.empty()) drop(owned_.begin()->first);
  check_sums();
  check_whole();
  for (std::size_t g = 0; g < parts_.size(); ++g) evict(g, parts_[g].capacity);
  check_sums();
  expect_equal("nodes when all is released and evicted", index_->use().nodes, std::uint64_t{0});
  for (const Part& part : parts_)
    expect_equal((part.name + ": pages free when all is released and evicted").c_str(),
                 part.allocator->occupancy().free, std::uint64_t{part.capacity});
}

std::string World::label(std::size_t group, const char* what) const {
  return config_.groups.empty() ? what : parts_[group].name + "." + what;
}

Units World::in_units(std::uint64_t units) const { return static_cast<Units>(units / meant(1)); }

Units World::meant(std::uint64_t depth) const {
  return static_cast<Units>(config_.words_are_pages ? depth * config_.page_size : depth);
}

void World::no_such(const char* what, const std::string& name) const {
  if (config_.scenario) disagree("there is no {} called '{}'", what, name);
}

World::Receipts::iterator World::receipt(const std::string& name) {
  const auto found = receipts_.find(name);
  if (found == receipts_.end()) no_such("lock", name);
  return found;
}

std::optional<std::vector<Page>> World::obtain(std::size_t group, std::size_t count) {
  SlotAllocator& allocator = *parts_[group].allocator;
  std::vector<Page> pages(count);
  const std::uint64_t free = allocator.occupancy().free;
  if (allocator.allocate(pages)) {
    if (count > free) disagree("the allocator gave {} pages when {} were free", count, free);
    return pages;
  }
  if (count <= free) disagree("the allocator refused {} pages when {} were free", count, free);
  expect_equal("free pages after a refusal", allocator.occupancy().free, free);
  evict(group, count - free);
  if (allocator.allocate(pages)) return pages;
  return {};
}

std::optional<World::Brought> World::obtain(const Operation& operation, std::size_t below, std::size_t end) {
  Brought brought;
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    const auto from = operation.from.find(parts_[g].name);
    const Units depth = from == operation.from.end() ? 0 : meant(from->second);
    if (depth % config_.page_size != 0) disagree("{}.from={} is inside a page", parts_[g].name, from->second);
    const std::size_t start = std::clamp<std::size_t>(depth / config_.page_size, below, end);
    const auto pages = obtain(g, end - start);
    if (!pages) {
      for (std::size_t other = 0; other < g; ++other) give_back(other, brought[other]);
      return {};
    }
    brought[g].assign(start - below, 0);
    brought[g].insert(brought[g].end(), pages->begin(), pages->end());
  }
  return brought;
}

void World::give_back(std::size_t group, std::span<const Page> pages) {
  std::vector<Page> out = copied(pages);
  std::erase(out, Page{0});
  if (!parts_[group].allocator->free(out))
    disagree("the allocator of {} refused to free [{}]", parts_[group].name, fmt::join(out, " "));
}

void World::give_back(const GroupPages& pages) {
  for (std::size_t g = 0; g < parts_.size(); ++g) give_back(g, pages[g]);
}

void World::keep(const std::string& name, Receipt receipt) {
  if (name.empty()) return let_go(receipt, Ending::aborted);
  const auto found = receipts_.find(name);
  if (found != receipts_.end() && found->second.state == LockState::held) let_go(found->second, Ending::aborted);
  receipts_[name] = std::move(receipt);
}

void World::let_go(Receipt& receipt, Ending ending) {
  while (receipt.kept > 0) undo_keep(receipt);
  RequestFacts facts;
  facts.space = receipt.space;
  facts.matched = receipt.lock.length;
  facts.id = receipt.request;
  facts.ending = ending;
  const GroupPages left = index_->release(receipt.lock, receipt.request ? &facts : nullptr);
  flat_.unlock(receipt.hold);
  if (order_) order_->unlock(receipt.hold.chain);
  take_out(left);
  receipt.state = LockState::released;
}

RequestFacts World::facts_of(const Key& key) {
  RequestFacts facts;
  facts.space = key.space;
  facts.prompt = static_cast<std::uint32_t>(key.words.size());
  facts.id = ++requests_;
  prints_.clear();
  std::uint64_t print = first_print(key.space);
  for (std::size_t end = kPrintStride; end <= key.words.size(); end += kPrintStride)
    prints_.push_back(print = next_print(print, key.words.data() + end - kPrintStride));
  bool read = parts_[0].policies[0]->reads_prints() != Prints::none;
  for (const auto& [tenant, policy] : parts_[0].own) read |= policy.second->reads_prints() != Prints::none;
  if (read) facts.prefix_prints = prints_;
  return facts;
}

void World::check_lock(const Receipt& receipt, Outcome& outcome) {
  const Chain& chain = receipt.hold.chain;
  const Lock& lock = receipt.lock;
  expect_equal("units under a lock", std::size_t{lock.length}, chain.size() * config_.page_size);
  if ((lock.id == LockId::none) != chain.empty()) disagree("a lock of {} units names the wrong node", lock.length);
  const GroupPages shown = index_->pages(lock);
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    const std::size_t from = receipt.hold.from[g];
    expect_equal("depth at which a lock begins to hold", std::size_t{lock.from[g]}, from * config_.page_size);
    const std::vector<Page> pages = flat_.pages(receipt.hold, g);
    expect_same_pages("pages under a lock", copied(shown[g]), pages);
    for (std::size_t i = 0; i < pages.size(); ++i)
      coverage_.tombstones += pages[i] == 0 && flat_.find(chain[i])->pages[g] == 0;
    if (!config_.scenario) continue;
    outcome.emplace_back(label(g, "from"), in_units(lock.from[g]));
    outcome.emplace_back(label(g, "pages"), list_of(pages));
  }
}

void World::check_sums() {
  const auto compare = [&](const char* what, const Sizes& came, const Sizes& model) {
    if (came.evictable == model.evictable * config_.page_size &&
        came.protected_ == model.protected_ * config_.page_size)
      return;
    disagree("units of {}: expected {} evictable and {} protected, got {} and {}", what,
             model.evictable * config_.page_size, model.protected_ * config_.page_size, came.evictable,
             came.protected_);
  };
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    const Sizes sizes = index_->sizes(g);
    compare("a group", sizes, flat_.sizes(g));
    for (std::uint32_t i = 0; i < config_.namespaces; ++i)
      compare("a namespace", index_->sizes(g, static_cast<NamespaceId>(i)),
              flat_.sizes(g, static_cast<NamespaceId>(i)));
    for (std::uint32_t i = 0; i <= config_.tenants && !had_namespaces_.empty(); ++i)
      compare("a tenant", tenants_->sizes(g, static_cast<TenantId>(i)), flat_.sizes(g, static_cast<TenantId>(i)));
    const Occupancy occupancy = parts_[g].allocator->occupancy();
    expect_equal("pages of the pool", occupancy.capacity, std::uint64_t{parts_[g].capacity});
    const std::uint64_t resident = (sizes.evictable + sizes.protected_) / config_.page_size;
    expect_equal("free + evictable + protected + owned pages", occupancy.free + resident + parts_[g].owned,
                 occupancy.capacity);
  }
  const IndexUse use = index_->use();
  if (order_) {
    expect_equal("nodes", use.nodes, std::uint64_t{order_->segments()});
    coverage_.splits = order_->splits();
  }
  expect_equal("locks that were refused", use.refused, coverage_.refused_locks);
  coverage_.unusable = flat_.removed_unusable();
  coverage_.most_nodes = std::max(coverage_.most_nodes, use.nodes);
}

void World::check_whole() {
  ++coverage_.walks;
  test::check_whole(*index_, had_namespaces_.empty() ? nullptr : tenants_, parts_, flat_, order_ ? &*order_ : nullptr,
                    config_);
}

}  // namespace canopy::test
