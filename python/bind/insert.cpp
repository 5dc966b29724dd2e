#include "insert.h"

#include <algorithm>
#include <string>

#include "slots.h"

namespace canopy::python {
namespace {

/// Adds tokens below `lock`, which then covers them too.
Added insert(Index& index, Lock& lock, NamespaceId space, const Tokens& tokens, nb::handle slots, InsertFacts facts) {
  index.need_one_group();
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

/// Ends a node after the whole pages of `tokens`, which are resident, so that the rest can be evicted on its own.
void split(Index& index, NamespaceId space, std::span<const Token> tokens, std::int32_t priority) {
  const std::size_t whole = index.whole_pages(tokens.size());
  Scratch<Page> none;  // page 0: nothing is brought
  none.values.assign(whole, 0);
  const Index::Step step(index, Operation::insert);
  const InsertFacts facts{.priority = priority, .inserted = static_cast<Units>(whole * index.page())};
  index.tree().release(index.tree().insert({}, {space, tokens}, {std::span<const Page>(none.values)}, facts).lock);
}

}  // namespace

Added insert_from_root(nb::handle_t<Index> self, nb::handle tokens, nb::handle slots, nb::handle space,
                       std::int32_t priority) {
  const Owner index(self);
  Lock lock;
  Added added = insert(*index, lock, index->space_of(space), Tokens(tokens), slots, {.priority = priority});
  index->release(lock);
  if (index->failed()) index->raise_failure(nb::cast(added));
  return added;
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

void bind_insert(nb::module_& module) {
  nb::class_<Added>(module, "Added", "The result of an insert.")
      .def_ro("length", &Added::length, "tokens of the key that are now in the index, in whole pages")
      .def_ro("had", &Added::had, "those of them that were in the index before")
      .def_ro("spare", &Added::spare, "int64 slots that the caller passed for these and must free")
      .def("__repr__", [](const Added& added) {
        return "<canopy.Added: " + std::to_string(added.length) + " tokens, " + std::to_string(added.had) +
               " of them before>";
      });
}

}  // namespace canopy::python
