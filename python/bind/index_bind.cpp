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
  const Owner index(self);
  const Tokens tokens(ids, limit);
  return match(self, tokens, space).hit;
}

nb::object lock(Self self, nb::handle ids, nb::handle space) {
  const Owner index(self);
  const Tokens tokens(ids);
  nb::object made_hold = made<Hold>(index, index->intern(space));
  Hold& hold = *nb::inst_ptr<Hold>(made_hold);
  {
    const Index::Step step(*index, Operation::begin);
    hold.set(index->tree().match({hold.space(), tokens.get()}, {}));
  }
  index->raise_failure();
  return made_hold;
}

nb::object hold(Self self, const Hit& hit) {
  const Owner index(self);
  if (&*index != &*hit.index) throw nb::value_error("hold: this hit belongs to another index");
  nb::object made_hold = made<Hold>(index, hit.unknown.is_valid() ? index->intern(hit.unknown) : hit.space);
  if (hit.node != NodeId::none) {
    const Index::Step step(*index, Operation::begin);
    nb::inst_ptr<Hold>(made_hold)->set(index->tree().hold(hit.node));
  }
  index->raise_failure();
  return made_hold;
}

/// Returns the slots of a hit's pages in the form that `gives` makes.
template <class Gives>
auto pages_of_hit(Index& index, const Hit& hit, Units start, Gives&& gives) {
  if (&index != &*hit.index) throw nb::value_error("slots: this hit belongs to another index");
  need_start(index, start, hit.length);
  if (start == hit.length) return gives({}, index.slots_a_page());
  const Index::Step step(index, Operation::none);
  const std::span<const Page> pages = index.tree().pages(hit.node, start)[0];
  if (pages.size() != (hit.length - start) / index.page())
    throw nb::value_error("slots: the prefix of this hit was evicted; match again");
  return gives(pages, index.slots_a_page());
}

nb::object slots_of_hit(Index& index, const Hit& hit, Units start) { return pages_of_hit(index, hit, start, slots_of); }
SlotBuffer buffer_of_hit(Index& index, const Hit& hit, Units start) {
  return pages_of_hit(index, hit, start, buffer_of);
}

/// Holds a hit, for a caller that needs all of it.
nb::object hold_whole(Self self, const Hit& hit) {
  nb::object held = hold(self, hit);
  if (nb::inst_ptr<Hold>(held)->lock().length != hit.length) {
    PyErr_SetString(PyExc_RuntimeError, "the prefix of this hit was evicted between the match and the lock");
    throw nb::python_error();
  }
  return held;
}

nb::object array_of(std::span<const Page> pages, Units slots_a_page) { return slots_of(pages, slots_a_page); }
nb::object slot_buffer_of(std::span<const Page> pages, Units slots_a_page) {
  return nb::cast(buffer_of(pages, slots_a_page));
}

/// Returns the pages that `gives` returns, in the form that `form` makes. If there is no memory for it, the next call
/// returns them as well.
template <class Gives>
nb::object given_back(Index& index, Operation operation, nb::object (*form)(std::span<const Page>, Units),
                      Units slots_a_page, Gives&& gives) {
  index.need_one_group();
  GivenUp& left = index.left()[0];
  {
    const Index::Step step(index, operation);
    index.keep(gives(index.tree(), left.left()));
  }
  const nb::object slots = form(left.pages(), slots_a_page);
  // The exception of a policy has an array for each form.
  const nb::object lost = index.failed() ? array_of(left.pages(), index.slots_a_page()) : nb::object();
  left.clear();
  index.raise_failure(lost);
  return slots;
}

nb::object evict_to(Index& index, std::uint64_t tokens, nb::object (*form)(std::span<const Page>, Units), Units slots) {
  const std::uint64_t pages = tokens / index.page() + (tokens % index.page() != 0);
  return given_back(index, Operation::evict, form, slots, [&](PrefixIndex& tree, std::uint64_t left) {
    return left < pages ? tree.evict(0, pages - left) : GroupPages{};
  });
}
nb::object evict(Index& index, std::uint64_t tokens) { return evict_to(index, tokens, array_of, index.slots_a_page()); }
nb::object evict_buffer(Index& index, std::uint64_t tokens, std::optional<Units> slots_a_page) {
  if (slots_a_page == Units{0}) throw nb::value_error("slots_a_page must be at least 1");
  return evict_to(index, tokens, slot_buffer_of, slots_a_page.value_or(index.slots_a_page()));
}
nb::object flush(Index& index, nb::handle space) {
  const std::optional<Index::SpaceUse> in = index.find(space);
  return given_back(index, Operation::flush, array_of, index.slots_a_page(),
                    [&](PrefixIndex& tree, std::size_t) { return in ? tree.flush(*in) : GroupPages{}; });
}
nb::object clear(Index& index) {
  return given_back(index, Operation::flush, array_of, index.slots_a_page(),
                    [](PrefixIndex& tree, std::size_t) { return tree.clear(); });
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
  row["spaces"] = index.session().spaces();
  return row;
}

}  // namespace

void bind_index(nb::module_& module) {
  using namespace nb::literals;
  bind_hold(module);
  bind_insert(module);
  bind_slots(module);
  nb::class_<Index>(module, "Index",
                    "A longest-prefix index over the pages of a KV cache: a radix tree of token ids, slots and holds, "
                    "with an order of eviction. It owns no cache memory: slots are the caller's numbers. The slot of "
                    "token i of page p is p * page_size + i; page 0 is padding and is never used.\n\n"
                    "For one thread at a time. Token ids are a list, an array, a NumPy array or a CPU tensor, from 0 "
                    "to 2**32 - 1; uint32 and int32 are not copied. Only whole pages are kept.")
      .def(
          "__init__",
          [](Index* place, Units page_size, nb::object policy, std::optional<std::uint64_t> capacity,
             const std::string& accounting, Units overlap, std::optional<Units> slots_a_page, bool changes,
             nb::object feed, nb::object on_policy_failure) {
            new (place) Index({page_size, capacity, accounting, overlap, slots_a_page.value_or(page_size), changes,
                               policy, feed, on_policy_failure});
          },
          "page_size"_a = 1, "policy"_a = "lru", "capacity"_a = nb::none(), nb::kw_only(), "accounting"_a = "default",
          "overlap"_a = 0, "slots_a_page"_a = nb::none(), "changes"_a = false, "feed"_a = nb::none(),
          "on_policy_failure"_a = nb::none(),
          "page_size: tokens in a page.\n"
          "policy: a name from plugins(), {'slru': {'protect_after': 3}}, or a policy in Python.\n"
          "capacity: tokens that the pool may hold, for policies; the index never evicts on its own.\n"
          "accounting: 'default', 'sglang' or 'sglang_unified': what counts as a use.\n"
          "overlap: tokens that a unit shares with the next one. 1: keys of EAGLE, whose units are bigrams.\n"
          "slots_a_page: how many consecutive numbers of the caller stand for a page. By default page_size, the "
          "page's slots. 1: page numbers, for callers that have a table from these to slots.\n"
          "changes: record the nodes that are added and removed, for take_changes().\n"
          "feed: a name under which an inspector can attach, or the pathlib.Path of a recording.\n"
          "on_policy_failure: a callable of one text. If it is given, an exception of a policy in Python is not raised "
          "by the call that it happened in: lru takes over, and the callable gets what was raised. Exceptions that are "
          "no Exception, such as KeyboardInterrupt, are raised all the same.")
      .def("match", &match_ids, "tokens"_a, nb::kw_only(), "space"_a = nb::none(), "limit"_a = nb::none(),
           "Returns the longest resident prefix as a Hit. Counts as a use. `space`: a namespace, or a tuple (tenant, "
           "adapter, salt).")
      .def("hold", &hold, "hit"_a,
           "Holds the prefix of a hit. The hold has length 0 if the prefix was evicted in the meantime: match again.")
      .def("slots", &slots_of_hit, "hit"_a, "start"_a = 0,
           "Returns the slots of a hit's prefix from `start` on: int64, shape (length - start,). Valid until the next "
           "eviction. Raises ValueError if the prefix was evicted.")
      .def("slot_buffer", &buffer_of_hit, "hit"_a, "start"_a = 0, "Returns slots() as a SlotBuffer.")
      .def("hold_whole", &hold_whole, "hit"_a,
           "Holds as hold() does. Raises RuntimeError if any of the prefix was evicted in the meantime.")
      .def("evict_buffer", &evict_buffer, "tokens"_a, "slots_a_page"_a = nb::none(),
           nb::sig("def evict_buffer(self, tokens: int, slots_a_page: int | None = None) -> SlotBuffer"),
           "Evicts as evict() does, and returns a SlotBuffer. slots_a_page: as in Index; 1 returns page numbers.")
      .def(
          "all_slots", [](Index& index) { return slots_of(all_pages(index), index.slots_a_page()); },
          "Returns all slots in the index: int64. O(tree).")
      .def(
          "all_slot_buffer", [](Index& index) { return buffer_of(all_pages(index), index.slots_a_page()); },
          "Returns all_slots() as a SlotBuffer.")
      .def("dfs_weight_order", &waiting_order, "hits"_a,
           "Returns the order in which requests that wait with these hits share the most: indices, depth first, the "
           "subtree with the most requests first, a node's own requests after those below it. O(tree).")
      .def("lock", &lock, "tokens"_a, nb::kw_only(), "space"_a = nb::none(), "Matches and holds in one call.")
      .def("insert", &insert_from_root, "tokens"_a, "slots"_a, nb::kw_only(), "space"_a = nb::none(), "priority"_a = 0,
           nb::sig(
               "def insert(self, tokens: object, slots: object, *, space: object | None = None, priority: int = 0) -> "
               "Added"),
           "Adds the whole pages of `tokens`. `slots`: integers, one for each token. Nothing is held afterwards.")
      .def(
          "evict", &evict, "tokens"_a,
          "Evicts whole nodes with at least `tokens` tokens together, or everything that is not held. Returns their "
          "slots (int64), which the caller frees. If there is no memory for the result, it raises MemoryError, and the "
          "next evict(), flush() or clear() returns these slots, too.")
      .def("flush", &flush, "space"_a, "Evicts everything of a namespace that is not held. Returns the slots.")
      .def("clear", &clear,
           "Removes everything, held or not. Returns all slots. Existing holds no longer hold anything.")
      .def("use_policy", &Index::use_policy, "policy"_a,
           "Replaces the policy, which ranks the nodes in the queue again.")
      .def("callers_pool", &Index::callers_pool, "pages"_a, "free"_a,
           "Sends the size of the pool of the slots to the feed: its pages, and how many are free. Pages that are "
           "neither free nor in the index are shown as owned by requests.")
      .def(
          "request_begun",
          [](Index& index, std::uint32_t prompt, std::uint32_t matched, nb::handle space, std::uint64_t node) {
            if (!index.session().feed()) return std::uint64_t{0};
            return index.request_begun(index.intern(space), prompt, matched, NodeId{node});
          },
          "prompt"_a, "matched"_a, nb::kw_only(), "space"_a = nb::none(), "node"_a = 0,
          "Sends a new request to the feed, in tokens. Returns its number; 0 without a feed.\nnode: the node of the "
          "Hit "
          "or Hold at which its match ended, so that readers count a hit for it and for the nodes above; 0: not known.")
      .def("request_progress", &Index::request_progress, "request"_a, "phase"_a, "computed"_a, "committed"_a,
           "tokens"_a,
           "Sends the progress of a request to the feed. phase: 'running', 'committed', 'finished', 'aborted', "
           "'retracted' or 'resumed'.")
      .def("request_inserts", &Index::request_inserts, "request"_a, "computed"_a, "committed"_a, "tokens"_a,
           "Lets the next insert be the work of a request, which then has committed so many tokens. The feed gets both "
           "as one operation: its readers find the reason of the request's miss in what the insert adds.")
      .def("take_changes", &Index::take_changes,
           "Returns the changes of nodes since the last call, oldest first: ('added', node, parent, space, words), "
           "words as bytes of int64; ('split', node, upper, units): the first `units` units are the new node `upper` "
           "above it; ('removed', node); ('cleared',). A node is a number that may be reused later; 0 is the root.")
      .def("poll", &Index::poll, "Serves an inspector that attached while there were no calls.")
      .def(
          "columns",
          [](Index& index) {
            return columns_of([&](NodeVisitor& visitor) { index.tree().visit(visitor); },
                              [&](NamespaceId space) { return index.session().name_of(space); });
          },
          "Returns the nodes as a dictionary of columns, parents before children. O(tree).")
      .def("tree", &tree_of, "form"_a = "text", "lines"_a = 40,
           "Returns the nodes as \"text\" (about `lines` lines) or as a \"frame\" (pandas).")
      .def("use", &use_of,
           "Returns the number of nodes, bytes of memory, refused calls, inserts that were cut short for lack of "
           "memory, "
           "and namespaces, the shared one among them.")
      .def_prop_ro("page_size", &Index::page)
      .def_prop_ro("policy", [](const Index& index) { return index.session().policy(); })
      .def_prop_ro(
          "evictable", [](Index& index) { return index.tree().sizes(0).evictable; }, "tokens that are not held")
      .def_prop_ro(
          "protected", [](Index& index) { return index.tree().sizes(0).protected_; }, "tokens that are held")
      .def("__len__", [](Index& index) {
        const Sizes sizes = index.tree().sizes(0);
        return sizes.evictable + sizes.protected_;
      });
}

}  // namespace canopy::python
