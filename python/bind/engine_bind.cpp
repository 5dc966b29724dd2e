#include <canopy/engine/engine.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#include "configuration.h"
#include "doubts.h"
#include "integers.h"
#include "made.h"
#include "nodes.h"
#include "request.h"
#include "tenants_bind.h"

namespace canopy::python {
namespace {

struct Arrival {
  std::int32_t priority = 0;
  std::uint64_t hints = 0;
  std::uint32_t output_limit = 0, min_uncached = 1, chunk = 0;
  std::vector<Retention> retention = {};
};

/// Not as an argument of this type: nanobind makes a vector in a function that throws nothing, which ends the process
/// without memory.
std::vector<Retention> retentions_of(nb::handle given) {
  std::vector<Retention> all;
  for (const nb::handle one : given) {
    if (!nb::isinstance<Retention>(one)) throw nb::type_error("retention: expected a sequence of canopy.Retention");
    all.push_back(nb::cast<Retention>(one));
  }
  return all;
}

RequestSpec spec_of(const Tokens& prompt, NamespaceId space, const Arrival& arrival) {
  return {prompt.get(),         space,         arrival.priority, arrival.hints, arrival.output_limit,
          arrival.min_uncached, arrival.chunk, arrival.retention};
}

std::unique_ptr<PyRequest> begin(nb::handle_t<PyEngine> self, nb::handle ids, nb::handle space, Arrival arrival,
                                 PyFetch* fetched) {
  PyEngine& engine = made_by<PyEngine>(self);
  const Tokens prompt(ids);
  const NamespaceId interned = engine.space_of(space);
  Request request = engine->begin(spec_of(prompt, interned, arrival), fetched ? fetched->give(self) : Fetch());
  engine.check();
  return std::make_unique<PyRequest>(self, std::move(request));
}

std::unique_ptr<PyFetch> fetch(nb::handle_t<PyEngine> self, nb::handle ids, nb::handle space, Arrival arrival) {
  PyEngine& engine = made_by<PyEngine>(self);
  const Tokens prompt(ids);
  Fetch fetch = engine->tiers().fetch(spec_of(prompt, engine.space_of(space), arrival));
  engine.check();
  return std::make_unique<PyFetch>(self, std::move(fetch));
}

nb::tuple admits(PyEngine& engine, nb::handle ids, nb::handle space, Arrival arrival) {
  const Tokens prompt(ids);
  const Admission answer = engine->admits(spec_of(prompt, engine.space_of(space), arrival));
  return nb::make_tuple(name_of(answer.verdict), answer.reason);
}

/// Returns the help text of Engine.counters: each counter with its rule.
std::string counters_help() {
  std::string help = "counts since the engine was created:\n";
  for (const EngineCounterInfo& info : kEngineCounters) help += std::string("\n") + info.name + ": " + info.rule;
  return help;
}

nb::dict counters_of(PyEngine& engine) {
  nb::dict row;
  for_each_counter(engine->counters(), [&](const EngineCounterInfo& info, auto value) { row[info.name] = value; });
  return row;
}

/// Returns the counters of a tier without its name at their ends. A counter with rows is a dict, by group, lane or
/// outcome.
nb::dict counters_of_tier(PyEngine& engine, std::string_view tier) {
  const CounterValues counters = engine->tiers().counters();
  nb::dict row;
  for_each_counter([&](Counter counter, const CounterInfo& info) {
    if (info.tier != tier) return;
    nb::dict rows;
    for (std::size_t r = 0; r < info.rows.size; ++r) {
      const auto key = [&](const CounterAxis& axis, std::size_t at) {
        return nb::str(axis.names.empty() ? engine->pool(at).group().c_str() : axis.names[at]);
      };
      if (is_by(info.rows, "group") && r >= engine->groups()) break;
      nb::dict columns;
      nb::object value;
      for (std::size_t c = 0; c < info.columns.size; ++c) {
        const std::uint64_t count = counters.at(counter, r, c);
        value = count == kUnlimited ? nb::none() : nb::object(nb::int_(count));
        if (info.columns.label) columns[key(info.columns, c)] = value;
      }
      if (info.columns.label) value = columns;
      const std::string_view name = info.name_in_tier();
      if (info.rows.label) rows[key(info.rows, r)] = value;
      row[nb::str(name.data(), name.size())] = info.rows.label ? nb::object(rows) : value;
    }
  });
  return row;
}

/// Returns the counters of the host tier; None if there is none.
nb::object host_tier_of(PyEngine& engine) {
  return engine->tiers().has_host() ? nb::object(counters_of_tier(engine, "host")) : nb::none();
}
/// Returns the counters of the storage below the host tier; None if there is none.
nb::object storage_of(PyEngine& engine) {
  return engine->tiers().has_storage() ? nb::object(counters_of_tier(engine, "storage")) : nb::none();
}

nb::dict pool_of(PyEngine& engine, std::size_t group) {
  engine.need_group(group);
  const PoolView pool = engine->pool(group);
  const Sizes sizes = engine->index().sizes(group);
  nb::dict row;
  row["group"] = pool.group();
  row["policy"] = engine->policy(group);
  row["limit"] = pool.limit() == kUnlimited ? nb::none() : nb::object(nb::int_(pool.limit()));
  row["pages"] = pool.occupancy().capacity;
  row["free"] = pool.occupancy().free;
  row["evictable"] = sizes.evictable / engine->page_size();
  row["protected"] = sizes.protected_ / engine->page_size();
  row["owned"] = engine->owned_pages(group);
  return row;
}

}  // namespace

void bind_engine(nb::module_& module) {
  using namespace nb::literals;
  module.def("group_names", [](nb::handle config) { return groups_of(document_of(config)); }, "config"_a);
  bind_request(module);
  bind_retention(module);
  auto bound =
      nb::class_<PyEngine>(
          module, "Engine",
          "A whole prefix cache, composed from a configuration: index, pools, stores, policies and running requests. "
          "For "
          "one thread at a time. After every call the ledger is checked; a violation raises RuntimeError with an error "
          "message.")
          .def(
              "__init__",
              [](PyEngine* place, nb::handle config, nb::handle changes, nb::handle agreement) {
                new (place) PyEngine(config, changes, agreement);
              },
              "config"_a, "set"_a = nb::none(), nb::kw_only(), "agreement"_a = nb::none(),
              "config: a path, YAML text, or a dictionary.\nset: changes of it, {'groups.full.capacity': 3_000_000}.\n"
              "agreement: if each rank of a model has an engine, a callable that turn() calls once with a NumPy array "
              "of "
              "int64, and that replaces each value with the least of all ranks: lambda values: "
              "torch.distributed.all_reduce(torch.from_numpy(values), torch.distributed.ReduceOp.MIN, group).\n"
              "Raises ValueError with the place of each mistake.")
          .def(
              "begin",
              [](nb::handle_t<PyEngine> self, nb::handle prompt, nb::handle space, std::int32_t priority,
                 std::uint64_t hints, std::uint32_t output_limit, std::uint32_t min_uncached, std::uint32_t chunk,
                 PyFetch* fetched, nb::typed<nb::sequence, Retention> retention) {
                return begin(self, prompt, space,
                             {priority, hints, output_limit, min_uncached, chunk, retentions_of(retention)}, fetched);
              },
              "prompt"_a, nb::kw_only(), "space"_a = nb::none(), "priority"_a = 0, "hints"_a = 0, "output_limit"_a = 0,
              "min_uncached"_a = 1, "chunk"_a = 0, "fetch"_a.none() = nb::none(), "retention"_a = nb::tuple(),
              "Returns a request that has a lock on its longest resident prefix. fetch: the result of fetch() for it.\n"
              "retention: prefixes to keep after finish(), within the pins of its tenant; Request.retained has the "
              "promises.")
          .def(
              "fetch",
              [](nb::handle_t<PyEngine> self, nb::handle prompt, nb::handle space, std::int32_t priority,
                 std::uint64_t hints, std::uint32_t output_limit, std::uint32_t min_uncached, std::uint32_t chunk) {
                return fetch(self, prompt, space, {priority, hints, output_limit, min_uncached, chunk});
              },
              "prompt"_a, nb::kw_only(), "space"_a = nb::none(), "priority"_a = 0, "hints"_a = 0, "output_limit"_a = 0,
              "min_uncached"_a = 1, "chunk"_a = 0,
              "Begins to copy what the tier below has of a waiting request, beyond what the pools have. Returns a "
              "Fetch; "
              "without a tier, it copies nothing.")
          .def(
              "turn",
              [](PyEngine& engine, std::uint64_t now_us) {
                engine->turn(now_us);
                engine.check();
              },
              "now_us"_a,
              "Advances the time: makes the copies visible that have ended by then, and ends the retention whose time "
              "is "
              "over. Call it once before each step, with the caller's own time.")
          .def_prop_ro(
              "next_end_us",
              [](PyEngine& engine) {
                const std::uint64_t next = engine->tiers().next_end_us();
                return next == kUnlimited ? nb::none() : nb::object(nb::int_(next));
              },
              "time at which the next copy ends, in the time of turn(); None: no copy is pending")
          .def_prop_ro("host_tier", &host_tier_of,
                       "counters of the tier below the pools, some by group, lane or outcome; None: no such tier")
          .def_prop_ro("storage", &storage_of, "counters of the storage below that tier; None: no such storage")
          .def(
              "admits",
              [](PyEngine& engine, nb::handle prompt, nb::handle space, std::int32_t priority, std::uint64_t hints,
                 std::uint32_t output_limit, std::uint32_t min_uncached, std::uint32_t chunk) {
                return admits(engine, prompt, space, {priority, hints, output_limit, min_uncached, chunk});
              },
              "prompt"_a, nb::kw_only(), "space"_a = nb::none(), "priority"_a = 0, "hints"_a = 0, "output_limit"_a = 0,
              "min_uncached"_a = 1, "chunk"_a = 0, "Returns ('now' | 'wait' | 'never', reason). Changes nothing.")
          .def("use_policy", &PyEngine::use_policy, "policy"_a, "group"_a = 0)
          .def(
              "make_free",
              [](PyEngine& engine, std::uint64_t pages, std::size_t group) {
                engine.need_group(group);
                const bool free = engine->make_free(group, pages);
                engine.check();
                return free;
              },
              "pages"_a, "group"_a = 0,
              "Evicts until `pages` pages are free or nothing more may be evicted. Returns True if they are free.")
          .def(
              "flush",
              [](PyEngine& engine, nb::handle space) {
                const std::uint64_t tokens = engine->flush(engine.space_of(space));
                engine.check();
                return tokens;
              },
              "space"_a,
              "Ends all retention in a namespace, and evicts everything in it that is not locked. Returns the tokens "
              "freed "
              "in the first group.")
          .def(
              "resize",
              [](PyEngine& engine, std::uint64_t pages, std::size_t group) {
                engine.need_group(group);
                engine->resize(group, pages);
                engine.check();
              },
              "pages"_a, "group"_a = 0, "Sets the limit of a pool, in pages.")
          .def(
              "audit",
              [](PyEngine& engine) {
                engine->audit();
                engine.check();
              },
              "Proves that every page has one owner; raises RuntimeError if not. O(pool).")
          .def(
              "doubts", [](PyEngine& engine) { return list_of(engine->doubts()); },
              "Returns the reasons why figures of this engine are not those of the configured one, each with kind, "
              "count "
              "and sentence: memory that the system refused to a pool, an index or the host tier, and components that "
              "failed. Empty: there are none.")
          .def(
              "poll",
              [](PyEngine& engine) {
                const bool runs = engine->poll();
                engine.check();
                return runs;
              },
              "Serves an inspector between operations. Returns False while it has paused the engine.")
          .def(
              "columns",
              [](PyEngine& engine) {
                nb::dict columns = columns_of([&](NodeVisitor& visitor) { engine->index().visit(visitor); },
                                              [&](NamespaceId space) { return engine->name_of(space); });
                engine.check();  // an index that broke off
                return columns;
              },
              "Returns the nodes as a dictionary of columns, parents before children. O(tree).")
          .def("tree", &tree_of, "form"_a = "text", "lines"_a = 40,
               "Returns the nodes as \"text\" (about `lines` lines) or as a \"frame\" (pandas).")
          .def("pool", &pool_of, "group"_a = 0, "Returns a group's pool, in pages.")
          .def_prop_ro("groups", [](PyEngine& engine) { return engine->groups(); })
          .def_prop_ro("page_size", [](PyEngine& engine) { return engine->page_size(); })
          .def_prop_ro("counters", &counters_of, counters_help().c_str())
          .def_prop_ro(
              "digest", [](PyEngine& engine) { return engine->digest(); },
              "hash over the results, victims and counters so far: the same for the same input")
          .def_prop_ro("config", &PyEngine::dump, "the whole configuration as YAML");
  bind_tenants(bound);
}

}  // namespace canopy::python
