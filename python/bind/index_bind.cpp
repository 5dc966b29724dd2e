#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <utility>

#include "index.h"
#include "nodes.h"
#include "slots.h"

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
  std::vector<Token> words;  ///< of what it found
  Lock lock;                 ///< released
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

Lock match_and_lock(Index& index, const Key& key) {
  Lock lock;
  {
    const Index::Step step(index, Operation::begin);
    lock = index.tree().match(key, {});
  }
  if (index.failed()) {
    index.release(lock);
    index.raise_failure();
  }
  return lock;
}

std::unique_ptr<Hit> match(Self self, nb::handle ids, nb::handle space) {
  const Owner index(self);
  const Tokens tokens(ids);
  const NamespaceId in = index->space_of(space);
  const Lock lock = match_and_lock(*index, {in, tokens.get()});
  index->release(lock);
  const auto words = tokens.get().first(lock.length ? lock.length + index->overlap() : 0);
  return std::make_unique<Hit>(Hit{index, in, {words.begin(), words.end()}, lock});
}

std::unique_ptr<Hold> lock(Self self, nb::handle ids, nb::handle space) {
  const Owner index(self);
  const Tokens tokens(ids);
  const NamespaceId in = index->space_of(space);
  return std::make_unique<Hold>(self, in, match_and_lock(*index, {in, tokens.get()}));
}

std::unique_ptr<Hold> hold(Self self, const Hit& hit) {
  const Owner index(self);
  if (&*index != &*hit.index) throw nb::value_error("hold: this hit is of another index");
  return std::make_unique<Hold>(self, hit.space, match_and_lock(*index, {hit.space, hit.words}));
}

nb::object slots(Hold& hold, Units start) {
  const Lock& lock = hold.held();
  Index& index = hold.index();
  if (start > lock.length || start % index.page() != 0)
    throw nb::value_error("slots: `start` must be a multiple of the page size, and at most the hold's length");
  const Index::Step step(index, Operation::none);
  return slots_of(index.tree().pages(lock, start)[0], index.page());
}

/// Adds below `lock`, which becomes the deeper one.
Added insert(Index& index, Lock& lock, NamespaceId space, nb::handle ids, nb::handle slots, InsertFacts facts) {
  const Tokens tokens(ids);
  const Integers given(slots, "slots");
  const std::size_t whole = index.whole_pages(tokens.size()), first = lock.length / index.page();
  if (whole < first) throw nb::value_error("insert: there are fewer tokens than the hold has");
  Scratch<Page> scratch;
  const std::span<const Page> pages = pages_of(given, index.page(), whole - first, scratch);
  Added added;
  {
    const Index::Step step(index, Operation::insert);
    const Inserted inserted = index.tree().insert(lock, {space, tokens.get()}, {pages}, facts);
    added = {inserted.lock.length, inserted.had, slots_of(inserted.spare[0], index.page())};
    lock = inserted.lock;
  }
  return added;
}

Added insert_from_root(Self self, nb::handle tokens, nb::handle slots, nb::handle space, std::int32_t priority) {
  const Owner index(self);
  Lock lock;
  Added added = insert(*index, lock, index->space_of(space), tokens, slots, {.priority = priority});
  index->release(lock);
  index->raise_failure();
  return added;
}

Added insert_below(Hold& hold, nb::handle tokens, nb::handle slots, std::int32_t priority, bool chunked) {
  const InsertFacts facts{.priority = priority, .chunked = chunked};
  Added added = insert(hold.index(), hold.held(), hold.space(), tokens, slots, facts);
  hold.index().raise_failure();
  return added;
}

/// The slots of the pages that `gives` gives back.
template <class Gives>
nb::object given_back(Index& index, Operation operation, Gives&& gives) {
  nb::object slots;
  {
    const Index::Step step(index, operation);
    slots = slots_of(gives(index.tree())[0], index.page());
  }
  index.raise_failure();
  return slots;
}

nb::object evict(Index& index, std::uint64_t tokens) {
  const std::uint64_t pages = tokens / index.page() + (tokens % index.page() != 0);
  return given_back(index, Operation::evict, [&](PrefixIndex& tree) { return tree.evict(0, pages); });
}
nb::object flush(Index& index, nb::handle space) {
  const NamespaceId in = index.space_of(space);
  return given_back(index, Operation::flush, [&](PrefixIndex& tree) { return tree.flush(in); });
}
nb::object clear(Index& index) {
  return given_back(index, Operation::flush, [](PrefixIndex& tree) { return tree.clear(); });
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
          "length", [](const Hit& hit) { return hit.lock.length; }, "tokens found, in whole pages")
      .def_prop_ro(
          "node", [](const Hit& hit) { return static_cast<std::uint64_t>(hit.lock.node); },
          "id of the node in which the match ended; 0: nothing was found")
      .def("__len__", [](const Hit& hit) { return hit.lock.length; })
      .def("__repr__", [](const Hit& hit) { return "<canopy.Hit of " + std::to_string(hit.lock.length) + " tokens>"; });

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
      .def("slots", &slots, "start"_a = 0,
           "The slots of the held tokens from `start` on: int64, shape (length - start,). `start` is a multiple of the "
           "page size.")
      .def("insert", &insert_below, "tokens"_a, "slots"_a, nb::kw_only(), "priority"_a = 0, "chunked"_a = false,
           "Adds the whole pages of `tokens`, which begin with those held, and holds them too. `slots`: one a token "
           "from "
           "the held length on. `chunked`: the request is still in its prefill.")
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
             const std::string& accounting, bool bigram,
             nb::object feed) { new (place) Index({page_size, capacity, accounting, bigram, policy, feed}); },
          "page_size"_a = 1, "policy"_a = "lru", "capacity"_a = nb::none(), nb::kw_only(), "accounting"_a = "default",
          "bigram"_a = false, "feed"_a = nb::none(),
          "page_size: tokens in a page.\npolicy: a name of plugins(), {'slru': {'protect_after': 3}}, or a policy in "
          "Python.\ncapacity: tokens that the pool may hold, for policies; the index never evicts on its own.\n"
          "accounting: 'default', 'sglang' or 'sglang_unified': when hits count.\nbigram: keys of EAGLE: a unit is a "
          "token and the next one.\nfeed: a name under which an inspector can attach, or a pathlib.Path to record to.")
      .def("match", &match, "tokens"_a, nb::kw_only(), "space"_a = nb::none(),
           "The longest prefix that is there. Counts as a use. `space`: a namespace, or a tuple (tenant, adapter, "
           "salt).")
      .def("hold", &hold, "hit"_a, "Holds what a match found, or what is left of it.")
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
