#include "engine.h"

#include <canopy/base/printable.h>

#include "configuration.h"
#include "feed_exit.h"
#include "registry.h"
#include "spaces.h"

namespace canopy::python {

PyEngine::PyEngine(nb::handle config, nb::handle changes, nb::handle agreement) {
  YamlNode document = document_of(config);
  set_values(document, changes);
  config_ = config_of(document);
  if (!agreement.is_none()) agreement_ = std::make_unique<PythonAgreement>(nb::borrow(agreement));
  engine_ = take(Engine::create(config_, registry(), nullptr, agreement_.get()));
  remove_at_exit(config_.feed);
}

NamespaceId PyEngine::space_of(nb::handle space) {
  return with_space(space, [&](const Space& parts) { return engine_->intern(parts); });
}

void PyEngine::use_policy(nb::handle policy, std::size_t group) {
  need_group(group);
  Policy made = make_policy(policy);
  if (made.in_python) in_python_.push_back(made.in_python);
  auto done = engine_->use_policy(group, made.strategy, made.name);
  if (!done && made.in_python) in_python_.pop_back();
  check();
  if (done || engine_->is_running()) return;  // a call that is running reports this one at its end
  take(std::move(done));
}

void PyEngine::need_group(std::size_t group) const {
  if (group >= engine_->groups())
    throw nb::index_error(("there are " + std::to_string(engine_->groups()) + " groups, numbered from 0").c_str());
}

void PyEngine::end(std::list<Request>& request) noexcept {
  if (engine_->is_running()) late_requests_.splice(late_requests_.end(), request);
}

void PyEngine::end(std::list<Fetch>& fetch) noexcept {
  if (engine_->is_running()) late_fetches_.splice(late_fetches_.end(), fetch);
}

void PyEngine::check() {
  while (!engine_->is_running() && !(late_requests_.empty() && late_fetches_.empty())) {
    const auto requests = std::exchange(late_requests_, {});  // their ends may bring more of them
    const auto fetches = std::exchange(late_fetches_, {});
  }
  for (const auto& policy : in_python_)
    if (policy->failed()) policy->raise_failure();
  const Ledger& ledger = engine_->ledger();
  if (agreement_ && agreement_->failed()) {
    seen_ = ledger.violations();
    agreement_->raise_failure();
  }
  if (ledger.violations() == seen_) return;
  seen_ = ledger.violations();
  const std::string why = ledger.reports().empty() ? "the ledger has a violation" : ledger.reports().back();
  PyErr_SetString(PyExc_RuntimeError, printable(why).c_str());
  throw nb::python_error();
}

std::string PyEngine::dump() const { return dump_engine_config(config_, registry()); }

}  // namespace canopy::python
