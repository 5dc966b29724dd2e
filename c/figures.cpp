#include <canopy/c/figures.h>
#include <canopy/engine/engine_file.h>

#include <optional>
#include <string_view>
#include <type_traits>

#include "handles.h"

using namespace canopy;
using namespace canopy::c;

namespace {

/// Fills a result from an engine: fill(engine, own) returns a code.
template <class Result, class Fill>
canopy_code look(const char* function, const canopy_engine* engine, const char* what, Result* to, Fill&& fill) {
  return on_engine(engine, function, [&](canopy_engine& on) -> canopy_code {
    if (const canopy_code code = check_result(function, what, to)) return code;
    Result own{};
    if (const canopy_code code = fill(*on.engine, own)) return code;
    return give(own, to);
  });
}

canopy_code check_group(const char* function, const Engine& engine, std::uint32_t group) {
  if (group < engine.groups()) return CANOPY_OK;
  return fail_group(function, group, engine.groups());
}

std::string lines_of(const std::vector<std::string>& all) { return fmt::format("{}", fmt::join(all, "\n")); }

}  // namespace

canopy_code canopy_engine_look(const canopy_engine* engine, canopy_engine_state* state) {
  return look("canopy_engine_look", engine, "state", state, [](const Engine& on, canopy_engine_state& own) {
    own.page_size = on.page_size();
    own.groups = static_cast<std::uint32_t>(on.groups());
    own.live_requests = on.live_requests();
    own.spaces = on.spaces();
    own.checks = on.ledger().checks();
    own.violations = on.ledger().violations();
    own.digest = on.digest();
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_counters(const canopy_engine* engine, canopy_counters* counters) {
  return look("canopy_engine_counters", engine, "counters", counters, [](const Engine& on, canopy_counters& own) {
    const Counters& now = on.counters();
#define CANOPY_COPY(type, name, rule) own.name = now.name;
    CANOPY_ENGINE_COUNTERS(CANOPY_COPY)
#undef CANOPY_COPY
    return CANOPY_OK;
  });
}

canopy_code canopy_engine_pool(const canopy_engine* engine, uint32_t group, canopy_pool* pool) {
  constexpr const char* kName = "canopy_engine_pool";
  return look(kName, engine, "pool", pool, [&](const Engine& on, canopy_pool& own) {
    if (const canopy_code code = check_group(kName, on, group)) return code;
    const PoolView from = on.pool(group);
    const Sizes sizes = on.index().sizes(group);
    own.limit = from.limit();
    own.pages = from.occupancy().capacity;
    own.free = from.occupancy().free;
    own.evictable = sizes.evictable / on.page_size();
    own.protected_pages = sizes.protected_ / on.page_size();
    own.owned = on.owned_pages(group);
    return canopy_code{CANOPY_OK};
  });
}

canopy_code canopy_engine_counter(const canopy_engine* engine, const char* name, uint32_t row, uint32_t column,
                                  uint64_t* value) {
  constexpr const char* kName = "canopy_engine_counter";
  if (!name) return fail_without(kName, "name");
  if (!value) return fail_without(kName, "value");
  return on_engine(engine, kName, [&](canopy_engine& on) -> canopy_code {
    const auto outside = [&](std::size_t rows, std::size_t columns) {
      return row < rows && column < columns
                 ? CANOPY_OK
                 : fail(CANOPY_BAD_ARGUMENT, kName, "counter '{}' has {} rows and {} columns", name, rows, columns);
    };
    std::optional<canopy_code> result;
    for_each_counter([&](Counter counter, const CounterInfo& info) {
      if (info.name != name) return;
      result = outside(info.rows.size, info.columns.size);
      if (*result == CANOPY_OK) *value = on.engine->tiers().counters().at(counter, row, column);
    });
    for_each_counter(on.engine->counters(), [&]<class Value>(const EngineCounterInfo& info, Value count) {
      if (std::is_floating_point_v<Value> || info.name != std::string_view(name)) return;
      result = outside(1, 1);
      if (*result == CANOPY_OK) *value = static_cast<std::uint64_t>(count);
    });
    if (result) return *result;
    return fail(CANOPY_NOT_FOUND, kName, "no counter is called '{}' (canopy_counter_name lists them)", name);
  });
}

const char* canopy_counter_name(size_t i) {
  if (i < kCounterCount) return kCounters[i].name.data();
  const char* found = nullptr;
  for_each_counter(Counters{}, [&]<class Value>(const EngineCounterInfo& info, Value) {
    if (!std::is_floating_point_v<Value> && i-- == kCounterCount) found = info.name;
  });
  return found;
}

canopy_code canopy_engine_text(const canopy_engine* engine, int32_t text, uint32_t group, char* to, size_t room,
                               size_t* length) {
  constexpr const char* kName = "canopy_engine_text";
  return on_engine(engine, kName, [&](canopy_engine& on) -> canopy_code {
    const auto copy = [&](std::string_view found) { return copy_text(kName, found, to, room, length); };
    if (text == CANOPY_TEXT_CONFIG) return copy(dump_engine_config(on.config, *on.registry));
    if (text == CANOPY_TEXT_NOTES) return copy(lines_of(sentences_of(on.engine->doubts())));
    if (text == CANOPY_TEXT_REPORTS) return copy(lines_of(on.ledger->reports()));
    if (text != CANOPY_TEXT_GROUP && text != CANOPY_TEXT_POLICY)
      return fail(CANOPY_BAD_ARGUMENT, kName, "there is no text {}", text);
    if (const canopy_code code = check_group(kName, *on.engine, group)) return code;
    return copy(text == CANOPY_TEXT_GROUP ? on.engine->pool(group).group() : on.engine->policy(group));
  });
}

canopy_code canopy_engine_view(const canopy_engine* engine, uint32_t group, canopy_kv_view* view) {
  constexpr const char* kName = "canopy_engine_view";
  return look(kName, engine, "view", view, [&](const Engine& on, canopy_kv_view& own) -> canopy_code {
    if (const canopy_code code = check_group(kName, on, group)) return code;
    const KVStore* const store = on.store(group);
    if (!store) return fail(CANOPY_NOT_FOUND, kName, "group {} has no store: the engine's file says none", group);
    const KVView& from = store->view();
    own.streams = from.streams;
    own.layers = from.layers;
    own.page_size = from.page_size;
    own.segment_pages = from.segment_pages;
    own.kernel_pages = from.kernel_pages;
    own.segments = from.segments;
    own.device = from.device;
    for (std::size_t i = 0; i < from.streams; ++i)
      own.stream[i] = {from.stream[i].base,        from.stream[i].segment_stride, from.stream[i].layer_stride,
                       from.stream[i].page_stride, from.stream[i].token_stride,   from.stream[i].row_bytes};
    return CANOPY_OK;
  });
}
