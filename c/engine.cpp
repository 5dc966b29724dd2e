#include <canopy/base/yaml_document.h>
#include <canopy/engine/engine_file.h>

#include "handles.h"

namespace canopy::c {

namespace {

/// Copies a spec that has another size than ours, and checks it.
canopy_code check_spec(const char* function, const canopy_engine& engine, const canopy_request_spec*& given,
                       canopy_request_spec& own) {
  if (!given || given->size != sizeof own) {
    own = {};
    if (const canopy_code code = take(function, "spec", given, own)) return code;
    given = &own;
  }
  if (!given->prompt && given->prompt_tokens > 0) return fail_without(function, "spec->prompt");
  if (!given->retention && given->retentions > 0) return fail_without(function, "spec->retention");
  if (given->space >= engine.engine->spaces())
    return fail(CANOPY_BAD_ARGUMENT, function, "spec->space is {}, but there are {} namespaces (canopy_engine_intern)",
                given->space, engine.engine->spaces());
  return CANOPY_OK;
}

/// Returns the same spec for the engine, without its retention.
RequestSpec spec_of(const canopy_request_spec& given) {
  return {{given.prompt, given.prompt_tokens},
          NamespaceId{given.space},
          given.priority,
          given.hints,
          given.output_limit,
          given.min_uncached,
          given.chunk,
          {}};
}

/// Calls body(engine, spec) on an engine.
template <class Body>
canopy_code with_spec(const canopy_engine* handle, const char* function, const canopy_request_spec* given,
                      Body&& body) noexcept {
  return on_engine(handle, function, [&](canopy_engine& engine) -> canopy_code {
    canopy_request_spec own;
    if (const canopy_code code = check_spec(function, engine, given, own)) return code;
    std::vector<Retention> retention;
    for (std::uint32_t i = 0; i < given->retentions; ++i)
      retention.push_back({given->retention[i].tokens, given->retention[i].us, given->retention[i].priority});
    RequestSpec spec = spec_of(*given);
    spec.retention = retention;
    return body(engine, spec);
  });
}

}  // namespace
}  // namespace canopy::c

using namespace canopy;
using namespace canopy::c;

canopy_code canopy_engine::violated(const char* function) {
  seen = ledger->violations();
  return fail(CANOPY_VIOLATION, function, "{}",
              ledger->reports().empty() ? "the ledger has a violation" : ledger->reports().back());
}

canopy_code canopy_engine_create(const canopy_engine_options* options, canopy_engine** engine) {
  constexpr const char* kName = "canopy_engine_create";
  if (!engine) return fail_without(kName, "engine");
  *engine = nullptr;
  return caught(kName, [&]() -> canopy_code {
    canopy_engine_options given{};
    if (const canopy_code code = take(kName, "options", options, given)) return code;
    if (!given.yaml) return fail_without(kName, "options->yaml");
    const std::string name = given.name ? given.name : "engine";
    auto made = std::make_unique<canopy_engine>();
    made->registry = registry_of(given.registry);
    const auto document = parse_yaml(given.yaml, name);
    if (!document) return fail(CANOPY_REFUSED, document.error().text);
    auto config = read_engine_config(*document, *made->registry);
    if (!config) return fail(CANOPY_REFUSED, config.error().text);
    made->config = std::move(*config);
    made->config.file = name;
    if (given.least) made->agreement = std::make_unique<LeastByFunction>(given.least, given.least_context);
    auto created = Engine::create(made->config, *made->registry, nullptr, made->agreement.get());
    if (!created) return fail(CANOPY_REFUSED, created.error().text);
    made->engine = std::move(*created);
    made->ledger = &made->engine->ledger();
    *engine = made.release();
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_destroy(canopy_engine* engine) {
  constexpr const char* kName = "canopy_engine_destroy";
  if (!engine) return CANOPY_OK;
  return caught(kName, [&]() -> canopy_code {
    if (engine->inside) return fail_inside(kName);
    engine->destroy_late();
    if (engine->live() > 0 || engine->fetches > 0)
      return fail(CANOPY_WRONG_STATE, kName, "{} requests and {} fetches of this engine are not destroyed",
                  engine->live(), engine->fetches);
    engine->requests.clear();
    delete engine;
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_intern(canopy_engine* engine, const char* tenant, const char* adapter, const char* salt,
                                 uint32_t* space) {
  constexpr const char* kName = "canopy_engine_intern";
  if (!space) return fail_without(kName, "space");
  return on_engine(engine, kName, [&](canopy_engine& on) {
    const auto text = [](const char* given) { return std::string_view(given ? given : ""); };
    *space = static_cast<std::uint32_t>(on.engine->intern({text(tenant), text(adapter), text(salt)}));
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_admits(const canopy_engine* engine, const canopy_request_spec* spec, int32_t* verdict,
                                 char* reason, size_t room) {
  constexpr const char* kName = "canopy_engine_admits";
  if (!verdict) return fail_without(kName, "verdict");
  return with_spec(engine, kName, spec, [&](canopy_engine& on, const RequestSpec& own) {
    const Admission answer = on.engine->admits(own);
    *verdict = static_cast<std::int32_t>(answer.verdict);
    copy_cut(answer.reason, reason, room);
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_find(canopy_engine* engine, const canopy_request_spec* specs, size_t count,
                               canopy_found* found) {
  constexpr const char* kName = "canopy_engine_find";
  if (count > 0 && !specs) return fail_without(kName, "specs");
  if (count > 0 && !found) return fail_without(kName, "found");
  return on_engine(engine, kName, [&](canopy_engine& on) -> canopy_code {
    std::vector<RequestSpec> own;
    // The elements are as far apart as the caller's struct is large.
    for (const char* at = reinterpret_cast<const char*>(specs); own.size() < count;) {
      const auto* given = reinterpret_cast<const canopy_request_spec*>(at);
      const std::size_t stride = given->size;
      canopy_request_spec copy;
      if (const canopy_code code = check_spec(kName, on, given, copy)) return code;
      own.push_back(spec_of(*given));
      at += stride;
    }
    std::vector<Found> all(count);
    on.engine->find_many(own, all);
    for (std::size_t i = 0; i < count; ++i)
      found[i] = {static_cast<std::uint64_t>(all[i].node), all[i].length, all[i].full_length};
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_order_by_weight(const canopy_engine* engine, const uint64_t* nodes, size_t count,
                                          uint32_t* order) {
  constexpr const char* kName = "canopy_engine_order_by_weight";
  if (count > 0 && !nodes) return fail_without(kName, "nodes");
  if (count > 0 && !order) return fail_without(kName, "order");
  return on_engine(engine, kName, [&](canopy_engine& on) {
    std::vector<NodeId> ends(count);
    for (std::size_t i = 0; i < count; ++i) ends[i] = NodeId{nodes[i]};
    on.engine->order_by_weight(ends, {order, count});
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_begin(canopy_engine* engine, const canopy_request_spec* spec, canopy_fetch* fetched,
                                canopy_request** request) {
  constexpr const char* kName = "canopy_engine_begin";
  if (!request) return fail_without(kName, "request");
  *request = nullptr;
  if (fetched && &fetched->engine != engine)
    return fail(CANOPY_BAD_ARGUMENT, kName, "the fetch is one of another engine");
  const canopy_code code =
      with_spec(engine, kName, spec, [&](canopy_engine& on, const RequestSpec& own) -> canopy_code {
        if (on.unused.empty()) {
          // The list of unused handles never grows when a handle is destroyed.
          on.unused.reserve(on.requests.size() + 1);
          on.requests.push_back(std::unique_ptr<canopy_request>(new canopy_request{on}));
          on.unused.push_back(on.requests.back().get());
        }
        canopy_request* const handle = on.unused.back();
        handle->emplace([&] { return on.engine->begin(own, fetched ? std::move(fetched->fetch) : Fetch()); });
        if (handle->request->ended()) {  // it was refused: the violation becomes the code
          handle->request.reset();
          return CANOPY_FAILED;
        }
        on.unused.pop_back();
        handle->stage = canopy_request::Stage::running;
        *request = handle;
        return CANOPY_OK;
      });
  if (code != CANOPY_OK)
    canopy_request_destroy(std::exchange(*request, nullptr));  // a component failed during the call
  return code;
}

canopy_code canopy_engine_fetch(canopy_engine* engine, const canopy_request_spec* spec, canopy_fetch** fetch) {
  constexpr const char* kName = "canopy_engine_fetch";
  if (!fetch) return fail_without(kName, "fetch");
  *fetch = nullptr;
  const canopy_code code = with_spec(engine, kName, spec, [&](canopy_engine& on, const RequestSpec& own) {
    auto made = std::unique_ptr<canopy_fetch>(new canopy_fetch{on, {}});
    made->fetch = on.engine->tiers().fetch(own);
    ++on.fetches;
    *fetch = made.release();
    return CANOPY_OK;
  });
  if (code != CANOPY_OK) canopy_fetch_destroy(std::exchange(*fetch, nullptr));
  return code;
}

canopy_code canopy_engine_turn(canopy_engine* engine, uint64_t now_us) {
  return on_engine(engine, "canopy_engine_turn", [&](canopy_engine& on) {
    on.engine->turn(now_us);
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_next_end_us(const canopy_engine* engine, uint64_t* us) {
  constexpr const char* kName = "canopy_engine_next_end_us";
  if (!us) return fail_without(kName, "us");
  return on_engine(engine, kName, [&](canopy_engine& on) {
    *us = on.engine->tiers().next_end_us();
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_poll(canopy_engine* engine, int32_t* runs) {
  return on_engine(engine, "canopy_engine_poll", [&](canopy_engine& on) {
    const bool ran = on.engine->poll();
    if (runs) *runs = ran;
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_use_policy(canopy_engine* engine, uint32_t group, const char* name, const char* options) {
  constexpr const char* kName = "canopy_engine_use_policy";
  if (!name) return fail_without(kName, "name");
  return on_engine(engine, kName, [&](canopy_engine& on) -> canopy_code {
    auto made = on.registry->make<EvictionStrategy>(name, {}, options ? options : "");
    if (!made) return fail(CANOPY_REFUSED, made.error().text);
    const auto done = on.engine->use_policy(group, std::move(*made), name);
    return done ? CANOPY_OK : fail(CANOPY_REFUSED, kName, "{}", done.error().text);
  });
}

canopy_code canopy_engine_make_free(canopy_engine* engine, uint32_t group, uint64_t pages) {
  return on_engine(engine, "canopy_engine_make_free",
                   [&](canopy_engine& on) { return on.engine->make_free(group, pages) ? CANOPY_OK : CANOPY_NO_ROOM; });
}

canopy_code canopy_engine_flush(canopy_engine* engine, uint32_t space, uint64_t* tokens) {
  constexpr const char* kName = "canopy_engine_flush";
  return on_engine(engine, kName, [&](canopy_engine& on) -> canopy_code {
    if (space >= on.engine->spaces())
      return fail(CANOPY_BAD_ARGUMENT, kName, "namespace {} of {}", space, on.engine->spaces());
    const std::uint64_t freed = on.engine->flush(NamespaceId{space});
    if (tokens) *tokens = freed;
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_resize(canopy_engine* engine, uint32_t group, uint64_t pages) {
  return on_engine(engine, "canopy_engine_resize", [&](canopy_engine& on) {
    on.engine->resize(group, pages);
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_blockers(const canopy_engine* engine, uint32_t group, canopy_blocker* to, size_t room,
                                   size_t* length) {
  constexpr const char* kName = "canopy_engine_blockers";
  return on_engine(engine, kName, [&](canopy_engine& on) -> canopy_code {
    if (group >= on.engine->groups()) return fail_group(kName, group, on.engine->groups());
    std::vector<canopy_blocker> all;
    for (const Blocker& blocker : on.engine->blockers(group))
      all.push_back({blocker.request, static_cast<std::uint64_t>(blocker.pinned), blocker.pages});
    return copy_rest(kName, all.data(), all.size(), 0, to, room, length);
  });
}

canopy_code canopy_engine_pin(canopy_engine* engine, uint64_t node) {
  constexpr const char* kName = "canopy_engine_pin";
  return on_engine(engine, kName, [&](canopy_engine& on) -> canopy_code {
    if (on.engine->pin(NodeId{node})) return CANOPY_OK;
    return fail(CANOPY_NOT_FOUND, kName, "node {} has left the tree, is pinned, or no request could continue from it",
                node);
  });
}

canopy_code canopy_engine_unpin(canopy_engine* engine, uint64_t node) {
  constexpr const char* kName = "canopy_engine_unpin";
  return on_engine(engine, kName, [&](canopy_engine& on) -> canopy_code {
    if (on.engine->unpin(NodeId{node})) return CANOPY_OK;
    return fail(CANOPY_NOT_FOUND, kName, "node {} is not pinned", node);
  });
}

canopy_code canopy_engine_audit(canopy_engine* engine) {
  return on_engine(engine, "canopy_engine_audit", [&](canopy_engine& on) {
    on.engine->audit();
    return CANOPY_OK;
  });
}
