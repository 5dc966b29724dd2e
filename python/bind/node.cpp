#include "node.h"

namespace canopy::python {

const NodeFacts& BorrowedNode::get() const {
  if (facts) return *facts;
  PyErr_SetString(PyExc_ReferenceError,
                  "this node was borrowed for one call of the policy, which has ended; copy the facts that you need");
  throw nb::python_error();
}

void NodeLender::renew() {
  auto* const view = new BorrowedNode;
  object_ = nb::cast(view, nb::rv_policy::take_ownership);
  view_ = view;
}

void bind_node(nb::module_& module) {
  const auto fact = [](auto member) { return [member](const BorrowedNode& node) { return node.get().*member; }; };
  nb::class_<BorrowedNode>(
      module, "Node",
      "A node of the index, for a policy. It is borrowed for one call of the policy: reading it later raises "
      "ReferenceError. Lengths are in tokens (bigrams for EAGLE), times are ticks of the index's logical clock, which "
      "counts operations.")
      .def_prop_ro(
          "id", [](const BorrowedNode& node) { return static_cast<std::uint64_t>(node.get().id); },
          "unique among all nodes that the index ever has")
      .def_prop_ro(
          "space", [](const BorrowedNode& node) { return static_cast<std::uint32_t>(node.get().space); },
          "number of its namespace; 0 is the shared one")
      .def_prop_ro("begin", fact(&NodeFacts::begin), "depth where the node starts, in tokens from the root")
      .def_prop_ro("length", fact(&NodeFacts::length), "tokens of the node")
      .def_prop_ro("hits", fact(&NodeFacts::hits), "matches that used it")
      .def_prop_ro("inserts", fact(&NodeFacts::inserts), "inserts that ended in it, or in nodes evicted from below it")
      .def_prop_ro("children", fact(&NodeFacts::children))
      .def_prop_ro("priority", fact(&NodeFacts::priority), "highest priority of the requests that inserted through it")
      .def_prop_ro("created", fact(&NodeFacts::created), "tick of its insertion")
      .def_prop_ro("last_access", fact(&NodeFacts::last_access),
                   "tick of its last use; 0: not used since it was inserted")
      .def_prop_ro("spared", fact(&NodeFacts::spared), "tick at which `spare` last kept it; 0: never")
      .def_prop_ro(
          "now", [](const BorrowedNode& node) { return node.get().clock.now; }, "tick of this operation")
      .def_prop_ro(
          "allocated", [](const BorrowedNode& node) { return node.get().clock.allocated; },
          "tokens inserted since the index was made")
      .def_prop_ro(
          "used", [](const BorrowedNode& node) { return node.get().clock.used; }, "tokens resident now")
      .def_prop_ro(
          "capacity", [](const BorrowedNode& node) { return node.get().clock.capacity; },
          "tokens that the pool may hold; 2**64 - 1: unlimited")
      .def_prop_rw(
          "tag", [](const BorrowedNode& node) { return node.get().tag ? *node.get().tag : 0; },
          [](const BorrowedNode& node, std::uint64_t tag) {
            if (std::uint64_t* const word = node.get().tag) *word = tag;
          },
          "64-bit word for the policy's own use; 0 on a new node, copied to both halves of a split");
}

}  // namespace canopy::python
