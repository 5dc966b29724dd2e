#include <canopy/base/yaml_document.h>
#include <canopy/engine/engine_file.h>

#include "handles.h"

namespace canopy::c {

canopy_code fail_inside(const char* function) noexcept {
  return fail(
      CANOPY_WRONG_STATE, function,
      "another call of this engine is running: a policy may not call it, and an engine with its requests is for "
      "one thread");
}
canopy_code fail_in_stage(const char* function, canopy_request::Stage stage) noexcept {
  constexpr const char* kStages[] = {"was destroyed", "is not retracted", "is retracted: call canopy_request_resume",
                                     "has ended"};
  return fail(CANOPY_WRONG_STATE, function, "the request {}", kStages[static_cast<std::size_t>(stage)]);
}

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
    return body(engine, RequestSpec{{given->prompt, given->prompt_tokens},
                                    NamespaceId{given->space},
                                    given->priority,
                                    given->hints,
                                    given->output_limit,
                                    given->min_uncached,
                                    given->chunk,
                                    retention});
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
    if (on.engine->use_policy(group, std::move(*made), name)) return CANOPY_OK;
    return fail(CANOPY_REFUSED, kName, "{}", Engine::kOtherOrder);
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

canopy_code canopy_engine_audit(canopy_engine* engine) {
  return on_engine(engine, "canopy_engine_audit", [&](canopy_engine& on) {
    on.engine->audit();
    return CANOPY_OK;
  });
}
