/// Memory that is refused at each point of a life: a code, and never a crash or half a handle.
#include <canopy/c/canopy.h>
#include <doctest/doctest.h>

#include <support/refused_memory.h>

#include <cstdint>
#include <string>

using canopy::test::RefusedMemory;

namespace {

constexpr long kInARow[] = {1, 2, 5, 8};  // allocations that are refused one after the other

constexpr char kYaml[] =
    "page_size: 4\n"
    "groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\n";

canopy_engine_options options_of() {
  canopy_engine_options options{};
  options.size = sizeof options;
  options.yaml = kYaml;
  return options;
}

/// Calls call() with memory refused from the first, the second, ... allocation on, until it needs none. Returns the
/// number of calls that failed. `made`: a handle that must be null if the call failed.
template <class Call, class Handle, class Destroy>
long refuse_each(long in_a_row, Call&& call, Handle*& made, Destroy&& destroy) {
  for (long allocation = 0;; ++allocation) {
    REQUIRE(allocation < 100'000);
    made = nullptr;
    RefusedMemory::refuse(allocation, in_a_row);
    const canopy_code code = call();
    const bool refused = RefusedMemory::stop() > 0;
    if (code != CANOPY_OK) {
      CHECK((code == CANOPY_NO_MEMORY || code == CANOPY_REFUSED || code == CANOPY_VIOLATION));
      CHECK(made == nullptr);
      continue;
    }
    REQUIRE(made != nullptr);
    destroy(made);
    if (!refused) return allocation;
  }
}

}  // namespace

TEST_CASE("an engine or an index that gets no memory is not created") {
  // Plugins are loaded before: libstdc++ ends the program if it gets no memory for the list of a folder.
  canopy_registry* registry = nullptr;
  REQUIRE(canopy_registry_create(nullptr, &registry) == CANOPY_OK);
  canopy_engine_options options = options_of();
  options.registry = registry;
  canopy_engine* engine = nullptr;
  for (const long in_a_row : {1, 8})
    CHECK(refuse_each(
              in_a_row, [&] { return canopy_engine_create(&options, &engine); }, engine,
              [](canopy_engine* made) { CHECK(canopy_engine_destroy(made) == CANOPY_OK); }) > 100);
  canopy_index_options index_options{};
  index_options.size = sizeof index_options;
  index_options.page_size = 4;
  index_options.registry = registry;
  canopy_index* index = nullptr;
  for (const long in_a_row : kInARow)
    CHECK(refuse_each(
              in_a_row, [&] { return canopy_index_create(&index_options, &index); }, index, canopy_index_destroy) > 10);
  canopy_registry_destroy(registry);
}

TEST_CASE("a request that gets no memory does not begin, and the engine goes on") {
  const canopy_engine_options options = options_of();
  std::uint32_t prompt[16] = {1, 2, 3};
  canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
  spec.prompt = prompt;
  spec.prompt_tokens = 16;
  canopy_request *request = nullptr, *first = nullptr;
  for (const long in_a_row : kInARow) {
    // A new engine: one that has served a request keeps its memory for the next.
    canopy_engine* engine = nullptr;
    REQUIRE(canopy_engine_create(&options, &engine) == CANOPY_OK);
    const auto begin = [&](canopy_request** made) { return canopy_engine_begin(engine, &spec, nullptr, made); };
    REQUIRE(begin(&first) == CANOPY_OK);
    CHECK(canopy_request_reserve(first, 16, UINT32_MAX) == CANOPY_OK);
    CHECK(canopy_request_finish(first, 16) == CANOPY_OK);
    // While one that has ended is kept, the next one needs memory of its own.
    CHECK(refuse_each(in_a_row, [&] { return begin(&request); }, request, canopy_request_destroy) > 0);
    canopy_request_destroy(first);
    CHECK(canopy_engine_make_free(engine, 0, 16) == CANOPY_OK);  // no request that did not begin holds a page
    CHECK(canopy_engine_audit(engine) == CANOPY_OK);
    CHECK(canopy_engine_destroy(engine) == CANOPY_OK);
    REQUIRE(canopy_engine_create(&options, &engine) == CANOPY_OK);
    CHECK(refuse_each(in_a_row, [&] { return begin(&request); }, request, canopy_request_destroy) > 0);
    CHECK(canopy_engine_destroy(engine) == CANOPY_OK);
  }
}

TEST_CASE("a running request that gets no memory loses no page, and goes on") {
  std::uint32_t prompt[64] = {1, 2, 3}, resident = 0;
  canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
  spec.prompt = prompt;
  spec.prompt_tokens = 64;
  spec.min_uncached = 4;
  long refused = 0;
  for (long run = 0; run == 0 || refused > 0 || run % 4 != 0; ++run) {
    const long allocation = run / 4, in_a_row = kInARow[run % 4];
    REQUIRE(allocation < 1'000);
    CAPTURE(allocation);
    CAPTURE(in_a_row);
    const auto in_the_end = [&](auto&& call) {
      canopy_code code = call();
      for (long again = 0; again < in_a_row && code != CANOPY_OK; ++again) code = call();
      CHECK(code == CANOPY_OK);
    };
    const canopy_engine_options options = options_of();
    canopy_engine* engine = nullptr;
    canopy_request* request = nullptr;
    REQUIRE(canopy_engine_create(&options, &engine) == CANOPY_OK);
    REQUIRE(canopy_engine_begin(engine, &spec, nullptr, &request) == CANOPY_OK);
    const auto serve = [&](std::uint32_t until) {
      for (std::uint32_t end = 4; end <= until; end += 4)
        in_the_end([&] { return canopy_request_reserve(request, end, UINT32_MAX); });
    };
    RefusedMemory::refuse(allocation, in_a_row);
    serve(32);
    const canopy_code committed = canopy_request_commit(request, 32, nullptr);
    CHECK((committed == CANOPY_OK || committed == CANOPY_NO_MEMORY));
    CHECK(canopy_request_retract(request) == CANOPY_OK);
    in_the_end([&] { return canopy_request_resume(request, &resident); });
    serve(64);
    refused = RefusedMemory::stop();
    CHECK(canopy_request_finish(request, 64) == CANOPY_OK);
    canopy_request_destroy(request);
    CHECK(canopy_engine_audit(engine) == CANOPY_OK);
    CHECK(canopy_engine_make_free(engine, 0, 16) == CANOPY_OK);
    CHECK(canopy_engine_destroy(engine) == CANOPY_OK);
  }
}

TEST_CASE("a namespace that gets no memory is not there yet, and the next one is not its place") {
  const canopy_engine_options options = options_of();
  canopy_engine* engine = nullptr;
  REQUIRE(canopy_engine_create(&options, &engine) == CANOPY_OK);
  // Long names: short ones need no memory.
  const auto name = [](char kind, long number) { return std::string(40, kind) + std::to_string(number); };
  std::uint32_t expected = 1, space = 0;
  bool refused = true;
  for (long allocation = 0; refused; ++allocation) {
    REQUIRE(allocation < 1'000);
    const std::string tenant = name('t', allocation), adapter = name('a', allocation), other = name('o', allocation);
    RefusedMemory::refuse(allocation, 1);
    const canopy_code code = canopy_engine_intern(engine, tenant.c_str(), adapter.c_str(), nullptr, &space);
    refused = RefusedMemory::stop() > 0;
    if (code == CANOPY_OK) CHECK(space == expected++);
    REQUIRE(canopy_engine_intern(engine, other.c_str(), nullptr, nullptr, &space) == CANOPY_OK);
    CHECK(space == expected++);
    std::uint32_t prompt[16] = {1};
    canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
    spec.prompt = prompt;
    spec.prompt_tokens = 16;
    spec.space = space;
    canopy_request* request = nullptr;
    CHECK(canopy_engine_begin(engine, &spec, nullptr, &request) == CANOPY_OK);
    canopy_request_destroy(request);
    if (code == CANOPY_OK) continue;
    REQUIRE(canopy_engine_intern(engine, tenant.c_str(), adapter.c_str(), nullptr, &space) == CANOPY_OK);
    CHECK(space == expected++);
  }
  CHECK(canopy_engine_destroy(engine) == CANOPY_OK);
}

TEST_CASE("an index that gets no memory loses no page") {
  canopy_registry* registry = nullptr;
  REQUIRE(canopy_registry_create(nullptr, &registry) == CANOPY_OK);
  canopy_index_options options{};
  options.size = sizeof options;
  options.page_size = 4;
  options.registry = registry;
  for (long run = 0; run < 2 * 60; ++run) {
    const long allocation = run / 2;
    options.index = run % 2 == 0 ? "radix" : "hash_chain";
    CAPTURE(allocation);
    CAPTURE(options.index);
    canopy_index* index = nullptr;
    REQUIRE(canopy_index_create(&options, &index) == CANOPY_OK);
    std::uint32_t next = 0, inserted = 0, returned = 0;
    RefusedMemory::refuse(allocation, kInARow[allocation % 4]);
    for (std::uint32_t prompt = 0; prompt < 40; ++prompt) {
      std::uint32_t words[64], numbers[16];
      for (std::uint32_t i = 0; i < 64; ++i) words[i] = 1000 * (prompt % 20) + i;
      for (std::uint32_t& number : numbers) number = ++next;
      const canopy_key key{words, 64, 0, 0};
      const canopy_pages pages{numbers, 16};
      canopy_lock lock{};
      if (canopy_index_insert(index, &lock, &key, &pages, 1, nullptr) == CANOPY_OK) inserted += lock.length / 4;
      canopy_index_release(index, &lock);
      if (prompt % 8 == 7) canopy_index_evict(index, 0, 40, nullptr);
    }
    RefusedMemory::stop();
    CHECK(canopy_index_clear(index) == CANOPY_OK);
    std::size_t count = 0, rest = 0;
    do {
      std::uint32_t out[7];
      REQUIRE(canopy_index_take_pages(index, 0, out, 7, &count, &rest) == CANOPY_OK);
      returned += static_cast<std::uint32_t>(count);
    } while (rest > 0);
    CHECK(returned == inserted);
    canopy_index_destroy(index);
  }
  canopy_registry_destroy(registry);
}

TEST_CASE("the sentence of a failure may lack memory, the code does not") {
  RefusedMemory::refuse(0, 8);
  CHECK(canopy_engine_create(nullptr, nullptr) == CANOPY_BAD_ARGUMENT);
  RefusedMemory::stop();
}
