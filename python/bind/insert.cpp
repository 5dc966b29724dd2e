#include "insert.h"

#include <algorithm>
#include <string>

#include "slots.h"

namespace canopy::python {
namespace {

/// An insert. Everything that it needs is allocated before the index gets pages, because an exception behind that would
/// be taken for an insert that has changed nothing.
class Insert {
 public:
  /// A node will end after the whole pages of `boundary` tokens, so that the rest can be evicted on its own.
  Insert(Index& index, const Lock& lock, NamespaceId space, const Tokens& tokens, nb::handle slots,
         std::size_t boundary = 0)
      : index_(index),
        key_{space, tokens.get()},
        given_(slots, "slots"),
        whole_(index.whole_pages(tokens.size())),
        upper_{space, tokens.get().first(std::min(boundary, tokens.size()))} {
    index.need_one_group();
    const std::size_t first = lock.length / index.page();
    if (whole_ < first) throw nb::value_error("insert: there are fewer tokens than the hold has");
    pages_ = pages_of(given_, index.slots_a_page(), whole_ - first, scratch_);
    added().spare.reserve(whole_ - first);
    added().slots_a_page = index.slots_a_page();
    none_.values.assign(index.whole_pages(upper_.words.size()), 0);  // page 0: nothing is brought
    index.make_room(whole_ - first);
  }

  /// Adds the tokens below `lock`, which then covers them too.
  void run(Lock& lock, InsertFacts facts) {
    const Index::Step step(index_, Operation::insert);
    const Inserted inserted = index_.tree().insert(lock, key_, {pages_}, facts);
    lock = inserted.lock;
    added().length = inserted.lock.length;
    added().had = inserted.had;
    added().spare.assign(inserted.spare[0].begin(), inserted.spare[0].end());
    if (added().spare.empty()) std::vector<Page>().swap(added().spare);
  }
  /// Ends a node at the boundary. REQUIRES: run().
  void split(std::int32_t priority) {
    const std::size_t units = none_.values.size() * index_.page();
    if (units == 0 || units >= added().length) return;
    const Index::Step step(index_, Operation::insert);
    const InsertFacts facts{.priority = priority, .inserted = static_cast<Units>(units)};
    const Lock upper = index_.tree().insert({}, upper_, {std::span<const Page>(none_.values)}, facts).lock;
    index_.keep(index_.tree().release(upper));
  }
  /// Returns the result. Raises an exception of the policy.
  nb::object result() {
    index_.raise_failure(result_);
    return result_;
  }

 private:
  Added& added() { return *nb::inst_ptr<Added>(result_); }

  Index& index_;
  Key key_;
  Integers given_;
  std::size_t whole_;
  Key upper_;
  Scratch<Page> scratch_, none_;
  std::span<const Page> pages_;
  nb::object result_ = made<Added>();
};

}  // namespace

nb::object insert_from_root(nb::handle_t<Index> self, nb::handle tokens, nb::handle slots, nb::handle space,
                            std::int32_t priority) {
  const Owner index(self);
  const Tokens ids(tokens);
  Hold held(index, index->intern(space));
  Insert insert(*index, held.lock(), held.space(), ids, slots);
  insert.run(held.held(), {.priority = priority});
  held.release();
  return insert.result();
}

nb::object insert_below(Hold& hold, nb::handle ids, nb::handle slots, nb::handle space, std::int32_t priority,
                        bool chunked, Units inserted, std::size_t boundary, std::optional<std::size_t> limit) {
  const Tokens tokens(ids, limit);
  hold.use_space(space);
  Insert insert(hold.index(), hold.held(), hold.space(), tokens, slots, boundary);
  insert.run(hold.held(), {.priority = priority, .chunked = chunked, .inserted = inserted});
  insert.split(priority + (priority < INT32_MAX));
  return insert.result();
}

void bind_insert(nb::module_& module) {
  nb::class_<Added>(module, "Added", "The result of an insert.")
      .def_ro("length", &Added::length, "tokens of the key that are now in the index, in whole pages")
      .def_ro("had", &Added::had, "those of them that were in the index before")
      .def_prop_ro(
          "spare",
          [](Added& added) {
            if (!added.spare_slots.is_valid()) added.spare_slots = slots_of(added.spare, added.slots_a_page);
            return added.spare_slots;
          },
          "int64 slots that the caller passed for these and must free")
      .def("__repr__", [](const Added& added) {
        return "<canopy.Added: " + std::to_string(added.length) + " tokens, " + std::to_string(added.had) +
               " of them before>";
      });
}

}  // namespace canopy::python
