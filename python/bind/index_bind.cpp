#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "hold.h"
#include "insert.h"
#include "nodes.h"
#include "slots.h"
#include "waiting_order.h"

namespace canopy::python {
namespace {

using Self = nb::handle_t<Index>;

nb::object match_ids(Self self, nb::handle ids, nb::handle space, std::optional<std::size_t> limit) {
  const Tokens tokens(ids, limit);
  return match(self, tokens, nb::inst_ptr<Index>(self)->space_of(space)).hit;
}

/// A lock that a policy's exception ends at once.
nb::object held(Self self, NamespaceId space, const Lock& lock) {
  nb::object hold = made<Hold>(self, space, lock);
  nb::inst_ptr<Index>(self)->raise_failure();
  return hold;
}

nb::object lock(Self self, nb::handle ids, nb::handle space) {
  const Owner index(self);
  const Tokens tokens(ids);
  const NamespaceId in = index->space_of(space);
  Lock lock;
  {
    const Index::Step step(*index, Operation::begin);
    lock = index->tree().match({in, tokens.get()}, {});
  }
  return held(self, in, lock);
}

nb::object hold(Self self, const Hit& hit) {
  const Owner index(self);
  if (&*index != &*hit.index) throw nb::value_error("hold: this hit is of another index");
  Lock lock;
  if (hit.node != NodeId::none) {
    const Index::Step step(*index, Operation::begin);
    lock = index->tree().hold(hit.node);
  }
  return held(self, hit.space, lock);
}

/// The pages of a hit, as `gives` hands them out.
template <class Gives>
auto pages_of_hit(Index& index, const Hit& hit, Units start, Gives&& gives) {
  if (&index != &*hit.index) throw nb::value_error("slots: this hit is of another index");
  need_start(index, start, hit.length);
  if (start == hit.length) return gives({}, index.slots_a_page());
  const Index::Step step(index, Operation::none);
  const std::span<const Page> pages = index.tree().pages(hit.node, start)[0];
  if (pages.size() != (hit.length - start) / index.page())
    throw nb::value_error("slots: what this hit found was evicted; match again");
  return gives(pages, index.slots_a_page());
}

nb::object slots_of_hit(Index& index, const Hit& hit, Units start) { return pages_of_hit(index, hit, start, slots_of); }
SlotBuffer buffer_of_hit(Index& index, const Hit& hit, Units start) {
  return pages_of_hit(index, hit, start, buffer_of);
}

/// As hold, for a caller that must have all of it.
nb::object hold_whole(Self self, const Hit& hit) {
  nb::object held = hold(self, hit);
  if (nb::inst_ptr<Hold>(held)->lock().length != hit.length) {
    PyErr_SetString(PyExc_RuntimeError, "what this hit found was evicted between its match and its lock");
    throw nb::python_error();
  }
  return held;
}

/// The slots of the pages that `gives` gives back.
template <class Gives>
nb::object given_back(Index& index, Operation operation, Gives&& gives) {
  nb::object slots;
  {
    const Index::Step step(index, operation);
    slots = slots_of(gives(index.tree())[0], index.slots_a_page());
  }
  index.raise_failure(slots);
  return slots;
}

nb::object evict(Index& index, std::uint64_t tokens) {
  const std::uint64_t pages = tokens / index.page() + (tokens % index.page() != 0);
  return given_back(index, Operation::evict, [&](PrefixIndex& tree) { return tree.evict(0, pages); });
}
/// Without a NumPy array; a policy's exception has the slots as one.
SlotBuffer evict_buffer(Index& index, std::uint64_t tokens, std::optional<Units> slots_a_page) {
  if (slots_a_page == Units{0}) throw nb::value_error("slots_a_page must be at least 1");
  const std::uint64_t pages = tokens / index.page() + (tokens % index.page() != 0);
  SlotBuffer slots;
  nb::object lost;
  {
    const Index::Step step(index, Operation::evict);
    const std::span<const Page> left = index.tree().evict(0, pages)[0];
    slots = buffer_of(left, slots_a_page.value_or(index.slots_a_page()));
    if (index.failed()) lost = slots_of(left, index.slots_a_page());
  }
  index.raise_failure(lost);
  return slots;
}
nb::object flush(Index& index, nb::handle space) {
  const NamespaceId in = index.space_of(space);
  return given_back(index, Operation::flush, [&](PrefixIndex& tree) { return tree.flush(in); });
}
nb::object clear(Index& index) {
  return given_back(index, Operation::flush, [](PrefixIndex& tree) { return tree.clear(); });
}

std::vector<std::size_t> waiting_order(Index& index, nb::list hits) {
  std::vector<NodeId> nodes;
  for (const nb::handle hit : hits) nodes.push_back(nb::cast<const Hit&>(hit).node);
  return dfs_weight_order(index.tree(), nodes);
}

std::vector<Page> all_pages(Index& index) {
  struct All final : NodeVisitor {
    void node(const NodeView& node) override { pages.insert(pages.end(), node.pages[0].begin(), node.pages[0].end()); }
    std::vector<Page> pages;
  } all;
  index.tree().visit(all);
  return std::move(all.pages);
}

nb::dict use_of(Index& index) {
  const IndexUse use = index.tree().use();
  nb::dict row;
  row["nodes"] = use.nodes;
  row["bytes"] = use.bytes;
  row["refused"] = use.refused;
  row["inserts_cut_short"] = use.inserts_cut_short;
  return row;
}

}  // namespace

void bind_index(nb::module_& module) {
  using namespace nb::literals;
  bind_hold(module);
  bind_insert(module);
  bind_slots(module);
  nb::class_<Index>(module, "Index",
                    "A longest-prefix index over pages of KV cache: a radix tree that knows token ids, slots and "
                    "holds, and the order "
                    "in which prefixes are evicted. It owns no cache memory: slots are the caller's numbers. The slot "
                    "of token i of page "
                    "p is p * page_size + i; page 0 is padding and is never given.\n\n"
                    "One thread at a time. Token ids are a list, an array, a NumPy array or a CPU tensor, from 0 to "
                    "2**32 - 1; uint32 "
                    "and int32 are not copied. Only whole pages are kept.")
      .def(
          "__init__",
          [](Index* place, Units page_size, nb::object policy, std::optional<std::uint64_t> capacity,
             const std::string& accounting, Units overlap, std::optional<Units> slots_a_page, bool changes,
             nb::object feed) {
            new (place) Index(
                {page_size, capacity, accounting, overlap, slots_a_page.value_or(page_size), changes, policy, feed});
          },
          "page_size"_a = 1, "policy"_a = "lru", "capacity"_a = nb::none(), nb::kw_only(), "accounting"_a = "default",
          "overlap"_a = 0, "slots_a_page"_a = nb::none(), "changes"_a = false, "feed"_a = nb::none(),
          "page_size: tokens in a page.\npolicy: a name of plugins(), {'slru': {'protect_after': 3}}, or a policy in "
          "Python.\ncapacity: tokens that the pool may hold, for policies; the index never evicts on its own.\n"
          "accounting: 'default', 'sglang' or 'sglang_unified': when hits count.\noverlap: tokens that a unit shares "
          "with "
          "the next one. 1: keys of EAGLE, whose units are bigrams.\nslots_a_page: numbers of the caller's for a page, "
          "which follow one another: a page's slots, page_size of them, unless said otherwise. 1: numbers of pages, "
          "for "
          "callers that have a table from these to slots.\nchanges: keep what comes and goes for "
          "take_changes().\nfeed: "
          "a name under which an inspector can attach, or a pathlib.Path to record to.")
      .def("match", &match_ids, "tokens"_a, nb::kw_only(), "space"_a = nb::none(), "limit"_a = nb::none(),
           "The longest prefix that is there. Counts as a use. `space`: a namespace, or a tuple (tenant, adapter, "
           "salt).")
      .def("hold", &hold, "hit"_a,
           "Holds what a match found; a hit. The hold has length 0 if that was evicted meanwhile: match again.")
      .def("slots", &slots_of_hit, "hit"_a, "start"_a = 0,
           "The slots of what a match found, from `start` on: int64, shape (length - start,). Valid until the next "
           "eviction. Raises ValueError if it was evicted.")
      .def("slot_buffer", &buffer_of_hit, "hit"_a, "start"_a = 0, "slots() as a SlotBuffer.")
      .def("hold_whole", &hold_whole, "hit"_a, "hold(), or RuntimeError if any of it was evicted meanwhile.")
      .def("evict_buffer", &evict_buffer, "tokens"_a, "slots_a_page"_a = nb::none(),
           "evict() as a SlotBuffer. slots_a_page: as in Index; 1 gives page numbers.")
      .def(
          "all_slots", [](Index& index) { return slots_of(all_pages(index), index.slots_a_page()); },
          "All slots that the index has: int64. O(tree).")
      .def(
          "all_slot_buffer", [](Index& index) { return buffer_of(all_pages(index), index.slots_a_page()); },
          "all_slots() as a SlotBuffer.")
      .def("dfs_weight_order", &waiting_order, "hits"_a,
           "The order in which requests that wait at these hits share most: indices, depth first, the subtree with "
           "most waiters first, a node's own waiters behind those below it. O(tree).")
      .def("lock", &lock, "tokens"_a, nb::kw_only(), "space"_a = nb::none(), "match and hold in one call.")
      .def("insert", &insert_from_root, "tokens"_a, "slots"_a, nb::kw_only(), "space"_a = nb::none(), "priority"_a = 0,
           "Adds the whole pages of `tokens`. `slots`: integers, one a token. Nothing is held afterwards.")
      .def("evict", &evict, "tokens"_a,
           "Evicts at least so many tokens, whole nodes, or all that nothing holds. Returns their slots (int64), which "
           "the "
           "caller frees.")
      .def("flush", &flush, "space"_a, "Evicts all of a namespace that nothing holds. Returns the slots.")
      .def("clear", &clear, "Forgets everything, held or not. Returns all slots. Holds hold nothing any more.")
      .def("use_policy", &Index::use_policy, "policy"_a, "Another policy from now on; nodes that wait are ranked anew.")
      .def("callers_pool", &Index::callers_pool, "pages"_a, "free"_a,
           "Tells the feed of the pool that the slots are from: pages, and how many of them are free. What is neither "
           "free nor in the index is shown as owned by requests.")
      .def(
          "request_begun",
          [](Index& index, std::uint32_t prompt, std::uint32_t matched, nb::handle space) {
            return index.request_begun(index.space_of(space), prompt, matched);
          },
          "prompt"_a, "matched"_a, nb::kw_only(), "space"_a = nb::none(),
          "Tells the feed of a request, in tokens; its number. 0 without a feed.")
      .def("request_progress", &Index::request_progress, "request"_a, "phase"_a, "computed"_a, "committed"_a,
           "tokens"_a,
           "Tells the feed how far it is. phase: 'running', 'committed', 'finished', 'aborted', 'retracted' or "
           "'resumed'.")
      .def(
          "take_changes", &Index::take_changes,
          "What nodes came and left since the last call, oldest first: ('added', node, parent, space, words), words as "
          "bytes of int64; ('split', node, upper, units): the first units are a new node above; ('removed', node); "
          "('cleared',). A node is a number that is used again later; 0 is the root.")
      .def("poll", &Index::poll, "Serves an inspector that attached while nothing happened.")
      .def(
          "columns",
          [](Index& index) {
            return columns_of(index.tree(), [&](NamespaceId space) { return index.session().name_of(space); });
          },
          "The nodes as a dictionary of columns, parents before children. O(tree).")
      .def("tree", &tree_of, "form"_a = "text", "lines"_a = 40,
           "The nodes as \"text\" (about `lines` lines) or as a \"frame\" (pandas).")
      .def("use", &use_of, "nodes, bytes of memory, refused calls, and inserts that were cut short for want of memory.")
      .def_prop_ro("page_size", &Index::page)
      .def_prop_ro("policy", [](const Index& index) { return index.session().policy(); })
      .def_prop_ro(
          "evictable", [](Index& index) { return index.tree().sizes(0).evictable; }, "tokens nothing holds")
      .def_prop_ro(
          "protected", [](Index& index) { return index.tree().sizes(0).protected_; }, "tokens under a hold")
      .def("__len__", [](Index& index) {
        const Sizes sizes = index.tree().sizes(0);
        return sizes.evictable + sizes.protected_;
      });
}

}  // namespace canopy::python
