// A result of the index either has a valid shape or does not reach the caller. In its place the caller gets an empty
// result, or after an insert or a relax the lock that it passed. The ledger gets a violation that names the index and
// the call.

#include "index_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include <cache/cache_state.h>
#include "all_below.h"

namespace canopy {
namespace {

Sentence lock_words(const Lock& lock) {
  return Sentence("a lock of {} units from {}, {}, {}, {} on", lock.length, lock.from[0], lock.from[1], lock.from[2],
                  lock.from[3]);
}

}  // namespace

IndexPort::IndexPort(std::shared_ptr<PrefixIndex> index, std::string name, CacheState& state)
    : Port(std::move(index), std::move(name), state.ledger),
      state_(state),
      tenants_(call("tenants", &PrefixIndex::tenants)) {}

Units IndexPort::units_of(const Key& key) const {
  const std::size_t words = key.words.size();
  return static_cast<Units>(words > state_.overlap ? words - state_.overlap : 0);
}
bool IndexPort::whole(Units units) const { return units % state_.page_size == 0; }

/// Returns the end of a group's page numbers, including drained pages and page 0.
Page IndexPort::numbers(std::size_t group) const {
  const Pool& pool = state_.pools[group];
  return static_cast<Page>(
      std::min<std::uint64_t>(std::uint64_t{pool.segment_pages()} * pool.segments().size(), ~Page{0}));
}

bool IndexPort::sound(const Lock& lock, Units most) const {
  bool sound = lock.length <= most && whole(lock.length) && whole(lock.full_length);
  for (std::size_t g = 0; g < state_.pools.size(); ++g)
    sound &= lock.from[g] == 0 || (lock.from[g] <= lock.length && whole(lock.from[g]));
  return sound;
}

Probe IndexPort::peek(const Key& key) const {
  Probe probe = call("peek", &PrefixIndex::peek, key);
  bool sound = probe.length <= units_of(key) && whole(probe.length) && probe.full_length <= units_of(key) &&
               whole(probe.full_length);
  for (std::size_t g = 0; g < state_.pools.size(); ++g) sound &= probe.evictable[g] <= probe.length;
  if (sound) return probe;
  wrong("peek", Sentence("it found {} units of a key of {}", probe.length, units_of(key)));
  return {};
}

Lock IndexPort::match(const Key& key, const RequestFacts& request) {
  const Lock lock = call("match", &PrefixIndex::match, key, request);
  if (sound(lock, units_of(key))) return lock;
  wrong("match", Sentence("it gave {} for a key of {}", lock_words(lock).view(), units_of(key)));
  return {};
}

Found IndexPort::find(const Key& key) {
  const Found found = call("find", &PrefixIndex::find, key);
  if (found.length <= units_of(key) && whole(found.length) && whole(found.full_length)) return found;
  wrong("find", Sentence("it found {} units of a key of {}", found.length, units_of(key)));
  return {};
}

Lock IndexPort::hold(NodeId node) {
  const Lock lock = call("hold", &PrefixIndex::hold, node, nullptr);
  if (sound(lock, lock.length)) return lock;
  wrong("hold", Sentence("it gave {}", lock_words(lock).view()));
  return {};
}

GroupPages IndexPort::pages(const Lock& lock, Units from) {
  return numbered(call("pages", [&](PrefixIndex& index) { return index.pages(lock, from); }),
                  (lock.length - from) / state_.page_size);
}

GroupPages IndexPort::pages(const Found& found) {
  return numbered(call("pages", [&](PrefixIndex& index) { return index.pages(found.node, 0); }),
                  found.length / state_.page_size);
}

/// Returns the pages; none, if a group has another number of pages than `count`, or a page number that its pool does
/// not have.
GroupPages IndexPort::numbered(const GroupPages& pages, std::size_t count) {
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    if (pages[g].size() == count && has_address(pages[g]) && all_below(pages[g], numbers(g))) continue;
    if (!has_address(pages[g]))
      wrong("pages",
            Sentence("it gave {} pages of group '{}' without an address", pages[g].size(), state_.groups[g].name));
    else if (pages[g].size() != count)
      wrong("pages", Sentence("it gave {} pages of group '{}' for {} pages under a lock", pages[g].size(),
                              state_.groups[g].name, count));
    else
      wrong("pages",
            Sentence("it gave page {} of group '{}', which has no page beyond {}",
                     *std::max_element(pages[g].begin(), pages[g].end()), state_.groups[g].name, numbers(g) - 1));
    return {};
  }
  return pages;
}

Inserted IndexPort::insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) {
  const Units most = units_of(key);
  Inserted nothing;
  nothing.lock = lock;
  nothing.had = lock.length;
  bool answered = false;
  Inserted inserted = call("insert", [&](PrefixIndex& index) {
    const Inserted answer = index.insert(lock, key, pages, facts);
    answered = true;
    return answer;
  });
  if (!answered) return nothing;
  // A stale lock, or a lack of memory, may leave it as it was.
  bool fits = sound(inserted.lock, most) && inserted.had <= most && inserted.lock.length >= lock.length &&
              (inserted.lock.length == lock.length || inserted.had >= lock.length);
  for (std::size_t g = 0; fits && g < state_.pools.size(); ++g)
    fits = inserted.spare[g].size() <= pages[g].size() && has_address(inserted.spare[g]);
  inserted.evicted = counted("insert", inserted.evicted);
  if (fits) return inserted;
  wrong("insert", Sentence("it gave {} and had {} units, for a key of {} below a lock of {}",
                           lock_words(inserted.lock).view(), inserted.had, most, lock.length));
  return nothing;
}

void IndexPort::relax(Lock& lock, std::size_t group, Units from) {
  const Lock before = lock;
  call("relax", &PrefixIndex::relax, lock, group, from);
  if (lock.length == before.length && sound(lock, before.length)) return;
  wrong("relax", Sentence("it made {} of {}", lock_words(lock).view(), lock_words(before).view()));
  lock = before;
}

namespace {

/// Passes on evicted nodes whose shape is valid. Does not let the visitor's exceptions into the index, which would lose
/// the pages that it has evicted.
class CheckedLeaving final : public LeavingVisitor {
 public:
  CheckedLeaving(const CacheState& state, LeavingVisitor& visitor) : state_(state), visitor_(visitor) {}
  std::optional<Sentence> flaw;    ///< about the first node whose shape is not valid
  std::optional<Sentence> failed;  ///< reason why the visitor did not take a node

  void leaving(const Leaving& node) override {
    const std::size_t units = node.words.size() - std::min<std::size_t>(node.words.size(), state_.overlap);
    bool sound =
        units > 0 && units % state_.page_size == 0 && has_address(node.words) && state_.spaces.knows(node.facts.space);
    for (std::size_t g = 0; g < state_.pools.size(); ++g) {
      const Pool& pool = state_.pools[g];
      const std::uint64_t numbers = std::uint64_t{pool.segment_pages()} * pool.segments().size();
      sound = sound && node.pages[g].size() == units / state_.page_size && has_address(node.pages[g]) &&
              all_below(node.pages[g], static_cast<Page>(std::min<std::uint64_t>(numbers, ~Page{0})));
    }
    if (!sound) {
      if (!flaw)
        flaw =
            Sentence("it reported a leaving node with {} words and {} pages", node.words.size(), node.pages[0].size());
      return;
    }
    try {
      visitor_.leaving(node);
    } catch (const std::exception& error) {
      failed =
          Sentence("a node of {} pages is evicted, and not copied down: {}", units / state_.page_size, error.what());
    }
  }

 private:
  const CacheState& state_;
  LeavingVisitor& visitor_;
};

}  // namespace

/// Calls evict(index, visitor) with a visitor that checks what it passes on.
template <class Evict>
GroupPages IndexPort::visited(LeavingVisitor* visitor, Evict&& evict) {
  if (!visitor) return counted("evict", call("evict", [&](PrefixIndex& index) { return evict(index, nullptr); }));
  CheckedLeaving checked(state_, *visitor);
  const GroupPages evicted = call("evict", [&](PrefixIndex& index) { return evict(index, &checked); });
  if (checked.flaw) wrong("evict", *checked.flaw);
  if (checked.failed) state_.ledger.violated(*checked.failed);
  return counted("evict", evicted);
}

GroupPages IndexPort::evict(std::size_t group, std::size_t pages, Cause cause, LeavingVisitor* visitor) {
  return visited(visitor, [&](PrefixIndex& index, LeavingVisitor* to) { return index.evict(group, pages, cause, to); });
}

GroupPages IndexPort::evict_one(TenantId tenant, std::size_t group, std::size_t most, Cause cause,
                                LeavingVisitor* visitor) {
  return visited(visitor,
                 [&](PrefixIndex&, LeavingVisitor* to) { return tenants_->evict(tenant, group, 1, most, cause, to); });
}

GroupPages IndexPort::counted(const char* function, GroupPages pages) const {
  for (std::size_t g = 0; g < pages.size(); ++g) {
    if (pages[g].empty()) continue;
    const std::size_t most = g < state_.pools.size() ? numbers(g) : 0;
    if (pages[g].size() <= most && has_address(pages[g])) continue;
    wrong(function, Sentence("it gave back {} pages{} of group {}, which has {}", pages[g].size(),
                             has_address(pages[g]) ? "" : " without an address", g, most));
    pages[g] = {};
  }
  return pages;
}

bool IndexPort::visit(NodeVisitor& visitor) const {
  /// Passes on nodes whose spans have addresses.
  struct Checked final : NodeVisitor {
    explicit Checked(NodeVisitor& checked) : to(checked) {}
    void node(const NodeView& node) override {
      const bool sound =
          has_address(node.words) && std::ranges::all_of(node.pages, [](auto pages) { return has_address(pages); });
      if (sound) to.node(node);
      else ++unsound;
    }
    NodeVisitor& to;
    std::size_t unsound = 0;
  } checked(visitor);
  const bool ended = done("visit", &PrefixIndex::visit, checked);
  if (checked.unsound > 0)
    wrong("visit", Sentence("it gave words or pages without an address for {} nodes", checked.unsound));
  return ended && checked.unsound == 0;
}

void IndexPort::order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const {
  std::iota(order.begin(), order.end(), 0U);  // the result if there is no memory, or the index throws
  std::vector<bool> named(order.size());
  call("order_by_weight", [&](const PrefixIndex& index) {
    if (const SchedulingIndex* by = index.scheduling()) by->order_by_weight(ends, order);
  });
  for (const std::uint32_t request : order) {
    if (request < order.size() && !named[request]) {
      named[request] = true;
      continue;
    }
    wrong("order_by_weight", Sentence("it named request {} {} in an order of {}", request,
                                      request < order.size() ? "twice" : "that was not given", order.size()));
    return std::iota(order.begin(), order.end(), 0U);
  }
}

Sizes IndexPort::summed(Sizes reported) const {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 56;  // sums of a few of these do not wrap
  if ((reported.evictable | reported.protected_) < kMost) return reported;
  wrong("sizes", Sentence("it says {} units are evictable and {} protected", reported.evictable, reported.protected_));
  return {};
}

}  // namespace canopy
