#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "block_queue.h"
#include "made.h"

namespace canopy::python {

namespace {

/// Calls a function of the queue. After an error, the queue that takes its place is called instead.
template <class Call, class... Arguments>
nb::object or_instead(BlockQueue& queue, const char* name, Call&& call, const Arguments&... arguments) {
  std::string text;
  try {
    return call();
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;  // KeyboardInterrupt is not the queue's
    text = error.what();
  } catch (const std::exception& error) {
    text = error.what();
  }
  return queue.instead()(text).attr(name)(arguments...);
}

/// Returns blocks as a list or a tuple: those of an iterator are there only once, and the queue that takes the place of
/// one that failed needs them too.
nb::object listed(nb::handle blocks) {
  nb::object all = nb::steal(PySequence_Fast(blocks.ptr(), "expected a list of blocks"));
  if (!all.is_valid()) nb::raise_python_error();
  return all;
}

using GroupRow = std::tuple<std::uint32_t, Units, bool>;

Ending ending_of(const std::string& name) {
  for (const Ending ending : {Ending::finished, Ending::aborted, Ending::retracted})
    if (name == NamesOf<Ending>::kAll[static_cast<std::size_t>(ending)]) return ending;
  throw nb::value_error("ending: expected finished, aborted or retracted");
}

/// A pool has its queue, and the queue has the pool's blocks, and a policy that may refer to the pool: Python's
/// collector must see it.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  return nb::inst_ptr<BlockQueue>(self)->each_object([&](nb::handle object) {
    Py_VISIT(object.ptr());
    return 0;
  });
}
int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<BlockQueue>(self)->let_go();
  return 0;
}

}  // namespace

void bind_block_queue(nb::module_& module) {
  using namespace nb::literals;
  static PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};
  nb::class_<BlockQueue>(module, "BlockQueue", nb::type_slots(slots),
                         "The free blocks of a pool of vLLM's, in the order of a policy, for canopy.engines.vllm. It "
                         "has the functions of vLLM's FreeKVCacheBlockQueue that vLLM calls.")
      .def(
          "__init__",
          [](BlockQueue* self, nb::list blocks, nb::list free, const std::vector<GroupRow>& groups, Units hash_tokens,
             nb::handle policy, const std::string& feed, nb::object instead) {
            std::vector<BlockQueue::Group> made;
            for (const auto& [number, tokens, linked] : groups) made.push_back({number, tokens, linked});
            new (self) BlockQueue(std::move(blocks), std::move(free), std::move(made), hash_tokens, policy, feed,
                                  std::move(instead));
          },
          "blocks"_a, "free"_a, "groups"_a, "hash_tokens"_a, "policy"_a, "feed"_a, "instead"_a,
          "blocks: all blocks of the pool, by number.\nfree: the free ones, first to leave first.\n"
          "groups: (number, tokens of a block, each block continues the one before it).\n"
          "hash_tokens: the tokens of a hash of a request.\npolicy: as for Index.\n"
          "feed: a name under which an inspector can attach; empty: none.\n"
          "instead: called with the text of an error of a function below; returns the queue that is called instead.")
      .def_prop_ro("num_free_blocks", &BlockQueue::free_count)
      .def("popleft", [](BlockQueue& self) { return or_instead(self, "popleft", [&] { return self.popleft(); }); })
      .def(
          "popleft_n",
          [](BlockQueue& self, std::size_t n) {
            return or_instead(self, "popleft_n", [&] { return nb::object(self.popleft_n(n)); }, n);
          },
          "n"_a)
      .def(
          "remove",
          [](BlockQueue& self, nb::handle block) {
            return or_instead(self, "remove", [&] { return self.remove(block), nb::none(); }, block);
          },
          "block"_a)
      .def(
          "append",
          [](BlockQueue& self, nb::handle block) {
            return or_instead(self, "append", [&] { return self.append_n(nb::make_tuple(block)), nb::none(); }, block);
          },
          "block"_a)
      .def(
          "append_n",
          [](BlockQueue& self, nb::handle given) {
            const nb::object blocks = listed(given);
            return or_instead(self, "append_n", [&] { return self.append_n(blocks), nb::none(); }, blocks);
          },
          "blocks"_a)
      .def(
          "prepend_n",
          [](BlockQueue& self, nb::handle given) {
            const nb::object blocks = listed(given);
            return or_instead(self, "prepend_n", [&] { return self.prepend_n(blocks), nb::none(); }, blocks);
          },
          "blocks"_a)
      .def("get_all_free_blocks", &BlockQueue::all_free,
           "Returns the free blocks: those without content as they leave, then the others as lru would order them.")
      .def("arrived", &BlockQueue::arrived, "again"_a, "prompt"_a,
           "Begins a request, and returns its number. again: its number, if it was preempted; or 0.")
      .def(
          "ended",
          [](BlockQueue& self, std::uint64_t request, std::uint32_t prompt, std::uint32_t tokens, nb::handle tables,
             nb::handle hashes, std::uint32_t hit, const std::string& ending) {
            self.ended(request, {prompt, tokens}, tables, hashes, hit, ending_of(ending));
          },
          "request"_a, "prompt"_a, "tokens"_a, "tables"_a, "hashes"_a, "hit"_a, "ending"_a,
          "Ends a request whose blocks are about to come back. prompt: its tokens. tokens: those of the prompt and the "
          "answer. tables: its blocks, a list for each group. hashes: those of all tokens. hit: tokens that it found. "
          "ending: finished, aborted or retracted.")
      .def("reset", &BlockQueue::reset, "Takes the content from all blocks. All must be free.")
      .def("is_free", &BlockQueue::is_free, "number"_a)
      .def_prop_ro("policy", &BlockQueue::policy)
      .def_prop_ro("feed", &BlockQueue::feed)
      .def("take_failure", &BlockQueue::take_failure, "Returns an error of the policy or the feed, once.")
      .def("poll", &BlockQueue::poll, "Serves an inspector that attached while there were no calls.")
      .def("facts", &BlockQueue::facts, "Returns blocks, free, spare, nodes and movable (nodes that could leave).");
}

}  // namespace canopy::python
