#pragma once

#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>
#include <nanobind/nanobind.h>

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "agreement.h"
#include "policy.h"

namespace nb = nanobind;

namespace canopy::python {

/// An engine with its Python objects: policies, and an agreement with other ranks.
class PyEngine {
 public:
  /// Makes the engine; see Engine in Python. Throws ValueError with the place of each mistake.
  PyEngine(nb::handle config, nb::handle changes, nb::handle agreement);
  Engine& operator*() { return *engine_; }
  Engine* operator->() { return engine_.get(); }

  NamespaceId space_of(nb::handle space);
  void use_policy(nb::handle policy, std::size_t group);
  /// Throws IndexError if there is no such group.
  void need_group(std::size_t group) const;
  /// Raises the exception of a policy or of the agreement in Python, or else RuntimeError for a violation in the last
  /// call.
  void check();
  /// Ends a request or drops a fetch whose object is destroyed, if a call of the engine is running: after it. It is the
  /// only one of its list, so that this needs no memory.
  void end(std::list<Request>& request) noexcept;
  void end(std::list<Fetch>& fetch) noexcept;
  /// Returns the whole configuration as YAML.
  std::string dump() const;

 private:
  EngineConfig config_;
  std::vector<std::shared_ptr<PythonPolicy>> in_python_;
  std::unique_ptr<PythonAgreement> agreement_;  ///< null: there is one rank
  std::unique_ptr<Engine> engine_;
  std::list<Request> late_requests_;  ///< destroyed inside a call, and not ended yet
  std::list<Fetch> late_fetches_;
  std::uint64_t seen_ = 0;  ///< violations that were raised so far
};

void bind_engine(nb::module_& module);

}  // namespace canopy::python
