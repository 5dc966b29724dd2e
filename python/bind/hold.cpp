#include "hold.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "insert.h"
#include "slots.h"

namespace canopy::python {
namespace {

constexpr std::uint32_t kKept = 256;  // objects of a type that are reused

nb::object slots(Hold& hold, Units start) {
  const Lock& lock = hold.held();
  Index& index = hold.index();
  need_start(index, start, lock.length);
  const Index::Step step(index, Operation::none);
  return slots_of(index.tree().pages(lock, start)[0], index.slots_a_page());
}

}  // namespace

Matched match(nb::handle_t<Index> self, const Tokens& tokens, nb::handle space) {
  Index& index = made_by<Index>(self);
  const std::optional<Index::SpaceUse> in = index.find(space);
  nb::object hit = made<Hit>(Owner(self), in.value_or(Index::SpaceUse(index, NamespaceId::shared)),
                             in ? nb::object() : nb::borrow(space));
  Found found;
  {
    const Index::Step step(index, Operation::begin);
    if (in) found = index.tree().find({*in, tokens.get()});
  }
  index.raise_failure();
  nb::inst_ptr<Hit>(hit)->node = found.node;
  nb::inst_ptr<Hit>(hit)->length = found.length;
  return {std::move(hit), found.length};
}

nb::object no_hit(nb::handle_t<Index> self) {
  return made<Hit>(Owner(self), Index::SpaceUse(made_by<Index>(self), NamespaceId::shared));
}

void need_start(const Index& index, Units start, Units length) {
  if (start > length || start % index.page() != 0)
    throw nb::value_error("slots: `start` must be a multiple of the page size, and at most the length");
}

void bind_hold(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Hit>(module, "Hit", nb::pooled(kKept),
                  "The result of Index.match. It holds nothing: any later call may evict the prefix.")
      .def_prop_ro(
          "length", [](const Hit& hit) { return hit.length; }, "tokens found, in whole pages")
      .def_prop_ro(
          "node", [](const Hit& hit) { return static_cast<std::uint64_t>(hit.node); },
          "id of the node in which the match ended; 0: nothing was found")
      .def("__len__", [](const Hit& hit) { return hit.length; })
      .def("__repr__", [](const Hit& hit) { return "<canopy.Hit of " + std::to_string(hit.length) + " tokens>"; });

  nb::class_<Hold>(
      module, "Hold", nb::pooled(kKept),
      "A prefix that cannot be evicted until release(), the end of a `with` block, or the end of the object.")
      .def_prop_ro(
          "length", [](const Hold& hold) { return hold.lock().length; }, "tokens held, in whole pages")
      .def_prop_ro("node", [](const Hold& hold) { return static_cast<std::uint64_t>(hold.lock().node); })
      .def_prop_ro("hit", &Hold::hit, "the same prefix as a hit, which holds nothing")
      .def("slots", &slots, "start"_a = 0,
           "Returns the slots of the held tokens from `start` on: int64, shape (length - start,). `start` must be a "
           "multiple of the page size.")
      .def("insert", &insert_below, "tokens"_a, "slots"_a, nb::kw_only(), "space"_a = nb::none(), "priority"_a = 0,
           "chunked"_a = false, "inserted"_a = 0, "boundary"_a = 0, "limit"_a = nb::none(),
           nb::sig("def insert(self, tokens: object, slots: object, *, space: object | None = None, priority: int = 0, "
                   "chunked: bool = False, inserted: int = 0, boundary: int = 0, limit: int | None = None) -> Added"),
           "Adds the whole pages of `tokens`, which begin with the held ones, and holds them too.\n"
           "slots: one for each token after the held length.\n"
           "chunked: the request is still in its prefill.\n"
           "inserted: tokens that this request has inserted before.\n"
           "space: the namespace, if nothing is held yet.\n"
           "boundary: a node ends after the whole pages of this many tokens, such as those of the prompt, so that the "
           "rest can be evicted on its own.")
      .def("release", &Hold::release, "Releases the prefix, which may be evicted then. Does nothing the second time.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](Hold& hold, nb::args) { hold.release(); })
      .def("__len__", [](const Hold& hold) { return hold.lock().length; })
      .def("__repr__",
           [](const Hold& hold) { return "<canopy.Hold of " + std::to_string(hold.lock().length) + " tokens>"; });
  module.def(
      "release",
      [](Hold* hold) {
        if (hold) hold->release();
      },
      "hold"_a.none(), "Releases a Hold; does nothing for None.");
}

}  // namespace canopy::python
