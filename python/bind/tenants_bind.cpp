#include "tenants_bind.h"

#include <canopy/retention.h>
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <optional>

#include "registry.h"

namespace canopy::python {
namespace {

constexpr double kMicroseconds = 1e6;

Retention retention_of(std::uint32_t tokens, double seconds, std::int32_t priority) {
  if (!(seconds >= 0)) refuse(Error{fmt::format("retention: seconds = {}; expected a number from 0", seconds)});
  const double us = seconds * kMicroseconds;
  constexpr double kLongest = 9e18;  // below 2^63
  return {tokens, us < kLongest ? static_cast<std::uint64_t>(std::llround(us)) : kUnlimited, priority};
}

double seconds_of(const Retention& retention) {
  return retention.us == kUnlimited ? HUGE_VAL : static_cast<double>(retention.us) / kMicroseconds;
}

/// Returns the help text of Engine.tenants: each figure with its rule.
std::string tenants_help() {
  std::string help =
      "Returns the tenants with shares: a list of dictionaries with name (\"*\": the others together; \"\": requests "
      "without a tenant), its share (floor, weight, ceiling, puts, pins) and its figures, in tokens of the first group "
      "unless the name says otherwise. Empty without `tenants`.\n";
  for (const TenantFigure& figure : kTenantFigures) help += std::string("\n") + figure.name + ": " + figure.rule;
  return help;
}

nb::list tenants_of(PyEngine& engine) {
  nb::list rows;
  for (const TenantUse& use : engine->tenants()) {
    nb::dict row;
    row["name"] = use.name;
    row["floor"] = use.share.floor;
    row["weight"] = use.share.weight;
    row["ceiling"] = use.share.ceiling == kUnlimited ? nb::none() : nb::object(nb::int_(use.share.ceiling));
    row["puts"] = use.share.puts == kUnlimited ? nb::none() : nb::object(nb::int_(use.share.puts));
    row["pins"] = use.share.pins;
    for (const TenantFigure& figure : kTenantFigures) row[figure.name] = use.*figure.figure;
    rows.append(row);
  }
  return rows;
}

nb::list payments_of(PyEngine& engine) {
  nb::list rows;
  for (const TenantPayment& payment : engine->payments()) {
    nb::dict row;
    row["from"] = payment.from;
    row["to"] = payment.to;
    row["tokens"] = payment.tokens;
    rows.append(row);
  }
  return rows;
}

}  // namespace

void bind_retention(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Retention>(
      module, "Retention",
      "A wish to keep the first `tokens` tokens of a prompt in the cache for `seconds` from the end of its request on, "
      "in the time of Engine.turn. math.inf: until Engine.flush. Policies see the highest "
      "`priority` as that of the request.")
      .def(
          "__init__",
          [](Retention* place, std::uint32_t tokens, double seconds, std::int32_t priority) {
            new (place) Retention(retention_of(tokens, seconds, priority));
          },
          "tokens"_a, "seconds"_a, "priority"_a = 0)
      .def_ro("tokens", &Retention::tokens)
      .def_prop_ro("seconds", &seconds_of)
      .def_ro("priority", &Retention::priority)
      .def("__repr__", [](const Retention& retention) {
        return fmt::format("Retention(tokens={}, seconds={}, priority={})", retention.tokens, seconds_of(retention),
                           retention.priority);
      });
}

void bind_tenants(nb::class_<PyEngine>& engine) {
  using namespace nb::literals;
  engine
      .def(
          "set_share",
          [](PyEngine& of, const std::string& tenant, std::uint64_t floor, double weight,
             std::optional<std::uint64_t> ceiling, std::optional<std::uint64_t> puts, std::uint64_t pins) {
            take(of->set_share(tenant, {.floor = floor,
                                        .weight = weight,
                                        .ceiling = ceiling.value_or(kUnlimited),
                                        .puts = puts.value_or(kUnlimited),
                                        .pins = pins}));
            of.check();
          },
          "tenant"_a, nb::kw_only(), "floor"_a = 0, "weight"_a = 1.0, "ceiling"_a = nb::none(), "puts"_a = nb::none(),
          "pins"_a = 0,
          "Gives a tenant another share in the pools and in the host tier, or one of its own. In tokens of the first "
          "group; in other groups in proportion to their capacity.\n"
          "floor: cached tokens that are not evicted for other tenants.\n"
          "weight: above the floors, the tenant with the most tokens per weight loses first.\n"
          "ceiling: most cached tokens; None: no limit.\n"
          "puts: most tokens per minute that are put into the storage; None: no limit.\n"
          "pins: most tokens that retention keeps.\n"
          "What is above a new ceiling leaves at the next operation of the tenant. Raises ValueError if the floors "
          "then "
          "exceed the pool, or if the engine was configured without `tenants`.")
      .def("tenants", &tenants_of, tenants_help().c_str())
      .def("payments", &payments_of,
           "Returns the tokens that left one tenant for another: a list of dictionaries with from, to and tokens.");
}

}  // namespace canopy::python
