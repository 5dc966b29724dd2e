#include "group_world.h"

#include <conformance/model/index_walk.h>
#include <conformance/model/line_words.h>
#include <conformance/model/mismatch.h>
#include <conformance/model/page_lists.h>
#include <conformance/model/plugins.h>

#include <algorithm>

namespace canopy::test {

namespace {

std::vector<Units> reaches_of(const WorldConfig& config) {
  std::vector<Units> reaches;
  const Units scale = config.words_are_pages ? config.page_size : 1;
  for (const GroupSettings& group : config.groups)
    reaches.push_back(group.reach == kWholePath ? kWholePath : group.reach * scale);
  return reaches;
}

/// Where every page is: by group, the first word of each page that the index has.
std::array<std::map<Page, std::uint32_t>, kMaxGroups> words_of_pages(const PrefixIndex& index, Units page_size) {
  struct Words final : NodeVisitor {
    Units page_size = 1;
    std::array<std::map<Page, std::uint32_t>, kMaxGroups> all;
    void node(const NodeView& node) override {
      for (std::size_t g = 0; g < kMaxGroups; ++g)
        for (std::size_t i = 0; i < node.pages[g].size(); ++i) all[g][node.pages[g][i]] = node.words[i * page_size];
    }
  } words;
  words.page_size = page_size;
  index.visit(words);
  return std::move(words.all);
}

}  // namespace

GroupWorld::GroupWorld(const WorldConfig& config)
    : config_(config), model_(config.page_size, reaches_of(config), config.overlap) {
  if (config.words_are_pages && config.overlap > 0) disagree("words=pages is for keys without an overlap");
  if (config.namespaces > 1) disagree("namespaces are for an engine without groups=");
  const auto reaches = reaches_of(config);
  std::vector<Group> groups;
  parts_.reserve(config.groups.size());  // the index keeps pointers to their names
  for (const GroupSettings& settings : config.groups) {
    Part& part = parts_.emplace_back();
    part.name = settings.name;
    part.capacity = settings.capacity ? settings.capacity : config.capacity;
    part.allocator = make<SlotAllocator>(config.allocator, {});
    part.allocator->offer({0, part.capacity + 1});
    part.policy = make<EvictionStrategy>(settings.policy.empty() ? config.policy : settings.policy, {});
    groups.push_back({part.name.c_str(), reaches[groups.size()], std::uint64_t{part.capacity} * config.page_size,
                      part.policy.get()});
  }
  index_ = make<PrefixIndex>(config.index, {config.page_size, config.overlap, groups}, config.options);
}

Outcome GroupWorld::apply(std::string_view line) {
  Operation operation = operation_from(line);
  if (operation.space != NamespaceId::shared) disagree("namespaces are for an engine without groups=");
  operation.words = words_in(config_, operation.words);
  Outcome outcome;
  switch (operation.verb) {
    case Verb::match:
      outcome = match(operation);
      break;
    case Verb::insert:
      outcome = insert(operation);
      break;
    case Verb::release:
      outcome = release(operation.name);
      break;
    case Verb::evict:
      if (const auto of = group(operation.group)) outcome = evict(*of, operation.count);
      break;
    case Verb::relax:
      outcome = relax(operation);
      break;
    case Verb::flush:
      outcome = take_out(index_->flush(NamespaceId::shared));
      break;
    case Verb::peek:
      outcome = peek(operation);
      break;
    case Verb::state:
      outcome = state();
      break;
    case Verb::tree: {
      std::vector<std::string> names;
      for (const Part& part : parts_) names.push_back(part.name);
      outcome = {{"tree", shape_of(*index_, names, config_.words_are_pages ? config_.page_size : 1)}};
      break;
    }
    default:
      disagree("'{}' is for an engine without groups=", split(line).front());
  }
  check();
  return outcome;
}

void GroupWorld::finish() {
  while (!receipts_.empty()) let_go(receipts_.begin()->first);
  check();
  for (std::size_t g = 0; g < parts_.size(); ++g) take_out(index_->evict(g, parts_[g].capacity));
  check();
  expect_equal("nodes when all is let go and evicted", index_->use().nodes, std::uint64_t{0});
  for (const Part& part : parts_)
    expect_equal(fmt::format("{}: pages free when all is let go and evicted", part.name).c_str(),
                 part.allocator->occupancy().free, std::uint64_t{part.capacity});
}

std::optional<std::size_t> GroupWorld::group(const std::string& name) const {
  if (name.empty()) return 0;
  for (std::size_t g = 0; g < parts_.size(); ++g)
    if (parts_[g].name == name) return g;
  if (std::ranges::find(config_.other_groups, name) == config_.other_groups.end())
    disagree("'{}' is no group of this engine", name);
  return {};
}

GroupWorld::Receipt& GroupWorld::held(const std::string& name) {
  const auto found = receipts_.find(name);
  if (found == receipts_.end()) disagree("there is no lock called '{}'", name);
  return found->second;
}

/// A lock that is given no name is let go at once.
void GroupWorld::keep(const std::string& name, const Lock& lock, GroupModel::Chain chain) {
  if (receipts_.contains(name)) let_go(name);
  receipts_[name] = {lock, next_};
  model_.locks[next_++] = {std::move(chain), {}};
}

void GroupWorld::let_go(const std::string& name) {
  const Receipt receipt = held(name);
  receipts_.erase(name);
  model_.locks.erase(receipt.number);
  index_->release(receipt.lock);
}

Outcome GroupWorld::match(const Operation& operation) {
  const Key key{NamespaceId::shared, operation.words};
  GroupModel::Chain chain = GroupModel::units_of(operation.words, config_.overlap);
  const Units expected = model_.match(chain);
  const Probe probe = index_->peek(key);
  expect_equal("length that a peek found", probe.length, expected);
  std::array<std::uint64_t, kMaxGroups> before{};
  for (std::size_t g = 0; g < parts_.size(); ++g) before[g] = index_->sizes(g).protected_;
  const Lock lock = index_->match(key, {});
  expect_equal("units under a lock", lock.length, expected);
  for (std::size_t g = 0; g < parts_.size(); ++g)
    expect_equal(fmt::format("{}: units that a match protected, and a peek foretold", parts_[g].name).c_str(),
                 index_->sizes(g).protected_ - before[g], probe.evictable[g]);
  chain.resize(expected);
  keep(operation.as, lock, std::move(chain));
  Outcome outcome{{"length", told(lock.length)}};
  for (Answer& answer : shown(lock, model_.locks.at(held(operation.as).number))) outcome.push_back(std::move(answer));
  if (operation.as.empty()) let_go(operation.as);
  return outcome;
}

Outcome GroupWorld::shown(const Lock& lock, const GroupModel::Lock& expected) {
  Outcome outcome;
  const GroupPages pages = index_->pages(lock);
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    const Units from = lock.length ? model_.needed_from(expected, g) : 0;
    expect_equal(fmt::format("{}: depth at which a lock begins to hold", parts_[g].name).c_str(), lock.from[g], from);
    std::vector<Page> there;
    for (Units depth = 0; depth < lock.length; depth += config_.page_size)
      there.push_back(depth < from ? 0 : model_.page(expected.words, depth, g));
    expect_same_pages(fmt::format("{}: pages under a lock", parts_[g].name).c_str(), copied(pages[g]), there);
    outcome.emplace_back(parts_[g].name + ".from", told(from));
    outcome.emplace_back(parts_[g].name + ".pages", list_of(there));
  }
  return outcome;
}

/// Pages for [below, end) in every group, 0 where the operation brings none; nothing if some pool has too few even
/// after evicting what is missing.
std::optional<GroupWorld::Brought> GroupWorld::obtain(const Operation& operation, Units below, Units end) {
  Brought brought;
  bool fits = true;
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    const auto from = operation.from.find(parts_[g].name);
    const Units start = std::clamp(from == operation.from.end() ? 0 : meant(from->second), below, end);
    if (start % config_.page_size != 0) disagree("{}.from={} is inside a page", parts_[g].name, from->second);
    std::vector<Page> pages((end - start) / config_.page_size);
    const std::uint64_t free = parts_[g].allocator->occupancy().free;
    if (free < pages.size()) take_out(index_->evict(g, pages.size() - free));
    if (!parts_[g].allocator->allocate(pages)) pages.clear(), fits = false;
    brought[g].assign((start - below) / config_.page_size, 0);
    brought[g].insert(brought[g].end(), pages.begin(), pages.end());
  }
  if (fits) return brought;
  give_back({brought[0], brought[1], brought[2], brought[3]});
  return {};
}

Outcome GroupWorld::insert(const Operation& operation) {
  for (const auto& [name, from] : operation.from) group(name);
  GroupModel::Chain chain = GroupModel::units_of(operation.words, config_.overlap);
  const Receipt below = operation.name.empty() ? Receipt{} : held(operation.name);
  const Units from = below.lock.length, end = static_cast<Units>(chain.size()) / config_.page_size * config_.page_size;
  if (from > end) disagree("{} units are fewer than lie under '{}'", end, operation.name);
  chain.resize(end);
  if (below.number && !std::equal(chain.begin(), chain.begin() + from, model_.locks.at(below.number).words.begin()))
    disagree("the key does not begin with what lies under '{}'", operation.name);

  const auto brought = obtain(operation, from, end);
  if (!brought) return {{"refused", 1}};
  GroupPages spans;
  for (std::size_t g = 0; g < parts_.size(); ++g) spans[g] = (*brought)[g];
  const Units known = std::max(from, model_.known(chain));
  const Inserted result = index_->insert(below.lock, {NamespaceId::shared, operation.words}, spans,
                                         {operation.priority, operation.chunked});
  expect_equal("units that were there already", result.had, known);
  const auto spare = model_.insert(chain, from, end, *brought);
  Outcome outcome{{"had", told(result.had)}, {"refused", 0}};
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    expect_same_pages(fmt::format("{}: spare pages", parts_[g].name).c_str(), copied(result.spare[g]), spare[g]);
    outcome.emplace_back(parts_[g].name + ".spare", spare[g].size());
  }
  give_back(result.spare);
  // A leaf that would hold nothing in any group is not made, and what was brought ends before it.
  if (result.lock.length != std::max(known, model_.known(chain)))
    disagree("the lock after an insert is {} units long, and {} are there", result.lock.length, model_.known(chain));
  chain.resize(result.lock.length);
  if (below.number) {
    receipts_.erase(operation.name);
    model_.locks.erase(below.number);
  }
  keep(operation.as, result.lock, std::move(chain));
  outcome.emplace_back("length", told(result.lock.length));
  for (Answer& answer : shown(result.lock, model_.locks.at(held(operation.as).number)))
    outcome.push_back(std::move(answer));
  if (operation.as.empty()) let_go(operation.as);
  return outcome;
}

Outcome GroupWorld::release(const std::string& name) {
  let_go(name);
  return {{"refused", index_->use().refused}};
}

Outcome GroupWorld::relax(const Operation& operation) {
  const auto of = group(operation.group);
  if (!of) return {};
  Receipt& receipt = held(operation.name);
  index_->relax(receipt.lock, *of, meant(operation.count));
  model_.relax(receipt.number, *of, meant(operation.count));
  return shown(receipt.lock, model_.locks.at(receipt.number));
}

Outcome GroupWorld::evict(std::size_t group, std::size_t pages) {
  const std::uint64_t could = index_->sizes(group).evictable / config_.page_size;
  const auto words = words_of_pages(*index_, config_.page_size);
  const GroupPages left = index_->evict(group, pages);
  if (left[group].size() < std::min<std::uint64_t>(pages, could))
    disagree("an eviction of {} pages freed {}, {} were evictable", pages, left[group].size(), could);
  Outcome outcome{{"pages", left[group].size()}};
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    std::vector<std::uint32_t> gone;
    for (const Page page : left[g]) {
      const auto found = words[g].find(page);
      if (found == words[g].end()) disagree("page {} left group {}, where it was not", page, parts_[g].name);
      gone.push_back(told(found->second));
    }
    outcome.emplace_back(parts_[g].name + ".left", list_of(gone));
  }
  take_out(left);
  return outcome;
}

Outcome GroupWorld::peek(const Operation& operation) {
  const Probe probe = index_->peek({NamespaceId::shared, operation.words});
  expect_equal("length that a peek found", probe.length,
               model_.match(GroupModel::units_of(operation.words, config_.overlap)));
  Outcome outcome{{"length", told(probe.length)}};
  for (std::size_t g = 0; g < parts_.size(); ++g)
    outcome.emplace_back(parts_[g].name + ".evictable", told(static_cast<Units>(probe.evictable[g])));
  return outcome;
}

Outcome GroupWorld::state() const {
  struct Count final : QueueVisitor {
    std::uint64_t waiters = 0;
    void waiting(const NodeFacts&, Rank) override { ++waiters; }
  };
  Outcome outcome{{"nodes", index_->use().nodes}, {"refused", index_->use().refused}};
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    Count queue;
    index_->waiting(g, queue);
    const Sizes sizes = index_->sizes(g);
    outcome.emplace_back(parts_[g].name + ".evictable", told(static_cast<Units>(sizes.evictable)));
    outcome.emplace_back(parts_[g].name + ".protected", told(static_cast<Units>(sizes.protected_)));
    outcome.emplace_back(parts_[g].name + ".free", parts_[g].allocator->occupancy().free);
    outcome.emplace_back(parts_[g].name + ".waiting", queue.waiters);
  }
  return outcome;
}

void GroupWorld::give_back(const GroupPages& pages) {
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    std::vector<Page> out = copied(pages[g]);
    std::erase(out, Page{0});
    if (!parts_[g].allocator->free(out))
      disagree("the allocator of {} would not take back [{}]", parts_[g].name, fmt::join(out, " "));
  }
}

/// Pages that have left the index.
Outcome GroupWorld::take_out(const GroupPages& left) {
  Outcome outcome;
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    model_.left(g, left[g]);
    outcome.emplace_back(parts_[g].name + ".pages", left[g].size());
  }
  model_.check_shape();
  give_back(left);
  return outcome;
}

void GroupWorld::check() {
  model_.check(*index_);
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    const Sizes sizes = index_->sizes(g);
    expect_equal(fmt::format("{}: free + evictable + protected pages", parts_[g].name).c_str(),
                 parts_[g].allocator->occupancy().free + (sizes.evictable + sizes.protected_) / config_.page_size,
                 std::uint64_t{parts_[g].capacity});
  }
  expect_equal("locks that were refused", index_->use().refused, std::uint64_t{0});
}

}  // namespace canopy::test
