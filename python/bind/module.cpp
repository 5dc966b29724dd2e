#include <nanobind/nanobind.h>

#include "block_queue.h"
#include "chunk_storage_bind.h"
#include "chunks.h"
#include "engine.h"
#include "feed.h"
#include "group_index.h"
#include "index.h"
#include "integers.h"
#include "key_matcher.h"
#include "lab.h"
#include "node.h"
#include "policy.h"
#include "registry.h"
#include "replay.h"

// nanobind's function for the import, which a subinterpreter must not reach: it would replace the types of the main one.
#define PyInit__core canopy_core_import
NB_MODULE(_core, module) {
  using namespace canopy::python;
  module.doc() = "The binding of Canopy's core. Import `canopy` instead.";
  nb::exception<UnfitKey>(module, "UnfitKey", PyExc_ValueError);
  bind_registry(module);
  bind_node(module);
  bind_policy(module);
  bind_index(module);
  bind_group_index(module);
  bind_key_matcher(module);
  bind_chunks(module);
  bind_block_queue(module);
  bind_chunk_storage(module);
  bind_engine(module);
  bind_replay(module);
  bind_lab(module);
  bind_feed(module);
}

#undef PyInit__core
extern "C" NB_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return canopy_core_import();
  PyErr_SetString(PyExc_ImportError, "canopy can be used in Python's main interpreter only");
  return nullptr;
}
