#pragma once

#include <canopy/eviction_strategy.h>
#include <nanobind/nanobind.h>

#include <utility>

namespace nb = nanobind;

namespace canopy::python {

/// A node for a policy in Python. It is borrowed for one call: a property that is read later raises ReferenceError.
struct BorrowedNode {
  const NodeFacts* facts = nullptr;

  const NodeFacts& get() const;
};

/// Makes node views, and reuses one of them as long as Python keeps none.
class NodeLender {
 public:
  /// Lends a node for its own lifetime.
  class Loan {
   public:
    Loan(NodeLender& lender, const NodeFacts& facts) : lender_(lender) {
      if (!lender.object_.is_valid()) lender.renew();
      lender.view_->facts = &facts;
      object_ = lender.object_;
    }
    ~Loan() {
      lender_.view_->facts = nullptr;
      object_.reset();
      if (Py_REFCNT(lender_.object_.ptr()) > 1) lender_.object_.reset();  // Python keeps it: it stays empty
    }
    Loan(const Loan&) = delete;
    PyObject* get() const { return object_.ptr(); }

   private:
    NodeLender& lender_;
    nb::object object_;
  };

 private:
  void renew();

  nb::object object_;
  BorrowedNode* view_ = nullptr;
};

void bind_node(nb::module_& module);

}  // namespace canopy::python
