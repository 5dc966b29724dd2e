#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "index.h"
#include "nodes.h"
#include "slots.h"
#include "waiting_order.h"

namespace canopy::python {
namespace {

using Self = nb::handle_t<Index>;

/// An index, which lives as long as this does.
class Owner {
 public:
  explicit Owner(Self self) : object_(nb::borrow(self)), index_(nb::inst_ptr<Index>(self)) {}
  Index& operator*() const { return *index_; }
  Index* operator->() const { return index_; }

 private:
  nb::object object_;
  Index* index_;
};

/// What a match found. It holds nothing: what it found may be evicted.
struct Hit {
  Owner index;
  NamespaceId space{};
  NodeId node{};
  Units length = 0;
};

/// A path that stays until it is released.
class Hold {
 public:
  Hold(Self index, NamespaceId space, const Lock& lock) : index_(index), space_(space), lock_(lock) {}
  Hold(const Hold&) = delete;
  ~Hold() { release(); }

  void release() {
    if (std::exchange(held_, false)) index_->release(lock_);
  }
  Index& index() const { return *index_; }
  NamespaceId space() const { return space_; }
  const Lock& lock() const { return lock_; }
  Hit hit() const { return {index_, space_, lock_.node, lock_.length}; }
  /// The namespace of what is inserted; it can be chosen as long as nothing is held.
  void use_space(nb::handle space) {
    if (space.is_none()) return;
    const NamespaceId wanted = index_->space_of(space);
    if (lock_.length > 0 && wanted != space_) throw nb::value_error("insert: the hold is in another namespace");
    space_ = wanted;
  }
  /// To read or replace. Throws ValueError if it was released.
  Lock& held() {
    if (!held_) throw nb::value_error("this hold was released");
    return lock_;
  }

 private:
  Owner index_;
  NamespaceId space_{};
  Lock lock_;
  bool held_ = true;
};

/// What an insert did.
struct Added {
  Units length = 0, had = 0;
  nb::object spare;
};

std::unique_ptr<Hit> match(Self self, nb::handle ids, nb::handle space, std::optional<std::size_t> limit) {
  const Owner index(self);
  const Tokens tokens(ids, limit);
  const NamespaceId in = index->space_of(space);
  Found found;
  {
    const Index::Step step(*index, Operation::begin);
    found = index->tree().find({in, tokens.get()});
  }
  index->raise_failure();
  return std::make_unique<Hit>(Hit{index, in, found.node, found.length});
}

/// A lock that a policy's exception ends at once.
std::unique_ptr<Hold> held(Self self, NamespaceId space, const Lock& lock) {
  auto hold = std::make_unique<Hold>(self, space, lock);
  nb::inst_ptr<Index>(self)->raise_failure();
  return hold;
}

std::unique_ptr<Hold> lock(Self self, nb::handle ids, nb::handle space) {
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

std::unique_ptr<Hold> hold(Self self, const Hit& hit) {
  const Owner index(self);
  if (&*index != &*hit.index) throw nb::value_error("hold: this hit is of another index");
  Lock lock;
  if (hit.node != NodeId::none) {
    const Index::Step step(*index, Operation::begin);
    lock = index->tree().hold(hit.node);
  }
  return held(self, hit.space, lock);
}

void need_start(const Index& index, Units start, Units length) {
  if (start > length || start % index.page() != 0)
    throw nb::value_error("slots: `start` must be a multiple of the page size, and at most the length");
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

nb::object slots(Hold& hold, Units start) {
  const Lock& lock = hold.held();
  Index& index = hold.index();
  need_start(index, start, lock.length);
  const Index::Step step(index, Operation::none);
  return slots_of(index.tree().pages(lock, start)[0], index.slots_a_page());
}

/// As hold, for a caller that must have all of it.
std::unique_ptr<Hold> hold_whole(Self self, const Hit& hit) {
  auto held = hold(self, hit);
  if (held->lock().length != hit.length) {
    PyErr_SetString(PyExc_RuntimeError, "what this hit found was evicted between its match and its lock");
    throw nb::python_error();
  }
  return held;
}

/// Adds below `lock`, which becomes the deeper one.
Added insert(Index& index, Lock& lock, NamespaceId space, const Tokens& tokens, nb::handle slots, InsertFacts facts) {
  const Integers given(slots, "slots");
  const std::size_t whole = index.whole_pages(tokens.size()), first = lock.length / index.page();
  if (whole < first) throw nb::value_error("insert: there are fewer tokens than the hold has");
  Scratch<Page> scratch;
  const std::span<const Page> pages = pages_of(given, index.slots_a_page(), whole - first, scratch);
  Added added;
  {
    const Index::Step step(index, Operation::insert);
    const Inserted inserted = index.tree().insert(lock, {space, tokens.get()}, {pages}, facts);
    added = {inserted.lock.length, inserted.had, slots_of(inserted.spare[0], index.slots_a_page())};
    lock = inserted.lock;
  }
  return added;
}

Added insert_from_root(Self self, nb::handle tokens, nb::handle slots, nb::handle space, std::int32_t priority) {
  const Owner index(self);
  Lock lock;
  Added added = insert(*index, lock, index->space_of(space), Tokens(tokens), slots, {.priority = priority});
  index->release(lock);
  if (index->failed()) index->raise_failure(nb::cast(added));
  return added;
}

/// Ends a node at the whole pages of `tokens`, which are there: what lies behind them can then be evicted alone.
void split(Index& index, NamespaceId space, std::span<const Token> tokens, std::int32_t priority) {
  const std::size_t whole = index.whole_pages(tokens.size());
  Scratch<Page> none;  // page 0: nothing is brought
  none.values.assign(whole, 0);
  const Index::Step step(index, Operation::insert);
  const InsertFacts facts{.priority = priority, .inserted = static_cast<Units>(whole * index.page())};
  index.tree().release(index.tree().insert({}, {space, tokens}, {std::span<const Page>(none.values)}, facts).lock);
}

Added insert_below(Hold& hold, nb::handle ids, nb::handle slots, nb::handle space, std::int32_t priority, bool chunked,
                   Units inserted, std::size_t boundary, std::optional<std::size_t> limit) {
  const Tokens tokens(ids, limit);
  Index& index = hold.index();
  hold.use_space(space);
  Added added = insert(index, hold.held(), hold.space(), tokens, slots,
                       {.priority = priority, .chunked = chunked, .inserted = inserted});
  const std::size_t whole = index.whole_pages(std::min(boundary, tokens.size()));
  if (whole > 0 && whole * index.page() < added.length)
    split(index, hold.space(), tokens.get().first(std::min(boundary, tokens.size())),
          priority + (priority < INT32_MAX));
  if (index.failed()) index.raise_failure(nb::cast(added));
  return added;
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
SlotBuffer evict_buffer(Index& index, std::uint64_t tokens) {
  const std::uint64_t pages = tokens / index.page() + (tokens % index.page() != 0);
  SlotBuffer slots;
  nb::object lost;
  {
    const Index::Step step(index, Operation::evict);
    const std::span<const Page> left = index.tree().evict(0, pages)[0];
    slots = buffer_of(left, index.slots_a_page());
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

void bind_hit(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Hit>(module, "Hit", "What Index.match found. It holds nothing: any later call may evict it.")
      .def_prop_ro(
          "length", [](const Hit& hit) { return hit.length; }, "tokens found, in whole pages")
      .def_prop_ro(
          "node", [](const Hit& hit) { return static_cast<std::uint64_t>(hit.node); },
          "id of the node in which the match ended; 0: nothing was found")
      .def("__len__", [](const Hit& hit) { return hit.length; })
      .def("__repr__", [](const Hit& hit) { return "<canopy.Hit of " + std::to_string(hit.length) + " tokens>"; });

  nb::class_<Added>(module, "Added", "What an insert did.")
      .def_ro("length", &Added::length, "tokens of the key that are in the index now, in whole pages")
      .def_ro("had", &Added::had, "of those, tokens that were there before")
      .def_ro("spare", &Added::spare, "int64 slots that the caller brought for these, and frees")
      .def("__repr__", [](const Added& added) {
        return "<canopy.Added: " + std::to_string(added.length) + " tokens, " + std::to_string(added.had) +
               " were there>";
      });

  nb::class_<Hold>(module, "Hold",
                   "A prefix that cannot be evicted until release(), the end of a `with` block, or the object's end.")
      .def_prop_ro(
          "length", [](const Hold& hold) { return hold.lock().length; }, "tokens held, in whole pages")
      .def_prop_ro("node", [](const Hold& hold) { return static_cast<std::uint64_t>(hold.lock().node); })
      .def_prop_ro("hit", &Hold::hit, "the same prefix as a hit, which holds nothing")
      .def("slots", &slots, "start"_a = 0,
           "The slots of the held tokens from `start` on: int64, shape (length - start,). `start` is a multiple of the "
           "page size.")
      .def("insert", &insert_below, "tokens"_a, "slots"_a, nb::kw_only(), "space"_a = nb::none(), "priority"_a = 0,
           "chunked"_a = false, "inserted"_a = 0, "boundary"_a = 0, "limit"_a = nb::none(),
           "Adds the whole pages of `tokens`, which begin with those held, and holds them too. `slots`: one a token "
           "from "
           "the held length on. `chunked`: the request is still in its prefill.\n`inserted`: tokens that this request "
           "has inserted before.\n`space`: the namespace, where nothing is held yet.\n`boundary`: a node ends behind "
           "the whole pages of so many tokens, such as the prompt's, so that what follows can be\nevicted alone.")
      .def("release", &Hold::release, "Lets the prefix be evicted again. Does nothing the second time.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](Hold& hold, nb::args) { hold.release(); })
      .def("__len__", [](const Hold& hold) { return hold.lock().length; })
      .def("__repr__",
           [](const Hold& hold) { return "<canopy.Hold of " + std::to_string(hold.lock().length) + " tokens>"; });
}

}  // namespace

void bind_index(nb::module_& module) {
  using namespace nb::literals;
  bind_hit(module);
  bind_slots(module);
  module.def(
      "release",
      [](Hold* hold) {
        if (hold) hold->release();
      },
      "hold"_a.none(), "Releases a Hold; None is nothing to release.");
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
             const std::string& accounting, bool bigram, nb::object feed, bool paged, bool changes) {
            new (place)
                Index({page_size, capacity, accounting, Units{bigram}, paged ? 1 : page_size, changes, policy, feed});
          },
          "page_size"_a = 1, "policy"_a = "lru", "capacity"_a = nb::none(), nb::kw_only(), "accounting"_a = "default",
          "bigram"_a = false, "feed"_a = nb::none(), "paged"_a = false, "changes"_a = false,
          "page_size: tokens in a page.\npolicy: a name of plugins(), {'slru': {'protect_after': 3}}, or a policy in "
          "Python.\ncapacity: tokens that the pool may hold, for policies; the index never evicts on its own.\n"
          "accounting: 'default', 'sglang' or 'sglang_unified': when hits count.\nbigram: keys of EAGLE: a unit is a "
          "token and the next one.\nfeed: a name under which an inspector can attach, or a pathlib.Path to record to.\n"
          "paged: what is said of slots is said of page numbers, from 1 on, one a page: for callers that have a table "
          "from these to slots.\nchanges: keep what comes and goes for take_changes().")
      .def("match", &match, "tokens"_a, nb::kw_only(), "space"_a = nb::none(), "limit"_a = nb::none(),
           "The longest prefix that is there. Counts as a use. `space`: a namespace, or a tuple (tenant, adapter, "
           "salt).")
      .def("hold", &hold, "hit"_a,
           "Holds what a match found; a hit. The hold has length 0 if that was evicted meanwhile: match again.")
      .def("slots", &slots_of_hit, "hit"_a, "start"_a = 0,
           "The slots of what a match found, from `start` on: int64, shape (length - start,). Valid until the next "
           "eviction. Raises ValueError if it was evicted.")
      .def("slot_buffer", &buffer_of_hit, "hit"_a, "start"_a = 0, "slots() as a SlotBuffer.")
      .def("hold_whole", &hold_whole, "hit"_a, "hold(), or RuntimeError if any of it was evicted meanwhile.")
      .def("evict_buffer", &evict_buffer, "tokens"_a, "evict() as a SlotBuffer.")
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
          "columns", [](Index& index) { return columns_of(index.tree(), index.state().spaces); },
          "The nodes as a dictionary of columns, parents before children. O(tree).")
      .def(
          "tree",
          [](nb::object self, const std::string& form, std::size_t lines) {
            return nb::module_::import_("canopy.feed").attr("tree")(self.attr("columns")(), form, lines);
          },
          "form"_a = "text", "lines"_a = 40, "The nodes as \"text\" (about `lines` lines) or as a \"frame\" (pandas).")
      .def("use", &use_of, "nodes, bytes of memory, refused calls, and inserts that were cut short for want of memory.")
      .def_prop_ro("page_size", &Index::page)
      .def_prop_ro("policy", [](const Index& index) { return index.state().groups[0].policy; })
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
