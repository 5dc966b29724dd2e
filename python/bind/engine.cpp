#include "engine.h"

#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>
#include <canopy/support/printable.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agreement.h"
#include "columns.h"
#include "configuration.h"
#include "integers.h"
#include "nodes.h"
#include "registry.h"
#include "slots.h"

namespace canopy::python {
namespace {

/// An engine, and what it uses of Python: policies, and an agreement with other ranks.
class PyEngine {
 public:
  PyEngine(nb::handle config, nb::handle changes, nb::handle agreement) {
    YamlNode document = document_of(config);
    set_values(document, changes);
    config_ = config_of(document);
    if (!agreement.is_none()) agreement_ = std::make_unique<PythonAgreement>(nb::borrow(agreement));
    engine_ = take(Engine::create(config_, registry(), nullptr, agreement_.get()));
  }
  Engine& operator*() { return *engine_; }
  Engine* operator->() { return engine_.get(); }

  void use_policy(nb::handle policy, std::size_t group) {
    need_group(group);
    Policy made = make_policy(policy);
    if (made.in_python) in_python_.push_back(made.in_python);
    engine_->use_policy(group, made.strategy, made.name);
    check();
  }
  void need_group(std::size_t group) const {
    if (group >= engine_->groups())
      throw nb::index_error(("there are " + std::to_string(engine_->groups()) + " groups; they count from 0").c_str());
  }
  /// Raises what a policy or the agreement in Python raised, or else RuntimeError for a violation that the last call
  /// brought.
  void check() {
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
  std::string dump() const { return dump_engine_config(config_, registry()); }

 private:
  EngineConfig config_;
  std::vector<std::shared_ptr<PythonPolicy>> in_python_;
  std::unique_ptr<PythonAgreement> agreement_;  ///< null: there is one rank
  std::unique_ptr<Engine> engine_;
  std::uint64_t seen_ = 0;  ///< violations that were raised
};

/// A request, whose engine lives as long.
class PyRequest {
 public:
  PyRequest(nb::handle_t<PyEngine> engine, Request request)
      : engine_(nb::borrow(engine)), request_(std::move(request)) {}
  ~PyRequest() { request_ = Request(); }

  const Request& get() const { return request_; }
  /// What a call answers, unless it broke a rule or a policy threw: then it raises.
  template <class Call>
  auto serve(Call&& call) {
    PyEngine& engine = *nb::inst_ptr<PyEngine>(engine_);
    if constexpr (std::is_void_v<decltype(call(request_))>) {
      call(request_);
      engine.check();
    } else {
      auto answer = call(request_);
      engine.check();
      return answer;
    }
  }
  PyEngine& engine() { return *nb::inst_ptr<PyEngine>(engine_); }

 private:
  nb::object engine_;
  Request request_;
};

/// A fetch, whose engine lives as long.
class PyFetch {
 public:
  PyFetch(nb::handle engine, Fetch fetch) : engine_(nb::borrow(engine)), fetch_(std::move(fetch)) {}
  ~PyFetch() { fetch_ = Fetch(); }
  const Fetch& get() const { return fetch_; }
  /// For the request that begins on it; from then on it holds nothing.
  Fetch give(nb::handle engine) {
    if (!engine_.is(engine)) throw nb::value_error("fetch: it is another engine's");
    if (std::exchange(given_, true)) throw nb::value_error("fetch: a request has begun on it already");
    return std::move(fetch_);
  }
  void drop() {
    given_ = true;
    fetch_ = Fetch();
  }

 private:
  nb::object engine_;
  Fetch fetch_;
  bool given_ = false;
};

NamespaceId space_of(Engine& engine, nb::handle space) {
  if (space.is_none()) return NamespaceId::shared;
  std::string parts[3];
  if (nb::isinstance<nb::str>(space)) {
    parts[0] = nb::str(space).c_str();
  } else if (nb::isinstance<nb::tuple>(space) && nb::len(space) <= 3) {
    std::size_t i = 0;
    for (const nb::handle part : space) {
      if (!part.is_none()) parts[i] = nb::str(part).c_str();
      ++i;
    }
  } else {
    throw nb::type_error("space: None, a name, or a tuple (tenant, adapter, salt)");
  }
  return engine.intern({parts[0], parts[1], parts[2]});
}

struct Arrival {
  std::int32_t priority = 0;
  std::uint64_t hints = 0;
  std::uint32_t output_limit = 0, min_uncached = 1, chunk = 0;
};

RequestSpec spec_of(const Tokens& prompt, NamespaceId space, const Arrival& arrival) {
  return {prompt.get(),         space,        arrival.priority, arrival.hints, arrival.output_limit,
          arrival.min_uncached, arrival.chunk};
}

std::unique_ptr<PyRequest> begin(nb::handle_t<PyEngine> self, nb::handle ids, nb::handle space, Arrival arrival,
                                 PyFetch* fetched) {
  PyEngine& engine = *nb::inst_ptr<PyEngine>(self);
  const Tokens prompt(ids);
  const NamespaceId interned = space_of(*engine, space);
  Request request = engine->begin(spec_of(prompt, interned, arrival), fetched ? fetched->give(self) : Fetch());
  engine.check();
  return std::make_unique<PyRequest>(self, std::move(request));
}

std::unique_ptr<PyFetch> fetch(nb::handle_t<PyEngine> self, nb::handle ids, nb::handle space, Arrival arrival) {
  PyEngine& engine = *nb::inst_ptr<PyEngine>(self);
  const Tokens prompt(ids);
  Fetch fetch = engine->fetch(spec_of(prompt, space_of(*engine, space), arrival));
  engine.check();
  return std::make_unique<PyFetch>(self, std::move(fetch));
}

nb::tuple admits(PyEngine& engine, nb::handle ids, nb::handle space, Arrival arrival) {
  const Tokens prompt(ids);
  const Admission answer = engine->admits(spec_of(prompt, space_of(*engine, space), arrival));
  const char* const kVerdicts[] = {"now", "wait", "never"};
  return nb::make_tuple(kVerdicts[static_cast<std::size_t>(answer.verdict)], answer.reason);
}

nb::dict counters_of(PyEngine& engine) {
  const Counters& counters = engine->counters();
  nb::dict row;
  row["requests"] = counters.requests;
  row["prompt_tokens"] = counters.prompt_tokens;
  row["hit_tokens"] = counters.hit_tokens;
  row["evict_calls"] = counters.evict_calls;
  row["evicted_tokens"] = counters.evicted_tokens;
  row["finished"] = counters.finished;
  row["aborted"] = counters.aborted;
  row["retracted"] = counters.retracted;
  row["repointed_pages"] = counters.repointed_pages;
  row["index_seconds"] = counters.index_seconds;
  return row;
}

/// The tier below the pools; None: there is none.
nb::object host_tier_of(PyEngine& engine) {
  const EngineState* const tier = engine->host_tier();
  if (!tier) return nb::none();
  const TierFigures& moved = engine->tier_figures();
  const Sizes sizes = tier->index->sizes(0);
  nb::dict row, fetches;
  row["limit"] = tier->pools[0].limit();
  row["resident"] = (sizes.evictable + sizes.protected_) / tier->page_size;
  row["moving"] = tier->moving[0];
  row["hit_tokens"] = engine->counters().hit_tokens_host;
  row["written_tokens"] = moved.written_tokens;
  row["written_bytes"] = moved.written_bytes;
  row["loaded_tokens"] = moved.loaded_tokens;
  row["loaded_bytes"] = moved.loaded_bytes;
  row["dropped_tokens"] = moved.dropped_tokens;
  row["lost_tokens"] = moved.lost_tokens;
  row["evicted_tokens"] = tier->counters.evicted_tokens;
  for (std::size_t i = 0; i < kFetchOutcomeCount; ++i) fetches[kFetchOutcomes[i]] = moved.fetches[i];
  row["fetches"] = fetches;
  return row;
}

nb::dict pool_of(PyEngine& engine, std::size_t group) {
  engine.need_group(group);
  const Pool& pool = engine->pool(group);
  const Sizes sizes = engine->index().sizes(group);
  nb::dict row;
  row["group"] = pool.group();
  row["policy"] = engine->state().groups[group].policy;
  row["limit"] = pool.limit() == kUnlimited ? nb::none() : nb::object(nb::int_(pool.limit()));
  row["pages"] = pool.occupancy().capacity;
  row["free"] = pool.occupancy().free;
  row["evictable"] = sizes.evictable / engine->page_size();
  row["protected"] = sizes.protected_ / engine->page_size();
  row["owned"] = engine->state().owned[group];
  return row;
}

void bind_request(nb::module_& module) {
  using namespace nb::literals;
  const auto number = [](auto member) {
    return [member](const PyRequest& request) { return (request.get().*member)(); };
  };
  nb::class_<PyRequest>(
      module, "Request",
      "A running request of an Engine: begin, reserve, advance, commit, finish (or abort, retract and "
      "resume). Counts are tokens. As a context manager it aborts what has not ended. A call that breaks "
      "a rule changes nothing and raises RuntimeError.")
      .def_prop_ro("id", number(&Request::id))
      .def_prop_ro("matched", number(&Request::matched), "tokens that were resident when it began: nothing to compute")
      .def_prop_ro("computed", number(&Request::computed))
      .def_prop_ro("committed", number(&Request::committed), "tokens whose pages are the index's")
      .def_prop_ro("reserved", number(&Request::reserved), "tokens that may be written")
      .def_prop_ro("ended", number(&Request::ended))
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
          "Pages for the first `tokens` tokens; evicts exactly what is missing. False: there is no room, and nothing "
          "has "
          "changed.")
      .def(
          "append",
          [](PyRequest& request, nb::handle ids) {
            const Tokens tokens(ids);
            request.serve([&](Request& to) { to.append(tokens.get()); });
          },
          "tokens"_a, "More tokens; reserve pages for them before they are computed.")
      .def(
          "advance",
          [](PyRequest& request, std::uint32_t tokens) { request.serve([&](Request& to) { to.advance(tokens); }); },
          "tokens"_a, "The first `tokens` tokens are computed. Nothing becomes reusable yet.")
      .def(
          "commit",
          [](PyRequest& request, std::uint32_t tokens) {
            return request.serve([&](Request& to) { return to.commit(tokens); });
          },
          "tokens"_a,
          "advance, and whole pages become reusable. Returns for how many tokens another request had been first.")
      .def(
          "rematch", [](PyRequest& request) { return request.serve([](Request& to) { return to.rematch(); }); },
          "Takes over what others have committed of its tokens meanwhile. Returns how many tokens that are.")
      .def(
          "finish",
          [](PyRequest& request, std::uint32_t tokens) { request.serve([&](Request& to) { to.finish(tokens); }); },
          "tokens"_a, "commit, and the end. 0: nothing new becomes reusable.")
      .def("abort", [](PyRequest& request) { request.serve([](Request& to) { to.abort(); }); })
      .def(
          "retract", [](PyRequest& request) { request.serve([](Request& to) { to.retract(); }); },
          "Gives back all pages and keeps the tokens, until resume().")
      .def(
          "resume", [](PyRequest& request) { return request.serve([](Request& to) { return to.resume(); }); },
          "Begins again; returns the tokens that are resident now.")
      .def(
          "pages",
          [](PyRequest& request, std::size_t group) {
            request.engine().need_group(group);
            const std::span<const Page> row = request.get().row(group);
            return column(std::vector<Page>(row.begin(), row.end()));
          },
          "group"_a = 0, "Page numbers of a group in token order: uint32; 0 where it has none.")
      .def(
          "slots",
          [](PyRequest& request, std::size_t group) {
            request.engine().need_group(group);
            return slots_of(request.get().row(group), request.engine()->page_size());
          },
          "group"_a = 0, "The slots of those pages: int64, shape (pages * page_size,).")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](PyRequest& request, nb::args) {
        if (!request.get().ended()) request.serve([](Request& to) { to.abort(); });
      });
}

void bind_fetch(nb::module_& module) {
  nb::class_<PyFetch>(module, "Fetch",
                      "A prefix that Engine.fetch brings from the tier below for a request that waits. It becomes "
                      "visible in Engine.turn, and is held until Engine.begin takes it; drop() or losing it gives the "
                      "prefix up.")
      .def_prop_ro(
          "done", [](const PyFetch& fetch) { return fetch.get().done(); },
          "nothing more comes: all is there, or nothing was to be had")
      .def_prop_ro(
          "tokens", [](const PyFetch& fetch) { return fetch.get().tokens(); }, "that it brings or has brought")
      .def_prop_ro(
          "ends_us", [](const PyFetch& fetch) { return fetch.get().ends_us(); },
          "when the copy ends, in the time of Engine.turn; 0: it is done")
      .def("drop", &PyFetch::drop, "Gives the prefix up.");
}

}  // namespace

void bind_engine(nb::module_& module) {
  using namespace nb::literals;
  module.def("group_names", [](nb::handle config) { return groups_of(document_of(config)); }, "config"_a);
  bind_request(module);
  bind_fetch(module);
  nb::class_<PyEngine>(
      module, "Engine",
      "A whole prefix cache, composed from a configuration: index, pools, stores, policies and the life of "
      "requests. One thread at a time. After every call the ledger is checked; a violation raises "
      "RuntimeError with its sentence.")
      .def(
          "__init__",
          [](PyEngine* place, nb::handle config, nb::handle changes, nb::handle agreement) {
            new (place) PyEngine(config, changes, agreement);
          },
          "config"_a, "set"_a = nb::none(), nb::kw_only(), "agreement"_a = nb::none(),
          "config: a path, YAML text, or a dictionary.\nset: changes on top, {'groups.full.capacity': 3_000_000}.\n"
          "agreement: where each rank of a model has an engine, a callable that turn() calls once with a NumPy array "
          "of int64, and that leaves in each place the least of all ranks: lambda values: "
          "torch.distributed.all_reduce(torch.from_numpy(values), torch.distributed.ReduceOp.MIN, group).\n"
          "Raises ValueError with the place of each mistake.")
      .def(
          "begin",
          [](nb::handle_t<PyEngine> self, nb::handle prompt, nb::handle space, std::int32_t priority,
             std::uint64_t hints, std::uint32_t output_limit, std::uint32_t min_uncached, std::uint32_t chunk,
             PyFetch* fetched) {
            return begin(self, prompt, space, {priority, hints, output_limit, min_uncached, chunk}, fetched);
          },
          "prompt"_a, nb::kw_only(), "space"_a = nb::none(), "priority"_a = 0, "hints"_a = 0, "output_limit"_a = 0,
          "min_uncached"_a = 1, "chunk"_a = 0, "fetch"_a.none() = nb::none(),
          "A request with the longest resident prefix under lock. fetch: what fetch() gave for it.")
      .def(
          "fetch",
          [](nb::handle_t<PyEngine> self, nb::handle prompt, nb::handle space, std::int32_t priority,
             std::uint64_t hints, std::uint32_t output_limit, std::uint32_t min_uncached, std::uint32_t chunk) {
            return fetch(self, prompt, space, {priority, hints, output_limit, min_uncached, chunk});
          },
          "prompt"_a, nb::kw_only(), "space"_a = nb::none(), "priority"_a = 0, "hints"_a = 0, "output_limit"_a = 0,
          "min_uncached"_a = 1, "chunk"_a = 0,
          "Begins to bring what the tier below has of a request that waits, beyond the pools. Nothing comes without a "
          "tier.")
      .def(
          "turn",
          [](PyEngine& engine, std::uint64_t now_us) {
            engine->turn(now_us);
            engine.check();
          },
          "now_us"_a,
          "Copies that have ended by then become visible. Call it once before each step; the time is the caller's.")
      .def_prop_ro(
          "next_end_us",
          [](PyEngine& engine) {
            const std::uint64_t next = engine->next_end_us();
            return next == kUnlimited ? nb::none() : nb::object(nb::int_(next));
          },
          "when the next copy ends, in the time of turn(); None: none is on its way")
      .def_prop_ro("host_tier", &host_tier_of,
                   "the tier below the pools: pages of the first group, and what moved; None: there is none")
      .def(
          "admits",
          [](PyEngine& engine, nb::handle prompt, nb::handle space, std::int32_t priority, std::uint64_t hints,
             std::uint32_t output_limit, std::uint32_t min_uncached, std::uint32_t chunk) {
            return admits(engine, prompt, space, {priority, hints, output_limit, min_uncached, chunk});
          },
          "prompt"_a, nb::kw_only(), "space"_a = nb::none(), "priority"_a = 0, "hints"_a = 0, "output_limit"_a = 0,
          "min_uncached"_a = 1, "chunk"_a = 0, "('now' | 'wait' | 'never', why). Changes nothing.")
      .def("use_policy", &PyEngine::use_policy, "policy"_a, "group"_a = 0)
      .def(
          "make_free",
          [](PyEngine& engine, std::uint64_t pages, std::size_t group) {
            engine.need_group(group);
            const bool free = engine->make_free(group, pages);
            engine.check();
            return free;
          },
          "pages"_a, "group"_a = 0, "Evicts until so many pages are free, or nothing more may be evicted.")
      .def(
          "flush",
          [](PyEngine& engine, nb::handle space) {
            const std::uint64_t tokens = engine->flush(space_of(*engine, space));
            engine.check();
            return tokens;
          },
          "space"_a, "Evicts all of a namespace that is not locked. Returns the tokens freed in the first group.")
      .def(
          "resize",
          [](PyEngine& engine, std::uint64_t pages, std::size_t group) {
            engine.need_group(group);
            engine->resize(group, pages);
            engine.check();
          },
          "pages"_a, "group"_a = 0, "Another limit for a pool, in pages.")
      .def(
          "audit",
          [](PyEngine& engine) {
            engine->audit();
            engine.check();
          },
          "Proves that every page has one owner; raises RuntimeError if not. O(pool).")
      .def(
          "poll", [](PyEngine& engine) { return engine->poll(); },
          "Serves an inspector between operations. False while it has paused the engine.")
      .def(
          "columns", [](PyEngine& engine) { return columns_of(engine->index(), engine->state().spaces); },
          "The nodes as a dictionary of columns, parents before children. O(tree).")
      .def(
          "tree",
          [](nb::object self, const std::string& form, std::size_t lines) {
            return nb::module_::import_("canopy.feed").attr("tree")(self.attr("columns")(), form, lines);
          },
          "form"_a = "text", "lines"_a = 40, "The nodes as \"text\" (about `lines` lines) or as a \"frame\" (pandas).")
      .def("pool", &pool_of, "group"_a = 0, "A group's pool, in pages.")
      .def_prop_ro("groups", [](PyEngine& engine) { return engine->groups(); })
      .def_prop_ro("page_size", [](PyEngine& engine) { return engine->page_size(); })
      .def_prop_ro("counters", &counters_of)
      .def_prop_ro(
          "digest", [](PyEngine& engine) { return engine->digest(); },
          "results, victims and counters so far: the same for the same input")
      .def_prop_ro("config", &PyEngine::dump, "the whole configuration as YAML");
}

}  // namespace canopy::python
