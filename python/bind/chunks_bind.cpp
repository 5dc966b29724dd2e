#include <nanobind/stl/string.h>

#include "chunks.h"

namespace canopy::python {

void bind_chunks(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "quiet_exit", [] { nb::set_leak_warnings(false); },
      "Prints no list of objects that are alive when Python ends: a server ends with its caches alive.");
  nb::class_<ChunkRequest>(module, "ChunkRequest", "What Chunks keeps in the context of a request.");
  nb::class_<Chunks>(module, "Chunks",
                     "The chunks of vLLM's CPU tier and their order of eviction, for canopy.engines.vllm. The "
                     "functions are those of vLLM's CachePolicy.")
      .def(nb::init<std::uint64_t, nb::handle, const std::string&, const nb::dict&>(), "capacity"_a, "policy"_a,
           "feed"_a = "", "tokens"_a = nb::dict(),
           "capacity: chunks.\npolicy: as for Index.\nfeed: a name under which an inspector can attach; empty: none.\n"
           "tokens: tokens of a chunk, by KV cache group; otherwise as the first key of a request says.")
      .def_prop_ro("chunks", &Chunks::chunks, "the chunks by key; only this object may change it")
      .def_prop_ro("policy", &Chunks::policy)
      .def_prop_ro("feed", &Chunks::feed)
      .def("take_failure", &Chunks::take_failure, "Returns an error of the policy or the feed, once.")
      .def("accessed", &Chunks::accessed, "keys"_a, "context"_a)
      .def("insert", &Chunks::insert, "key"_a, "chunk"_a, "context"_a.none())
      .def("remove", &Chunks::remove, "key"_a)
      .def("mark_evictable", &Chunks::unpin, "key"_a)
      .def("mark_non_evictable", &Chunks::pin, "key"_a)
      .def("finished", &Chunks::finished, "key_groups"_a, "reused"_a, "context"_a)
      .def("evict", &Chunks::evict, "count"_a, "protected"_a,
           "Evicts exactly `count` chunks, none of them protected, and returns them as (key, chunk); None, and nothing "
           "is evicted, if that many cannot leave.")
      .def("clear", &Chunks::clear)
      .def("poll", &Chunks::poll, "Serves an inspector that attached while there were no calls.")
      .def("facts", &Chunks::facts,
           "Returns chunks, movable (chunks that evictions could remove), page_size, and evictable and protected "
           "tokens.");
}

}  // namespace canopy::python
