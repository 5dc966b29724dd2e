#include "radix_index.h"

#include "common_words.h"

#include <algorithm>
#include <cstring>

namespace canopy::radix {
namespace {

constexpr std::size_t kUsualPath = 4096;  // nodes; what a longer one took is given back

/// Words and page numbers of as many units as the largest pool holds, and what fragments take: an eighth. Not more than
/// 256 MiB: a limit may be a wish, and what is taken at the start must not be what ends the process.
std::uint64_t words_of_full_pool(const PrefixIndex::Context& context) {
  std::uint64_t units = 0;
  for (const Group& group : context.groups)
    if (group.capacity != kUnlimited) units = std::max(units, group.capacity);
  constexpr std::uint64_t kMost = (std::uint64_t{256} << 20) / sizeof(std::uint32_t);
  units = std::min(units, kMost);  // and no sum of them wraps
  return std::min((units + units / context.page_size * context.groups.size()) / 8 * 9, kMost);
}

}  // namespace

void RadixIndex::Config::visit(Options& options) {
  options.choice("accounting", accounting, kAccountingNames, "what counts as a use: ours, or SGLang's to the digit");
  options.number("keep_free", keep_free, 0, 100,
                 "percent of the storage in use that freed storage may keep in memory, beside what prefault took");
  options.flag("prefault", prefault,
               "take the memory of a full pool, up to 256 MiB, at the start, so that no insert waits for it");
}

RadixIndex::RadixIndex(const Config& config, const Context& context)
    : accounting_(Accounting::of(config.accounting)),
      page_(context.page_size),
      overlap_(context.overlap),
      feed_(context.feed),
      keep_free_(config.keep_free),
      words_ahead_(config.prefault ? words_of_full_pool(context) : 0),
      runs_(keep_free_, words_ahead_) {
  groups_.reserve(context.groups.size());
  for (const Group& group : context.groups)
    groups_.push_back({group, Queue(Places{&holds_, context.groups.size(), groups_.size()})});
  if (!holds_.resize(groups_.size())) stop_without_memory();
  now_ = accounting_.first_tick();
}

Units RadixIndex::whole_units(std::size_t words) const {
  const std::size_t units = words > overlap_ ? words - overlap_ : 0;
  return static_cast<Units>(units / page_ * page_);
}

std::uint32_t RadixIndex::fingerprint(Slot parent, const std::uint32_t* first) const {
  return NodeTable::fingerprint(parent, first, std::size_t{page_} + overlap_);
}

const std::uint32_t* RadixIndex::words(const Node& node) const {
  const std::uint32_t* block = runs_.at(node.run);
  return block + kRunWords + (node.begin - reinterpret_cast<const Run*>(block)->depth);
}

const Page* RadixIndex::node_pages(const Node& node) const {
  const auto& run = *reinterpret_cast<const Run*>(runs_.at(node.run));
  return runs_.at(run.pages) + std::size_t{(node.begin - run.depth) / page_} * groups_.size();
}

Page* RadixIndex::node_pages(const Node& node) { return const_cast<Page*>(std::as_const(*this).node_pages(node)); }

/// The child of `parent` that shares at least a page with the key from `depth` on, and how many units it shares.
Slot RadixIndex::child(Slot parent, const Key& key, Units depth, Units limit, Units& common, Ahead& ahead) const {
  if (limit - depth < page_) return 0;
  const std::uint32_t* wanted = key.words.data() + depth;
  Slot found = 0;
  const auto agrees = [&](Slot slot) {
    const Node& node = nodes_[slot];
    if (node.parent != parent) return false;
    if (node.children > 1 && limit - depth >= node.length + page_) {
      ahead = {slot, fingerprint(slot, wanted + node.length)};  // the table's answer comes while words are compared
      nodes_.prefetch_places(ahead.fingerprint);
    }
    const std::size_t most = std::size_t{std::min(node.length, limit - depth)} + overlap_;
    const std::size_t same = common_words(words(node), wanted, most);
    const std::size_t units = same > overlap_ ? (same - overlap_) / page_ * page_ : 0;
    if (units == 0) return false;
    common = static_cast<Units>(units);
    found = slot;
    return true;
  };
  // An only child needs no table: its row says which it is, and the words decide, as always.
  if (const Node& above = nodes_[parent]; above.children == 1) agrees(above.first_child);
  else if (above.children > 1)
    nodes_.candidates(ahead.parent == parent ? ahead.fingerprint : fingerprint(parent, wanted), agrees);
  return found;
}

/// The deepest boundary of the key's path that every group can serve; `touch` hears of every node on the way.
template <class Touch>
RadixIndex::Walk RadixIndex::walk(const Key& key, Touch&& touch) const {
  const Units limit = whole_units(key.words.size());
  const auto space = static_cast<std::size_t>(key.space);
  Slot at = space < spaces_.size() ? spaces_[space].root : 0;
  Walk best;
  if (at == 0) return best;
  // Units since the last gap; a path that never had one serves however short it is.
  constexpr std::uint64_t kNoGap = ~std::uint64_t{0};
  std::array<std::uint64_t, kMaxGroups> since_gap;
  since_gap.fill(kNoGap);
  Units depth = 0, common = 0;
  Ahead ahead;
  while (const Slot next = child(at, key, depth, limit, common, ahead)) {
    touch(next);
    const Node& node = nodes_[next];
    bool serves = true;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!(node.resident >> g & 1)) since_gap[g] = 0;
      else if (since_gap[g] != kNoGap) since_gap[g] += common;
      serves &= since_gap[g] == kNoGap || (!groups_[g].whole_path() && since_gap[g] >= groups_[g].group.reach);
    }
    depth += common;
    if (serves) best = {next, common, depth};
    if (common < node.length) break;
    at = next;
  }
  return best;
}

Probe RadixIndex::peek(const Key& key) const {
  const Walk found = walk(key, [](Slot) {});
  Probe probe;
  probe.length = found.depth;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Units from = hold_from(found.depth, g);
    Units end = found.depth;
    for (Slot at = found.node; at && nodes_[at].parent && end > from; at = nodes_[at].parent) {
      const Node& node = nodes_[at];
      if (hold(at, g).count == 0) {
        if (node.resident >> g & 1) probe.evictable[g] += end - std::max(node.begin, from);
      } else if (groups_[g].whole_path()) {
        break;
      }
      end = node.begin;
    }
  }
  return probe;
}

Lock RadixIndex::match(const Key& key, const RequestFacts& request) {
  if (accounting_.tick_per_operation || whole_units(key.words.size()) > 0) ++now_;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    RequestFacts facts = request;
    facts.clock = clock(g);
    groups_[g].group.eviction->arrived(facts);
  }
  const Tick stamp = now_;
  const Walk found = walk(key, [&](Slot slot) {
    if (accounting_.walk_touches) touch(slot, stamp);
    else if (path_.reserve(path_.size() + 1)) path_.push_back(slot);
  });
  if (found.node == 0 || !make_room(1 + groups_.size())) {
    path_.clear();
    return {};
  }
  const Slot end = found.matched < nodes_[found.node].length ? split(found.node, found.matched) : found.node;
  if (accounting_.match_counts) {
    Return ahead(*this);
    for (Slot at = end; nodes_[at].parent; at = nodes_[at].parent) {
      ahead.step();
      ++nodes_[at].hits;
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (groups_[g].whole_path()) hold(at, g).last_access = stamp;
    }
  }
  const Lock lock = lock_at(end);
  if (accounting_.match_counts) tell(EventKind::node_used, end, 0, stamp, lock.from[0]);
  tell_locked(end, lock, accounting_.match_counts ? 1 : 0);
  path_.clear_but_keep(kUsualPath);
  return lock;
}

GroupPages RadixIndex::pages(const Lock& lock, Units from) {
  clear_out();
  const Slot end = nodes_.find(lock.node);
  if (end == 0 || from >= lock.length) return {};
  const std::size_t count = (lock.length - from) / page_, width = groups_.size();
  for (std::size_t g = 0; g < width; ++g)
    if (!out_[g].resize(count)) stop_without_memory();
  for (Slot at = end; nodes_[at].parent && nodes_[at].end() > from; at = nodes_[at].parent) {
    const Node& node = nodes_[at];
    const Units begin = std::max(node.begin, from);
    const Page* pages = node_pages(node) + std::size_t{(begin - node.begin) / page_} * width;
    const std::size_t first = (begin - from) / page_, n = (node.end() - begin) / page_;
    if (width == 1 && groups_[0].whole_path()) {
      std::memcpy(out_[0].data() + first, pages, n * sizeof(Page));
      continue;
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t g = 0; g < width; ++g)
        out_[g][first + i] = begin + static_cast<Units>(i) * page_ >= lock.from[g] ? pages[i * width + g] : 0;
  }
  return out();
}

}  // namespace canopy::radix

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::PrefixIndex, canopy::radix::RadixIndex>(
                           "radix", "radix tree over pages; splits copy nothing, the queue of victims is kept"));
