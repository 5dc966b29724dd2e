#include <algorithm>
#include <limits>

#include "handles.h"

using namespace canopy;
using namespace canopy::c;
using Stage = canopy_request::Stage;

namespace {

/// Calls body(request, store, rows) for a call that copies rows of a group.
template <class Pointer, class Body>
canopy_code with_rows(const char* function, const canopy_request* request, std::uint32_t group, Pointer const* streams,
                      std::size_t count, Body&& body) {
  return on_request(request, function, [&](canopy_request& on) -> canopy_code {
    const Engine& engine = *on.engine.engine;
    if (group >= engine.groups()) return fail_group(function, group, engine.groups());
    const KVStore* const store = engine.store(group);
    if (!store) return fail(CANOPY_NOT_FOUND, function, "group {} has no store: the engine's file says none", group);
    if (count != store->streams().size())
      return fail(CANOPY_BAD_ARGUMENT, function, "{} streams, but the store has {}", count, store->streams().size());
    if (!streams || std::any_of(streams, streams + count, [](Pointer stream) { return !stream; }))
      return fail(CANOPY_BAD_ARGUMENT, function, "a stream is NULL");
    Rows rows;
    // The store only reads from rows that are written to it.
    for (std::size_t i = 0; i < count; ++i)
      rows.streams[i] = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(streams[i])));
    return body(*on.request, rows);
  });
}

}  // namespace

canopy_code canopy_request_reserve(canopy_request* request, uint32_t tokens, uint32_t soon) {
  return on_request(request, "canopy_request_reserve",
                    [&](canopy_request& on) { return on.request->reserve(tokens, soon) ? CANOPY_OK : CANOPY_NO_ROOM; });
}

canopy_code canopy_request_append(canopy_request* request, const uint32_t* tokens, size_t count) {
  constexpr const char* kName = "canopy_request_append";
  if (!tokens && count > 0) return fail_without(kName, "tokens");
  return on_request(request, kName, [&](canopy_request& on) {
    on.request->append({tokens, count});
    return CANOPY_OK;
  });
}

canopy_code canopy_request_row(const canopy_request* request, uint32_t group, size_t from, uint32_t* to, size_t room,
                               size_t* length) {
  constexpr const char* kName = "canopy_request_row";
  return on_request(request, kName, [&](canopy_request& on) {
    if (group >= on.engine.engine->groups()) return fail_group(kName, group, on.engine.engine->groups());
    const std::span<const Page> row = on.request->row(group);
    return copy_rest(kName, row.data(), row.size(), from, to, room, length);
  });
}

canopy_code canopy_request_tokens(const canopy_request* request, size_t from, uint32_t* to, size_t room,
                                  size_t* length) {
  constexpr const char* kName = "canopy_request_tokens";
  if (!request) return fail_without(kName, "request");
  if (request->stage == Stage::destroyed) return fail_in_stage(kName, request->stage);
  const std::span<const Token> tokens = request->request->tokens();
  return copy_rest(kName, tokens.data(), tokens.size(), from, to, room, length);
}

canopy_code canopy_request_write(canopy_request* request, uint32_t group, uint32_t layer, uint32_t first,
                                 uint32_t count, const void* const* streams, size_t stream_count) {
  return with_rows("canopy_request_write", request, group, streams, stream_count, [&](Request& on, const Rows& rows) {
    on.write(layer, first, count, rows, group);
    return CANOPY_OK;
  });
}

canopy_code canopy_request_read(const canopy_request* request, uint32_t group, uint32_t layer, uint32_t first,
                                uint32_t count, void* const* streams, size_t stream_count) {
  return with_rows("canopy_request_read", request, group, streams, stream_count, [&](Request& on, const Rows& rows) {
    on.read(layer, first, count, rows, group);
    return CANOPY_OK;
  });
}

canopy_code canopy_request_advance(canopy_request* request, uint32_t tokens) {
  return on_request(request, "canopy_request_advance", [&](canopy_request& on) {
    on.request->advance(tokens);
    return CANOPY_OK;
  });
}

canopy_code canopy_request_commit(canopy_request* request, uint32_t tokens, uint32_t* replaced) {
  return on_request(request, "canopy_request_commit", [&](canopy_request& on) {
    const std::uint32_t count = on.request->commit(tokens);
    if (replaced) *replaced = count;
    return CANOPY_OK;
  });
}

canopy_code canopy_request_rematch(canopy_request* request, uint32_t* taken) {
  return on_request(request, "canopy_request_rematch", [&](canopy_request& on) {
    const std::uint32_t count = on.request->rematch();
    if (taken) *taken = count;
    return CANOPY_OK;
  });
}

canopy_code canopy_request_finish(canopy_request* request, uint32_t tokens) {
  return on_request(request, "canopy_request_finish", [&](canopy_request& on) {
    on.request->finish(tokens);
    if (on.request->ended()) on.stage = Stage::ended;
    return CANOPY_OK;
  });
}

canopy_code canopy_request_abort(canopy_request* request) {
  constexpr const char* kName = "canopy_request_abort";
  const auto abort = [](canopy_request& on) {
    on.request->abort();
    if (on.request->ended()) on.stage = Stage::ended;
    return CANOPY_OK;
  };
  if (request && request->stage == Stage::retracted) return on_request<true>(request, kName, abort);
  return on_request(request, kName, abort);
}

canopy_code canopy_request_retract(canopy_request* request) {
  return on_request(request, "canopy_request_retract", [&](canopy_request& on) {
    on.request->retract();
    on.stage = Stage::retracted;
    return CANOPY_OK;
  });
}

canopy_code canopy_request_resume(canopy_request* request, uint32_t* resident) {
  return on_request<true>(request, "canopy_request_resume", [&](canopy_request& on) {
    const std::uint32_t count = on.request->resume();
    on.stage = Stage::running;
    if (resident) *resident = count;
    return CANOPY_OK;
  });
}

canopy_code canopy_request_look(const canopy_request* request, canopy_request_state* state) {
  constexpr const char* kName = "canopy_request_look";
  if (!request) return fail_without(kName, "request");
  if (request->stage == Stage::destroyed) return fail_in_stage(kName, request->stage);
  if (const canopy_code code = check_result(kName, "state", state)) return code;
  const Request& on = *request->request;
  canopy_request_state own{};
  own.id = on.id();
  own.tokens = static_cast<std::uint32_t>(on.tokens().size());
  own.matched = on.matched();
  own.full_length = on.full_length();
  own.computed = on.computed();
  own.committed = on.committed();
  own.reserved = on.reserved();
  own.retained = on.retained();
  own.ended = on.ended();
  own.admitted = on.admitted();
  return give(own, state);
}

void canopy_engine::destroy(canopy_request& given) noexcept {
  given.stage = Stage::destroyed;  // a policy may destroy it once more
  given.request.reset();
  unused.push_back(&given);
}

void canopy_engine::destroy(canopy_fetch& fetch) noexcept {
  --fetches;
  delete &fetch;
}

void canopy_request_destroy(canopy_request* request) {
  if (!request || request->stage == Stage::destroyed || request->late) return;
  canopy_engine& engine = request->engine;
  const Inside inside(engine);
  if (!inside) return engine.late_requests.add(*request);
  engine.destroy(*request);
  if (engine.ledger->violations() != engine.seen) engine.violated("canopy_request_destroy");
}

canopy_code canopy_engine_page_table(const canopy_engine* engine, const canopy_request* const* requests, size_t count,
                                     uint32_t group, int32_t entry, int32_t* to, size_t width, size_t* needed) {
  constexpr const char* kName = "canopy_engine_page_table";
  return on_engine(engine, kName, [&](canopy_engine& on) -> canopy_code {
    if (!needed) return fail_without(kName, "needed");
    if (!requests && count > 0) return fail_without(kName, "requests");
    if (group >= on.engine->groups()) return fail_group(kName, group, on.engine->groups());
    if (entry != CANOPY_ENTRY_PAGE && entry != CANOPY_ENTRY_SLOT)
      return fail(CANOPY_BAD_ARGUMENT, kName, "entry {}, expected CANOPY_ENTRY_PAGE or CANOPY_ENTRY_SLOT", entry);
    const std::uint64_t each = entry == CANOPY_ENTRY_SLOT ? on.engine->page_size() : 1;
    *needed = 0;
    Page largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!requests[i]) return fail(CANOPY_BAD_ARGUMENT, kName, "request {} is NULL", i);
      if (&requests[i]->engine != &on)
        return fail(CANOPY_BAD_ARGUMENT, kName, "request {} is one of another engine", i);
      if (requests[i]->stage != Stage::running) return fail_in_stage(kName, requests[i]->stage);
      const std::span<const Page> row = requests[i]->request->row(group);
      *needed = std::max<std::size_t>(*needed, row.size() * each);
      for (const Page page : row) largest = std::max(largest, page);
    }
    if ((largest + std::uint64_t{1}) * each - 1 > std::uint64_t{std::numeric_limits<std::int32_t>::max()})
      return fail(CANOPY_BAD_ARGUMENT, kName, "page {} does not fit int32: use CANOPY_ENTRY_PAGE", largest);
    if (*needed > width) return fail(CANOPY_SMALL_BUFFER, kName, "rows of {} entries into {}", *needed, width);
    if (!to && width > 0 && count > 0) return fail_without(kName, "to");
    for (std::size_t i = 0; i < count; ++i) {
      std::int32_t* at = to + i * width;
      std::int32_t* const end = at + width;
      for (const Page page : requests[i]->request->row(group))
        for (std::uint64_t position = 0; position < each; ++position)
          *at++ = page == 0 ? 0 : static_cast<std::int32_t>(page * each + position);
      std::fill(at, end, 0);
    }
    return CANOPY_OK;
  });
}

canopy_code canopy_fetch_look(const canopy_fetch* fetch, uint64_t again_us, canopy_fetch_state* state) {
  constexpr const char* kName = "canopy_fetch_look";
  if (!fetch) return fail_without(kName, "fetch");
  if (const canopy_code code = check_result(kName, "state", state)) return code;
  return on_engine(&fetch->engine, kName, [&](canopy_engine&) {
    canopy_fetch_state own{};
    own.done = fetch->fetch.done();
    own.ready = fetch->fetch.ready(again_us);
    own.tokens = fetch->fetch.tokens();
    own.ends_us = fetch->fetch.ends_us();
    own.took_us = fetch->fetch.took_us();
    own.ready_us = fetch->fetch.ready_us(again_us);
    return give(own, state);
  });
}

void canopy_fetch_destroy(canopy_fetch* fetch) {
  if (!fetch || fetch->late) return;
  canopy_engine& engine = fetch->engine;
  const Inside inside(engine);
  if (!inside) return engine.late_fetches.add(*fetch);
  engine.destroy(*fetch);
}
