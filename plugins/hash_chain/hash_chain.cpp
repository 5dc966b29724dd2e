// A block of the index is in the queue exactly while no lock holds it, and only then counts as evictable. A prefix
// stays while it has a block or children. So there can be blocks below a prefix without one, and a walk ends at that
// gap.

#include "hash_chain.h"

#include <canopy/plugin.h>

#include <algorithm>
#include <new>
#include <stdexcept>

namespace canopy::hash_chain {

bool is_least_recently_used(EvictionStrategy& policy) {
  std::uint64_t tags[2] = {};
  NodeFacts busy;
  busy.length = 1, busy.hits = 9, busy.inserts = 9, busy.priority = 9, busy.created = 1, busy.tag = &tags[0];
  NodeFacts idle;
  idle.length = 2, idle.begin = 1, idle.created = 2, idle.tag = &tags[1];
  busy.last_access = 3, idle.last_access = 4;
  const Rank earlier_busy = policy.rank(busy), later_idle = policy.rank(idle);
  busy.last_access = 4, idle.last_access = 3;
  const Rank earlier_idle = policy.rank(idle), later_busy = policy.rank(busy);
  return earlier_busy < later_idle && earlier_idle < later_busy;
}

void Config::visit(Options& options) {
  static constexpr const char* kNames[] = {"keep", "share"};
  options.choice("duplicates", duplicates, kNames, "a block computed twice: both stay, as in vLLM, or one is freed");
}

/// The prefixes that a table goes through, deepest first.
class HashChain::TablePath final : public Path {
 public:
  TablePath(HashChain& index, std::span<const Page> pages) : index_(index), left_(pages) {}
  bool next(NodeFacts& facts) override {
    if (left_.empty()) return false;
    facts = index_.facts(left_.back());
    left_ = left_.first(left_.size() - 1);
    return true;
  }

 private:
  HashChain& index_;
  std::span<const Page> left_;
};

HashChain::HashChain(const Config& config, const Context& context)
    : page_size_(context.page_size),
      overlap_(context.overlap),
      duplicates_(config.duplicates),
      policy_(nullptr),
      events_(context.events),
      capacity_(kUnlimited),
      prefixes_(std::size_t{context.page_size} + context.overlap) {
  const auto groups = context.groups;
  if (groups.size() != 1 || groups[0].reach != kWholePath)
    throw std::invalid_argument("it serves only one KV cache group, which must need the whole path");
  if (!is_least_recently_used(*groups[0].eviction))
    throw std::invalid_argument("it evicts in vLLM's order, so the group's policy must be lru");
  if (events_) events_->has_no_tree("hash_chain keeps blocks in a table, not in a tree");
  policy_ = groups[0].eviction;
  capacity_ = groups[0].capacity;
}

std::size_t HashChain::blocks_in(const Key& key) const {
  return key.words.size() <= overlap_ ? 0 : (key.words.size() - overlap_) / page_size_;
}

template <class Each>
void HashChain::walk(const Key& key, Each&& each) const {
  std::uint32_t prefix = 0;
  for (std::size_t i = 0, count = blocks_in(key); i < count; ++i) {
    prefix = prefixes_.find(prefix, key.space, words_of(key, i));
    if (prefix == 0 || prefixes_[prefix].first == 0) return;
    each(prefixes_[prefix].first);
  }
}

PolicyClock HashChain::clock() const { return {allocated_, sizes_.evictable + sizes_.protected_, capacity_, now_}; }

NodeFacts HashChain::facts(Page page) const {
  const std::uint32_t slot = blocks_[page].prefix;
  const Prefix& prefix = prefixes_[slot];
  NodeFacts facts;
  facts.id = prefix.first == page ? prefixes_.id(slot) : NodeId{page};
  facts.space = prefix.space;
  facts.begin = (prefix.depth - 1) * page_size_;
  facts.length = page_size_;
  facts.hits = prefix.hits;
  facts.inserts = prefix.inserts;
  facts.children = prefix.children;
  facts.priority = prefix.priority;
  facts.created = prefix.created;
  facts.last_access = blocks_[page].freed;
  facts.clock = clock();
  facts.tag = const_cast<std::uint64_t*>(&prefix.tag);  // the policy may write it
  facts.parent_tag = prefix.parent ? &prefixes_[prefix.parent].tag : nullptr;
  return facts;
}

Probe HashChain::peek(const Key& key) const {
  Probe probe;
  walk(key, [&](Page page) {
    probe.length += page_size_;
    if (blocks_[page].users == 0) probe.evictable[0] += page_size_;
  });
  probe.full_length = probe.length;
  return probe;
}

void HashChain::count(std::uint32_t prefix, std::int64_t evictable, std::int64_t held) {
  for (Sizes* sizes : {&sizes_, &by_space_[static_cast<std::size_t>(prefixes_[prefix].space)]}) {
    sizes->evictable += static_cast<std::uint64_t>(evictable * page_size_);
    sizes->protected_ += static_cast<std::uint64_t>(held * page_size_);
  }
}

void HashChain::use(Page page) {
  Block& block = blocks_[page];
  if (block.users++ > 0) return;
  blocks_.take_out(page);
  count(block.prefix, -1, +1);
}

void HashChain::unuse(Page page) {
  Block& block = blocks_[page];
  if (--block.users > 0) return;
  block.freed = now_;
  blocks_.append(page);
  count(block.prefix, +1, -1);
}

Lock HashChain::lock_of(std::uint32_t table, LockId id) {
  const std::vector<Page>& row = tables_.pages(table);
  Lock lock{id, prefixes_.id(blocks_[row.back()].prefix)};
  lock.length = lock.full_length = static_cast<Units>(row.size() * page_size_);
  return lock;
}

Lock HashChain::lock_path(bool hit) try {
  if (path_.empty()) return {};
  const std::uint32_t table = tables_.open(path_.size());
  tables_.pages(table).assign(path_.begin(), path_.end());
  for (const Page page : path_) {
    use(page);
    prefixes_[blocks_[page].prefix].hits += hit;
  }
  return lock_of(table, tables_.id(table));
} catch (const std::bad_alloc&) {
  return ++cut_short_, Lock{};
}

Lock HashChain::match(const Key& key, const RequestFacts& request) try {
  ++now_;
  policy_->arrived(request);
  path_.clear();
  walk(key, [&](Page page) { path_.push_back(page); });
  return lock_path(true);
} catch (const std::bad_alloc&) {
  return ++cut_short_, Lock{};
}

Found HashChain::find(const Key& key) {
  ++now_;
  Found found;
  walk(key, [&](Page page) {
    found.node = prefixes_.id(blocks_[page].prefix);
    found.length += page_size_;
  });
  found.full_length = found.length;
  return found;
}

Lock HashChain::hold(NodeId node, const RequestFacts* arrives) {
  ++now_;
  if (arrives) policy_->arrived(*arrives);
  pages(node, 0);
  return lock_path(arrives != nullptr);
}

GroupPages HashChain::pages(const Lock& lock, Units from) {
  const std::uint32_t table = tables_.find(lock.id);
  if (table == 0) return {};
  return {std::span<const Page>(tables_.pages(table)).subspan(from / page_size_)};
}

/// Returns the pages of a prefix from `from` on. Leaves all of them in `path_`, none if there is a gap.
GroupPages HashChain::pages(NodeId node, Units from) try {
  path_.clear();
  std::uint32_t prefix = prefixes_.slot(node);
  if (prefix == 0) return {};
  path_.resize(prefixes_[prefix].depth);
  for (; prefix != 0; prefix = prefixes_[prefix].parent) {
    path_[prefixes_[prefix].depth - 1] = prefixes_[prefix].first;
    if (prefixes_[prefix].first == 0) return path_.clear(), GroupPages{};
  }
  return {std::span<const Page>(path_).subspan(std::min<std::size_t>(from / page_size_, path_.size()))};
} catch (const std::bad_alloc&) {
  return ++cut_short_, GroupPages{};
}

void HashChain::add(Page page, std::uint32_t slot) {
  Prefix& prefix = prefixes_[slot];
  blocks_[page] = {.prefix = slot, .users = 1};
  (prefix.last ? blocks_[prefix.last].twin : prefix.first) = page;
  const bool is_new = prefix.last == 0;
  prefix.last = page;
  count(slot, 0, +1);
  if (is_new) report_added(slot);
}

Inserted HashChain::insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) try {
  ++now_;
  Inserted done;
  done.lock = lock;
  done.had = lock.length;
  std::uint32_t table = tables_.find(lock.id);
  if (table == 0 && lock.id != LockId::none) return ++refused_, done;
  const std::size_t start = lock.length / page_size_, whole = blocks_in(key);
  if (whole < start) return done;
  const auto brought = pages[0].first(std::min(pages[0].size(), whole - start));
  // All memory is taken first, so that the operation cannot fail halfway.
  prefixes_.reserve(brought.size());
  Page last = 0;
  for (const Page page : brought) last = std::max(last, page);
  blocks_.reach(last);
  given_back_.clear();
  if (given_back_.capacity() < blocks_.size()) given_back_.reserve(blocks_.room());  // an eviction may return all
  if (const auto space = static_cast<std::size_t>(key.space); !brought.empty() && space >= by_space_.size())
    by_space_.resize(space + 1);
  if (table == 0 && !brought.empty()) table = tables_.open(brought.size());
  if (table == 0) return done;
  std::vector<Page>& row = tables_.pages(table);
  row.reserve(start + brought.size());

  std::uint32_t prefix = start ? blocks_[row.back()].prefix : 0;
  for (const Page page : brought) {
    const auto words = words_of(key, row.size());
    std::uint32_t slot = prefixes_.find(prefix, key.space, words);
    const bool known = slot != 0 && prefixes_[slot].first != 0;
    if (known) done.had = static_cast<Units>((row.size() + 1) * page_size_);
    if (known && (page == 0 || duplicates_ == Duplicates::share)) {
      if (page != 0) given_back_.push_back(page);
      use(prefixes_[slot].first);
      row.push_back(prefixes_[slot].first);
    } else {
      if (page == 0 || blocks_.has(page)) break;  // nothing is resident, or the page is already in the index
      if (slot == 0) {
        slot = prefixes_.add(prefix, key.space, words);
        prefixes_[slot].created = now_;
        prefixes_[slot].priority = facts.priority;
      }
      add(page, slot);
      row.push_back(page);
      allocated_ += page_size_;
    }
    prefixes_[slot].priority = std::max(prefixes_[slot].priority, facts.priority);
    prefix = slot;
  }
  if (row.empty()) return tables_.close(table), done;
  ++prefixes_[prefix].inserts;
  done.lock = lock_of(table, tables_.renew(table));
  done.spare[0] = given_back_;
  return done;
} catch (const std::bad_alloc&) {
  Inserted nothing;
  nothing.lock = lock;
  nothing.had = lock.length;
  return ++cut_short_, nothing;
}

GroupPages HashChain::release(const Lock& lock, const RequestFacts* ended) {
  ++now_;
  const std::uint32_t table = tables_.find(lock.id);
  if (table == 0 && lock.id != LockId::none) return ++refused_, GroupPages{};
  const std::span<const Page> row = table ? std::span<const Page>(tables_.pages(table)) : std::span<const Page>();
  if (ended) {
    TablePath path(*this, row);
    policy_->ended(*ended, path);
  }
  for (auto page = row.rbegin(); page != row.rend(); ++page) unuse(*page);
  if (table) tables_.close(table);
  return {};
}

void HashChain::evict(Page page, Cause cause) {
  const std::uint32_t slot = blocks_[page].prefix;
  Prefix& prefix = prefixes_[slot];
  policy_->evicted(facts(page), {.cause = cause, .prefix_prints = {}});
  blocks_.take_out(page);
  Page* link = &prefix.first;
  Page before = 0;
  while (*link != page) before = *link, link = &blocks_[*link].twin;
  *link = blocks_[page].twin;
  if (prefix.last == page) prefix.last = before;
  count(slot, -1, 0);
  blocks_[page] = {};
  given_back_.push_back(page);
  if (prefix.first == 0) report_removed(slot);
  prefixes_.prune(slot);
}

void HashChain::report_leaving(Page page, LeavingVisitor& visitor) try {
  const std::uint32_t last = blocks_[page].prefix;
  const std::size_t depth = prefixes_[last].depth;
  path_.resize(depth);
  leaving_words_.resize(depth * page_size_ + overlap_);
  std::uint32_t slot = last;
  for (std::size_t block = depth; block-- > 0; slot = prefixes_[slot].parent) {
    path_[block] = slot == last ? page : prefixes_[slot].first;
    std::ranges::copy(prefixes_.words(slot), leaving_words_.begin() + static_cast<std::ptrdiff_t>(block * page_size_));
  }
  visitor.leaving({facts(page), leaving_words_, {path_}});
} catch (const std::bad_alloc&) {  // the visitor is not called for it
  ++cut_short_;
}

GroupPages HashChain::evict(std::size_t, std::size_t pages, Cause cause, LeavingVisitor* visitor) {
  ++now_;
  given_back_.clear();
  while (given_back_.size() < pages && blocks_.first() != 0) {
    const Page page = blocks_.first();
    if (visitor) report_leaving(page, *visitor);
    evict(page, cause);
  }
  return {given_back_};
}

GroupPages HashChain::flush(NamespaceId space) {
  given_back_.clear();
  for (Page page = blocks_.first(); page != 0;) {
    const Page next = blocks_[page].after;
    if (prefixes_[blocks_[page].prefix].space == space) evict(page, Cause::flush);
    page = next;
  }
  return {given_back_};
}

GroupPages HashChain::clear() {
  given_back_.clear();
  for (Page page = 1; page < blocks_.size(); ++page)
    if (blocks_.has(page)) given_back_.push_back(page);
  tables_.close_all();
  blocks_.clear();
  prefixes_.clear();
  sizes_ = {};
  by_space_.clear();
  policy_->cleared();
  report_cleared();
  return {given_back_};
}

}  // namespace canopy::hash_chain

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::PrefixIndex, canopy::hash_chain::HashChain>(
                           "hash_chain", "vLLM's block hash table: the block freed first is evicted first"));
