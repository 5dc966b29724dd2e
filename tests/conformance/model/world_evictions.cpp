/// Evictions, and the tenants that they are from.
#include "page_lists.h"
#include "plugins.h"
#include "world.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace canopy::test {

/// Compares the evicted nodes that an index reports with the model, which has them until the eviction has ended.
class World::LeavingNodes final : public LeavingVisitor {
 public:
  LeavingNodes(const World& world, std::size_t group, std::optional<TenantId> of)
      : world_(world), group_(group), of_(of) {}

  void leaving(const Leaving& node) override {
    const Chain chain = chain_of({node.facts.space, node.words}, world_.config_.page_size, world_.config_.overlap);
    const std::size_t units = node.words.size() - world_.config_.overlap;
    if (chain.size() * world_.config_.page_size != units || units != node.facts.begin + node.facts.length)
      disagree("an evicted node of {} units from depth {} has {} words on its path", node.facts.length,
               node.facts.begin, node.words.size());
    for (std::size_t g = 0; g < world_.parts_.size(); ++g) {
      if (node.pages[g].size() != chain.size())
        disagree("{} pages are reported for a path of {}", node.pages[g].size(), chain.size());
      for (std::size_t i = 0; i < chain.size(); ++i) {
        const FlatIndex::Entry* entry = world_.flat_.find(chain[i]);
        const Page page = node.pages[g][i];
        const bool may_have_left = page == 0 && names_.contains(chain[i]);
        if (!entry || (entry->pages[g] != page && !may_have_left))
          disagree("page {} of an evicted path is reported as {}", i, page);
        if (page != 0) reported_[g].insert(page);
      }
    }
    ends_.push_back(node.pages[group_].back());
    nodes_.push_back(node.facts.id);
    units_ += node.facts.length;
    if (of_ && world_.flat_.tenant_of(node.facts.space) != *of_)
      disagree("a node of another tenant is evicted, at slot {}", slot_of(node.facts.id));
    names_.insert(chain.begin(), chain.end());
  }

  /// Returns the units that the eviction selected: dead leaves are not among them.
  std::uint64_t units() const { return units_; }
  const std::vector<NodeId>& nodes() const { return nodes_; }

  /// Checks that every page that left was reported, and that the last page of each reported node has left.
  void check(const GroupPages& left) const {
    for (std::size_t g = 0; world_.remembers_ && g < world_.parts_.size(); ++g)
      for (const Page page : left[g])
        if (!reported_[g].contains(page)) disagree("page {} left, but its path was not reported", page);
    for (const Page end : ends_)
      if (std::find(left[group_].begin(), left[group_].end(), end) == left[group_].end())
        disagree("page {} was reported as evicted, but stayed", end);
  }

 private:
  const World& world_;
  std::size_t group_;
  std::optional<TenantId> of_;
  FlatIndex::PerGroup<std::set<Page>> reported_;
  std::set<PrefixName> names_;
  std::vector<Page> ends_;
  std::vector<NodeId> nodes_;
  std::uint64_t units_ = 0;
};

std::optional<NodeId> World::first_victim(std::size_t group, std::optional<TenantId> of) const {
  struct First final : QueueVisitor {
    const World& world;
    std::size_t group;
    std::optional<TenantId> of;
    std::optional<std::tuple<Rank, Units, std::uint32_t>> first;  ///< rank, depth in a window, slot
    NodeId node{};
    bool known = true;
    First(const World& all, std::size_t g, std::optional<TenantId> tenant) : world(all), group(g), of(tenant) {}
    void waiting(const NodeFacts& facts, Rank rank) override {
      const TenantId tenant = world.flat_.tenant_of(facts.space);
      if (of && tenant != *of) return;
      known &= has_known_order(world.parts_[group].policy_name_of(tenant));
      const Units depth = world.parts_[group].reach == kWholePath ? 0 : facts.begin;
      const std::tuple place(rank, depth, slot_of(facts.id));
      if (!first || place < *first) first = place, node = facts.id;
    }
  } queue(*this, group, of);
  index_->waiting(group, queue);
  return queue.known && queue.first ? std::optional(queue.node) : std::nullopt;
}

Outcome World::evict(std::size_t group, std::size_t count, std::optional<TenantId> of, std::size_t most) {
  const std::uint64_t could = (of ? tenants_->sizes(group, *of) : index_->sizes(group)).evictable / config_.page_size;
  LeavingNodes leaving(*this, group, of);
  const bool reports = count % 3 == 0;  // without a visitor the same pages must leave
  LeavingVisitor* const visitor = reports ? &leaving : nullptr;
  const auto first = reports && !had_namespaces_.empty() ? first_victim(group, of) : std::nullopt;
  const GroupPages left = of ? tenants_->evict(*of, group, count, most, Cause::ceiling, visitor)
                             : index_->evict(group, count, Cause::room, visitor);
  if (reports) {
    leaving.check(left);
    if (first && !leaving.nodes().empty() && leaving.nodes().front() != *first)
      disagree("slot {} is evicted first, but slot {} has the least rank", slot_of(leaving.nodes().front()),
               slot_of(*first));
    if (leaving.units() > std::uint64_t{most} * config_.page_size)
      disagree("an eviction of at most {} pages selected nodes of {} units", most, leaving.units());
  }
  const std::size_t pages = left[group].size();
  if (pages < std::min<std::uint64_t>({count, most, could}))
    disagree("an eviction of {} pages, at most {}, freed {}, {} were evictable", count, most, pages, could);
  coverage_.left_of_tenant += of ? pages : 0;
  Outcome outcome{{"pages", pages}};
  for (std::size_t g = 0; g < parts_.size() && config_.scenario; ++g) {
    std::vector<std::uint32_t> words;
    for (const Page page : left[g]) words.push_back(in_units(flat_.find(flat_.name_of_page(g, page))->word));
    outcome.emplace_back(label(g, "left"), list_of(words));
  }
  if (order_) {
    outcome.emplace_back("nodes", check_victims(count, copied(left[0]), of, most));
    return outcome;
  }
  const std::uint64_t selected = pages - take_out(left, group);
  if (selected > most) disagree("an eviction of at most {} pages freed {} besides dead leaves", most, selected);
  return outcome;
}

std::uint64_t World::check_victims(std::size_t wanted, const std::vector<Page>& pages, std::optional<TenantId> of,
                                   std::size_t most) {
  const auto page_of = [&](PrefixName name) { return flat_.find(name)->pages[0]; };
  std::vector<PrefixName> parents;
  std::size_t freed = 0;
  std::uint64_t nodes = 0;
  while (freed < std::min(wanted, most)) {
    const auto candidates = order_->next(of);
    if (candidates.empty()) break;
    // A segment that is longer than the rest of `most` stays but for its end.
    const auto stays = [&](const std::vector<PrefixName>& segment) {
      return segment.size() - std::min(segment.size(), most - freed);
    };
    const std::vector<PrefixName>* victim = &candidates.front();
    for (const auto& candidate : candidates)
      if (freed < pages.size() && page_of(candidate[stays(candidate)]) == pages[freed]) victim = &candidate;
    const std::span leaving = std::span(*victim).subspan(stays(*victim));
    if (leaving.size() < victim->size()) order_->cut((*victim)[stays(*victim) - 1]), ++coverage_.cuts;
    std::vector<Page> expected;
    for (const PrefixName name : leaving) expected.push_back(page_of(name));
    const std::size_t end = std::min(freed + expected.size(), pages.size());
    const std::vector<Page> came(pages.begin() + static_cast<std::ptrdiff_t>(std::min(freed, end)),
                                 pages.begin() + static_cast<std::ptrdiff_t>(end));
    expect_same_pages(fmt::format("leaf {} of an eviction of {}", nodes, wanted).c_str(), came, expected);
    coverage_.left_as_new_leaf += std::ranges::find(parents, leaving.back()) != parents.end();
    parents.push_back(order_->before(leaving.front()));
    for (auto name = leaving.rbegin(); name != leaving.rend(); ++name)
      flat_.remove(0, page_of(*name)), order_->forget(*name);
    freed = end;
    ++nodes;
  }
  expect_equal("pages that an eviction freed", pages.size(), freed);
  coverage_.left += nodes;
  if (flat_.sizes(0).protected_ > 0) coverage_.left_beside_locks += nodes;
  flat_.check_removed();
  lose_sight();
  give_back(0, pages);
  return nodes;
}

std::uint64_t World::take_out(const GroupPages& left, std::size_t group) {
  std::uint64_t dead = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::size_t g = (group + i) % parts_.size();
    const std::uint64_t before = flat_.removed_unusable();
    for (const Page page : left[g]) flat_.remove(g, page);
    if (i == 0) dead = flat_.removed_unusable() - before;
    coverage_.left += left[g].size();
    if (flat_.sizes(g).protected_ > 0) coverage_.left_beside_locks += left[g].size();
  }
  flat_.check_removed();
  lose_sight();
  give_back(left);
  return dead;
}

Outcome World::assign(NamespaceId space, TenantId tenant) {
  if (!tenants_) return {};
  if (!tenants_->assign(space, tenant)) disagree("an assignment was refused");
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    const Sizes sizes = flat_.sizes(g, space);
    coverage_.moved += flat_.tenant_of(space) != tenant && sizes.evictable + sizes.protected_ > 0;
  }
  flat_.assign(space, tenant);
  if (order_) order_->assign(space, tenant);
  had_namespaces_.insert(tenant);
  return {};
}

Outcome World::replace_policy(const Operation& operation, std::size_t group) {
  Part& part = parts_[group];
  if (!operation.of) {
    if (index_->use_policy(group, part.policies[part.policy ^ 1].get())) part.policy ^= 1;
    return {};
  }
  if (!has(*operation.of)) return {};
  // The policy that is replaced is destroyed after the call, so that an index that calls it again is caught.
  decltype(part.own)::mapped_type next;
  if (!operation.to.empty()) next = {operation.to, make<EvictionStrategy>(operation.to, {}, "{}")};
  tenants_->use_policy(group, *operation.of, next.second.get());
  if (next.second) part.own[*operation.of] = std::move(next);
  else part.own.erase(*operation.of);
  if (order_) order_->use_policy(*operation.of, operation.to.empty() ? std::nullopt : std::optional(operation.to));
  return {};
}

Outcome World::keep_path(const std::string& name) {
  const auto found = receipt(name);
  if (found == receipts_.end() || found->second.state != LockState::held || had_namespaces_.empty()) return {};
  Receipt& receipt = found->second;
  ++receipt.kept;
  const std::size_t added = flat_.keep(receipt.hold);
  coverage_.partly_kept += added > 0 && added < receipt.hold.chain.size();
  const Units units = tenants_->keep(receipt.lock);
  expect_equal("units that were not kept before", std::size_t{units}, added * config_.page_size);
  return {{"units", in_units(units)}};
}

Outcome World::unkeep_path(const std::string& name) {
  const auto found = receipt(name);
  if (found == receipts_.end() || found->second.kept == 0) return {};
  return {{"units", in_units(undo_keep(found->second))}};
}

std::uint64_t World::undo_keep(Receipt& receipt) {
  --receipt.kept;
  const Units units = tenants_->unkeep(receipt.lock);
  expect_equal("units that are no longer kept", std::size_t{units}, flat_.unkeep(receipt.hold) * config_.page_size);
  return units;
}

}  // namespace canopy::test
