#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "cache_state.h"
#include "guard/index_port.h"

namespace canopy {
namespace {

/// Owners of each page, by group and page number.
struct Owners final : NodeVisitor {
  std::vector<std::vector<std::uint8_t>> count;         ///< 255: as many, or more
  std::optional<std::pair<std::size_t, Page>> unknown;  ///< group and number of a page that does not exist
  explicit Owners(std::span<const Pool> pools) {
    for (const Pool& pool : pools) count.emplace_back(pool.segments().size() * pool.segment_pages());
  }
  void node(const NodeView& node) override {
    for (std::size_t g = 0; g < count.size(); ++g)
      for (const Page page : node.pages[g]) add(g, page);
  }
  void add(std::size_t group, Page page) {
    if (page >= count[group].size()) return void(unknown = {group, page});
    std::uint8_t& owners = count[group][page];
    owners += owners < std::numeric_limits<std::uint8_t>::max();
  }
  std::uint32_t of(std::size_t group, Page page) const { return page < count[group].size() ? count[group][page] : 0; }
};

void audit_rows(CacheState& state, std::size_t group) {
  for (const RequestState* request : state.live) {
    const std::span<const Page> locked = state.index->pages(request->lock)[group];
    const std::vector<Page>& row = request->rows[group];
    for (std::size_t i = 0; i < std::min(locked.size(), row.size()); ++i)
      state.ledger.expect(row[i] == 0 || row[i] == locked[i], [&] {
        return Sentence("group '{}': the row of request {} has page {} at place {}, and its lock has page {}",
                        state.groups[group].name, request->id, row[i], i, locked[i]);
      });
  }
}

void count_owned(CacheState& state, std::size_t group, std::span<const Page> transfers, Owners& owners) {
  std::uint64_t owned = 0, moving = transfers.size();
  for (const Page page : transfers) owners.add(group, page);
  for (const RequestState* request : state.live)
    for (std::size_t i = request->own_from; i < request->rows[group].size(); ++i)
      if (const Page page = request->rows[group][i]) owners.add(group, page), ++(request->moving ? moving : owned);
  state.ledger.expect(owned == state.owned[group] && moving == state.moving[group], [&] {
    const bool rows = owned != state.owned[group];
    return Sentence("group '{}': {} {} pages by their rows, and {} are on the books", state.groups[group].name,
                    rows ? "requests own" : "transfers fill", rows ? owned : moving,
                    rows ? state.owned[group] : state.moving[group]);
  });
}

void audit_pages(CacheState& state, std::size_t group, const Owners& found) {
  const Pool& pool = state.pools[group];
  for (const PoolSegment& segment : pool.segments())
    for (Page page = std::max<Page>(segment.all.first, 1); page - segment.all.first < segment.all.pages; ++page) {
      const std::uint32_t owners = found.of(group, page);
      const bool out = pool.is_out(page);
      state.ledger.expect(owners == (out ? 1U : 0U), [&] {
        return Sentence("group '{}': page {} is {} and has {} owners; it was last handed to request {}", pool.group(),
                        page, out ? "out" : "free", owners, pool.last_owner(page));
      });
    }
}

}  // namespace

void audit(CacheState& state, const std::array<std::vector<Page>, kMaxGroups>& moving) {
  Owners owners(state.pools);
  const bool knows_all = state.index->visit(owners);  // a walk that was cut short, by a lack of memory, is reported
  state.ledger.expect(!owners.unknown, [&] {
    const auto [group, page] = *owners.unknown;
    return Sentence("{}, visit: it gave page {} of group '{}', which does not exist", state.index->name(), page,
                    state.groups[group].name);
  });
  for (std::size_t g = 0; g < state.pools.size(); ++g) {
    audit_rows(state, g);
    count_owned(state, g, moving[g], owners);
    if (knows_all) audit_pages(state, g, owners);
  }
  const std::uint64_t refused = state.index->call("use", &PrefixIndex::use).refused;
  state.ledger.expect(refused == 0,
                      [&] { return Sentence("the index refused {} calls with locks that held nothing", refused); });
}

}  // namespace canopy
