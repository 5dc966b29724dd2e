#include "request.h"

#include <nanobind/stl/string.h>

#include "columns.h"
#include "integers.h"
#include "slots.h"

namespace canopy::python {
namespace {

void bind_request_alone(nb::module_& module) {
  using namespace nb::literals;
  const auto number = [](auto member) {
    return [member](const PyRequest& request) { return (request.get().*member)(); };
  };
  nb::class_<PyRequest>(
      module, "Request",
      "A running request of an Engine: begin, reserve, advance, commit, finish (or abort, retract and resume). Counts "
      "are tokens. It counts as a request of the engine once it is admitted; one that ends before, such as one that "
      "found no room, was only a try. As a context manager it aborts the request if it has not ended. A call that "
      "breaks a rule changes "
      "nothing and raises RuntimeError.")
      .def_prop_ro("id", number(&Request::id))
      .def_prop_ro("matched", number(&Request::matched),
                   "tokens that were resident when it began and need no computing")
      .def_prop_ro("computed", number(&Request::computed))
      .def_prop_ro("committed", number(&Request::committed), "tokens whose pages are in the index")
      .def_prop_ro("reserved", number(&Request::reserved), "tokens that may be written")
      .def_prop_ro("retained", number(&Request::retained),
                   "tokens that the engine promised to keep after finish(): the longest retention within the pins of "
                   "its tenant")
      .def_prop_ro("ended", number(&Request::ended))
      .def_prop_ro("admitted", number(&Request::admitted),
                   "True once it counts as a request: reserve() has returned True, or a token was marked as computed")
      .def_prop_ro(
          "tokens",
          [](const PyRequest& request) {
            const std::span<const Token> tokens = request.get().tokens();
            return column(std::vector<Token>(tokens.begin(), tokens.end()));
          },
          "prompt and output so far: uint32")
      .def(
          "reserve",
          [](PyRequest& request, std::uint32_t tokens) {
            return request.serve([&](Request& to) { return to.reserve(tokens); });
          },
          "tokens"_a,
          "Takes pages for the first `tokens` tokens; evicts exactly what is missing. Returns False, and nothing has "
          "changed, if there is no room.")
      .def(
          "append",
          [](PyRequest& request, nb::handle ids) {
            const Tokens tokens(ids);
            request.serve([&](Request& to) { to.append(tokens.get()); });
          },
          "tokens"_a, "Adds tokens. Reserve pages for them before they are computed.")
      .def(
          "advance",
          [](PyRequest& request, std::uint32_t tokens) { request.serve([&](Request& to) { to.advance(tokens); }); },
          "tokens"_a, "Records that the first `tokens` tokens are computed. Nothing becomes reusable yet.")
      .def(
          "commit",
          [](PyRequest& request, std::uint32_t tokens) {
            return request.serve([&](Request& to) { return to.commit(tokens); });
          },
          "tokens"_a,
          "Advances, and makes the whole pages reusable. Returns the number of tokens that another request had "
          "committed first.")
      .def(
          "rematch", [](PyRequest& request) { return request.serve([](Request& to) { return to.rematch(); }); },
          "Takes over those of its tokens that others have committed since. Returns the number of these tokens.")
      .def(
          "finish",
          [](PyRequest& request, std::uint32_t tokens) { request.serve([&](Request& to) { to.finish(tokens); }); },
          "tokens"_a,
          "Commits and ends the request. 0: nothing new becomes reusable. It ends also if it has fewer tokens, which "
          "raises RuntimeError.")
      .def("abort", [](PyRequest& request) { request.serve([](Request& to) { to.abort(); }); })
      .def(
          "retract", [](PyRequest& request) { request.serve([](Request& to) { to.retract(); }); },
          "Gives back all pages and keeps the tokens, until resume().")
      .def(
          "resume", [](PyRequest& request) { return request.serve([](Request& to) { return to.resume(); }); },
          "Matches again. Returns the tokens that are resident now.")
      .def(
          "pages",
          [](PyRequest& request, std::size_t group) {
            request.engine().need_group(group);
            const auto row = request.serve([&](Request& of) { return of.row(group); });
            return column(std::vector<Page>(row.begin(), row.end()));
          },
          "group"_a = 0, "Returns the page numbers of a group in token order: uint32; 0 where it has none.")
      .def(
          "slots",
          [](PyRequest& request, std::size_t group) {
            request.engine().need_group(group);
            const auto row = request.serve([&](Request& of) { return of.row(group); });
            return slots_of(row, request.engine()->page_size());
          },
          "group"_a = 0, "Returns the slots of those pages: int64, shape (pages * page_size,).")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](PyRequest& request, nb::args) {
        if (!request.get().ended()) request.serve([](Request& to) { to.abort(); });
      });
}

void bind_fetch(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<PyFetch>(module, "Fetch",
                      "A prefix that Engine.fetch copies from the tier below for a waiting request. It becomes visible "
                      "in Engine.turn, and is held until Engine.begin takes it. drop() or the end of the object "
                      "releases it.")
      .def_prop_ro(
          "done", [](const PyFetch& fetch) { return fetch.get().done(); }, "True if nothing more will be copied")
      .def_prop_ro(
          "tokens", [](const PyFetch& fetch) { return fetch.get().tokens(); }, "tokens that it copies or has copied")
      .def_prop_ro(
          "ends_us", [](const PyFetch& fetch) { return fetch.get().ends_us(); },
          "time at which the copy ends, in the time of Engine.turn; 0: it is done")
      .def_prop_ro(
          "took_us", [](const PyFetch& fetch) { return fetch.get().took_us(); },
          "microseconds from the call of Engine.fetch to the end of the copy, or until now if it has not ended")
      .def(
          "ready", [](const PyFetch& fetch, std::uint64_t again_us) { return fetch.get().ready(again_us); },
          "again_us"_a = 0,
          "Returns True if the request should begin now: everything is copied or, by the policy of tiers.prefetch, it "
          "has waited long enough and computes the rest. again_us: microseconds until the next call at the earliest, "
          "such as the scheduler's next step; a copy that ends sooner cannot be used sooner.")
      .def(
          "ready_us", [](const PyFetch& fetch, std::uint64_t again_us) { return fetch.get().ready_us(again_us); },
          "again_us"_a = 0,
          "Returns the time at which to call Engine.turn and ready() again, in the time of Engine.turn, because "
          "ready() "
          "may be true then; 0 if it is true now.")
      .def("drop", &PyFetch::drop, "Releases the prefix.");
}

}  // namespace

void bind_request(nb::module_& module) {
  bind_request_alone(module);
  bind_fetch(module);
}

}  // namespace canopy::python
