/* The C interface from C99: a whole life, and every kind of wrong use, which gives a code and a sentence. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int failures, checks;

void check(int holds, const char* what, const char* file, int line) {
  ++checks;
  if (holds) return;
  char sentence[1024];
  canopy_error(sentence, sizeof sentence);
  fprintf(stderr, "%s:%d: %s (the last sentence: %s)\n", file, line, what, sentence);
  ++failures;
}

void check_refused(canopy_code got, canopy_code expected, const char* words, const char* file, int line) {
  char sentence[4096];
  const size_t length = canopy_error(sentence, sizeof sentence);
  ++checks;
  if (got == expected && length > 0 && strstr(sentence, words)) return;
  fprintf(stderr, "%s:%d: %s, expected %s and \"%s\", the sentence is: %s\n", file, line, canopy_code_name(got),
          canopy_code_name(expected), words, sentence);
  ++failures;
}

static const char kYaml[] =
    "page_size: 4\n"
    "groups:\n"
    "  full: { reach: path, capacity: 64, allocator: free_list, eviction: lru }\n"
    "store: { host: { layers: 2, streams: { k: 8, v: 4 } } }\n";

canopy_engine* engine_of(const char* yaml, canopy_registry* registry) {
  canopy_engine_options options;
  canopy_engine* engine = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.yaml = yaml;
  options.registry = registry;
  OK(canopy_engine_create(&options, &engine));
  if (!engine) exit(1);
  return engine;
}

canopy_request* begin(canopy_engine* engine, const uint32_t* prompt, size_t tokens) {
  canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
  canopy_request* request = NULL;
  spec.prompt = prompt;
  spec.prompt_tokens = tokens;
  OK(canopy_engine_begin(engine, &spec, NULL, &request));
  if (!request) exit(1);
  return request;
}

canopy_request_state look(const canopy_request* request) {
  canopy_request_state state;
  memset(&state, 0xab, sizeof state);
  state.size = sizeof state;
  OK(canopy_request_look(request, &state));
  return state;
}

uint64_t digest(const canopy_engine* engine) {
  canopy_engine_state state;
  memset(&state, 0, sizeof state);
  state.size = sizeof state;
  OK(canopy_engine_look(engine, &state));
  return state.digest;
}

void fill(uint32_t* tokens, size_t count, uint32_t from) {
  for (size_t i = 0; i < count; ++i) tokens[i] = from + (uint32_t)i;
}

static void versions(void) {
  CHECK(canopy_abi_version() == (CANOPY_ABI_MAJOR << 16 | CANOPY_ABI_MINOR));
  CHECK(strchr(canopy_version(), '.') != NULL);
  CHECK(strcmp(canopy_code_name(CANOPY_OK), "CANOPY_OK") == 0);
  CHECK(strcmp(canopy_code_name(CANOPY_FAILED), "CANOPY_FAILED") == 0);
  CHECK(strcmp(canopy_code_name(CANOPY_FAILED + 1), "unknown") == 0);
  // Programs that were compiled before know these numbers.
  const char* const names[] = {"OK",          "NO_ROOM",   "BAD_ARGUMENT", "BAD_SIZE",  "SMALL_BUFFER", "NOT_FOUND",
                               "WRONG_STATE", "VIOLATION", "REFUSED",      "NO_MEMORY", "FAILED"};
  for (canopy_code code = 0; code <= 10; ++code)
    CHECK(strcmp(canopy_code_name(code) + strlen("CANOPY_"), names[code]) == 0);
  CHECK(CANOPY_NO_ROOM == 1 && CANOPY_BAD_ARGUMENT == 2 && CANOPY_BAD_SIZE == 3 && CANOPY_SMALL_BUFFER == 4 &&
        CANOPY_NOT_FOUND == 5 && CANOPY_WRONG_STATE == 6 && CANOPY_VIOLATION == 7 && CANOPY_REFUSED == 8 &&
        CANOPY_NO_MEMORY == 9);
  CHECK(strcmp(canopy_code_name(-1), "unknown") == 0);
}

static void whole_life(void) {
  canopy_engine* engine = engine_of(kYaml, NULL);
  uint32_t prompt[20], pages[8], space = 9, replaced = 9, resident = 0;
  int32_t table[2 * 24];
  size_t length = 0, needed = 0;
  int32_t verdict = 9;
  char reason[64] = "x";
  canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
  fill(prompt, 20, 1);
  spec.prompt = prompt;
  spec.prompt_tokens = 20;
  spec.output_limit = 4;
  OK(canopy_engine_admits(engine, &spec, &verdict, reason, sizeof reason));
  CHECK(verdict == CANOPY_RUN_NOW && reason[0] == '\0');
  spec.output_limit = 100000;
  OK(canopy_engine_admits(engine, &spec, &verdict, reason, sizeof reason));
  CHECK(verdict == CANOPY_RUN_NEVER && strlen(reason) == sizeof reason - 1); /* cut, and ended */

  canopy_request* a = begin(engine, prompt, 20);
  CHECK(look(a).matched == 0 && look(a).tokens == 20 && look(a).ended == 0);
  OK(canopy_request_reserve(a, 20, UINT32_MAX));
  uint64_t k[20], k_back[20];
  uint32_t v[20], v_back[20];
  for (size_t i = 0; i < 20; ++i) k[i] = 1000 + i, v[i] = (uint32_t)(50 + i);
  const void* from[2];
  void* to[2];
  from[0] = k, from[1] = v, to[0] = k_back, to[1] = v_back;
  OK(canopy_request_write(a, 0, 1, 0, 20, from, 2));
  OK(canopy_request_read(a, 0, 1, 0, 20, to, 2));
  CHECK(memcmp(k, k_back, sizeof k) == 0 && memcmp(v, v_back, sizeof v) == 0);
  OK(canopy_request_commit(a, 20, &replaced));
  CHECK(replaced == 0 && look(a).committed == 20);
  OK(canopy_request_row(a, 0, 0, pages, 8, &length));
  CHECK(length == 5 && pages[0] != 0);
  OK(canopy_request_row(a, 0, 4, pages + 5, 1, &length));
  CHECK(length == 5 && pages[5] == pages[4]);
  OK(canopy_request_row(a, 0, 9, NULL, 0, &length));

  prompt[18] = 77;
  canopy_request* b = begin(engine, prompt, 20);
  CHECK(look(b).matched == 16);
  OK(canopy_request_reserve(b, 21, UINT32_MAX));
  OK(canopy_request_append(b, prompt, 1));
  OK(canopy_request_advance(b, 21));
  {
    const canopy_request* batch[2];
    batch[0] = a, batch[1] = b;
    memset(table, 0xff, sizeof table);
    OK(canopy_engine_page_table(engine, batch, 2, 0, CANOPY_ENTRY_PAGE, table, 8, &needed));
    CHECK(needed == 6 && table[0] == (int32_t)pages[0] && table[8] == table[0] && table[5] == 0 && table[15] == 0);
    OK(canopy_engine_page_table(engine, batch, 2, 0, CANOPY_ENTRY_SLOT, table, 24, &needed));
    CHECK(needed == 24 && table[3] == (int32_t)pages[0] * 4 + 3 && table[20] == 0);
  }
  {
    uint32_t tokens[32];
    OK(canopy_request_tokens(b, 0, tokens, 32, &length));
    CHECK(length == 21 && tokens[18] == 77 && tokens[20] == 1);
  }
  OK(canopy_request_retract(b));
  OK(canopy_request_resume(b, &resident));
  CHECK(resident == 16);
  OK(canopy_request_rematch(b, NULL));
  OK(canopy_request_finish(a, 20));
  CHECK(look(a).ended == 1);
  OK(canopy_request_abort(b));

  OK(canopy_engine_intern(engine, "tenant", NULL, "salt", &space));
  CHECK(space == 1);
  OK(canopy_engine_turn(engine, 1000));
  {
    uint64_t us = 0, tokens = 0;
    int32_t runs = 0;
    OK(canopy_engine_next_end_us(engine, &us));
    CHECK(us == CANOPY_UNLIMITED);
    OK(canopy_engine_poll(engine, &runs));
    CHECK(runs == 1);
    OK(canopy_engine_make_free(engine, 0, 16));
    CHECK(canopy_engine_make_free(engine, 0, 17) == CANOPY_NO_ROOM);
    OK(canopy_engine_flush(engine, 0, &tokens));
    OK(canopy_engine_resize(engine, 0, 8));
    OK(canopy_engine_use_policy(engine, 0, "slru", "{ protect_after: 3 }"));
    OK(canopy_engine_audit(engine));
  }
  canopy_request_destroy(a);
  canopy_request_destroy(b);
  OK(canopy_engine_destroy(engine));
}

/* A request that finds no room ends and comes again: only the one that had room counts. */
static void tries(void) {
  canopy_engine* engine = engine_of(kYaml, NULL);
  uint32_t prompt[40];
  canopy_counters counters;
  canopy_request_state state;
  int again;
  fill(prompt, 40, 1);
  canopy_request* first = begin(engine, prompt, 40);
  OK(canopy_request_reserve(first, 40, UINT32_MAX));
  OK(canopy_request_commit(first, 40, NULL));
  fill(prompt + 20, 20, 1000);
  memset(&counters, 0, sizeof counters);
  counters.size = sizeof counters;
  memset(&state, 0, sizeof state);
  state.size = sizeof state;
  for (again = 0; again < 6; ++again) {
    if (again == 5) OK(canopy_request_finish(first, 40));
    canopy_request* request = begin(engine, prompt, 40);
    CHECK(canopy_request_reserve(request, 50, UINT32_MAX) == (again < 5 ? CANOPY_NO_ROOM : CANOPY_OK));
    OK(canopy_request_look(request, &state));
    CHECK(state.admitted == (again == 5));
    if (again == 5) OK(canopy_request_finish(request, 40));
    canopy_request_destroy(request);
  }
  OK(canopy_engine_counters(engine, &counters));
  CHECK(counters.requests == 2 && counters.prompt_tokens == 80 && counters.hit_tokens == 20);
  CHECK(counters.tries == 5 && counters.finished == 2 && counters.aborted == 0);
  canopy_request_destroy(first);
  OK(canopy_engine_destroy(engine));
}

static void figures(void) {
  canopy_engine* engine = engine_of(kYaml, NULL);
  uint32_t prompt[12];
  char text[4096];
  size_t length = 0;
  canopy_counters counters;
  canopy_pool pool;
  canopy_kv_view view;
  uint64_t value = 1;
  fill(prompt, 12, 1);
  canopy_request* request = begin(engine, prompt, 12);
  OK(canopy_request_reserve(request, 12, UINT32_MAX));
  memset(&counters, 0, sizeof counters);
  counters.size = sizeof counters;
  OK(canopy_engine_counters(engine, &counters));
  CHECK(counters.requests == 1 && counters.prompt_tokens == 12 && counters.hit_tokens == 0);
  memset(&pool, 0, sizeof pool);
  pool.size = sizeof pool;
  OK(canopy_engine_pool(engine, 0, &pool));
  CHECK(pool.limit == 16 && pool.pages == 16 && pool.free == 13 && pool.owned == 3 && pool.evictable == 0);
  memset(&view, 0, sizeof view);
  view.size = sizeof view;
  OK(canopy_engine_view(engine, 0, &view));
  CHECK(view.streams == 2 && view.layers == 2 && view.page_size == 4 && view.device == -1);
  CHECK(view.stream[0].row_bytes == 8 && view.stream[1].row_bytes == 4 && view.stream[0].base != NULL);
  OK(canopy_engine_counter(engine, "hit_tokens_host", 0, 0, &value));
  CHECK(value == 0);
  CHECK(canopy_counter_name(0) != NULL && canopy_counter_name(100000) == NULL);
  OK(canopy_engine_text(engine, CANOPY_TEXT_CONFIG, 0, text, sizeof text, &length));
  CHECK(strlen(text) == length && strstr(text, "page_size: 4"));
  OK(canopy_engine_text(engine, CANOPY_TEXT_GROUP, 0, text, sizeof text, &length));
  CHECK(strcmp(text, "full") == 0 && length == 4);
  OK(canopy_engine_text(engine, CANOPY_TEXT_POLICY, 0, text, sizeof text, &length));
  CHECK(strcmp(text, "lru") == 0);
  OK(canopy_engine_text(engine, CANOPY_TEXT_REPORTS, 0, text, sizeof text, &length));
  CHECK(length == 0 && text[0] == '\0');
  OK(canopy_engine_text(engine, CANOPY_TEXT_NOTES, 0, text, sizeof text, &length));
  REFUSED(canopy_engine_text(engine, CANOPY_TEXT_GROUP, 0, text, 4, &length), CANOPY_SMALL_BUFFER, "4 bytes");
  CHECK(length == 4);
  REFUSED(canopy_engine_text(engine, CANOPY_TEXT_GROUP, 0, NULL, 0, &length), CANOPY_SMALL_BUFFER, "4 bytes");
  REFUSED(canopy_engine_text(engine, 99, 0, text, 4, &length), CANOPY_BAD_ARGUMENT, "no text 99");
  REFUSED(canopy_engine_text(engine, CANOPY_TEXT_GROUP, 1, text, 4, &length), CANOPY_BAD_ARGUMENT, "group 1");
  REFUSED(canopy_engine_text(engine, CANOPY_TEXT_GROUP, 0, text, 4, NULL), CANOPY_BAD_ARGUMENT, "length is NULL");
  REFUSED(canopy_engine_counter(engine, "hits", 0, 0, &value), CANOPY_NOT_FOUND, "'hits'");
  REFUSED(canopy_engine_counter(engine, "requests", 0, 1, &value), CANOPY_BAD_ARGUMENT, "1 columns");
  size_t named = 0;
  while (canopy_counter_name(named) != NULL)
    OK(canopy_engine_counter(engine, canopy_counter_name(named++), 0, 0, &value));
  CHECK(strcmp(canopy_counter_name(named - 1), "relocated_pages") == 0);
  REFUSED(canopy_engine_counter(engine, "hit_tokens_host", 1, 0, &value), CANOPY_BAD_ARGUMENT, "1 rows");
  REFUSED(canopy_engine_pool(engine, 1, &pool), CANOPY_BAD_ARGUMENT, "group 1, but there are 1");
  canopy_request_destroy(request);
  OK(canopy_engine_destroy(engine));
}

/* Structs of other versions: shorter ones, longer ones, and ones that were not initialized. */
static void sizes(void) {
  canopy_engine* engine = engine_of(kYaml, NULL);
  uint32_t prompt[8];
  canopy_request* request = NULL;
  struct {
    canopy_request_spec spec;
    uint64_t later;
  } longer;
  struct {
    canopy_counters counters;
    uint64_t later[2];
  } more;
  canopy_engine_options options;
  canopy_engine* none = engine;
  fill(prompt, 8, 1);
  memset(&longer, 0, sizeof longer);
  longer.spec.min_uncached = 1;
  longer.spec.prompt = prompt;
  longer.spec.prompt_tokens = 8;
  longer.spec.size = sizeof longer;
  OK(canopy_engine_begin(engine, &longer.spec, NULL, &request));
  canopy_request_destroy(request);
  longer.later = 1;
  REFUSED(canopy_engine_begin(engine, &longer.spec, NULL, &request), CANOPY_BAD_SIZE, "does not know");
  CHECK(request == NULL);
  longer.spec.size = sizeof longer.spec - 8;
  REFUSED(canopy_engine_begin(engine, &longer.spec, NULL, &request), CANOPY_BAD_SIZE, "spec->size is 56");
  longer.spec.size = 0;
  REFUSED(canopy_engine_begin(engine, &longer.spec, NULL, &request), CANOPY_BAD_SIZE, "at least 64");
  longer.spec.size = (size_t)-1;
  REFUSED(canopy_engine_begin(engine, &longer.spec, NULL, &request), CANOPY_BAD_SIZE, "spec->size");

  memset(&more, 0xff, sizeof more);
  more.counters.size = sizeof more.counters + 8;
  OK(canopy_engine_counters(engine, &more.counters));
  CHECK(more.counters.size == sizeof more.counters + 8 && more.counters.tries == 1);
  CHECK(more.later[0] == 0 && more.later[1] == UINT64_MAX); /* fields that it does not know are 0; it writes no further */
  more.counters.size = offsetof(canopy_counters, tries); /* the struct of version 1.0 */
  more.counters.tries = 7;
  OK(canopy_engine_counters(engine, &more.counters));
  CHECK(more.counters.tries == 7);
  more.counters.size -= 8;
  REFUSED(canopy_engine_counters(engine, &more.counters), CANOPY_BAD_SIZE, "counters->size");

  memset(&options, 0, sizeof options);
  REFUSED(canopy_engine_create(&options, &none), CANOPY_BAD_SIZE, "options->size is 0");
  CHECK(none == NULL);
  OK(canopy_engine_destroy(engine));
}

static void wrong_arguments(void) {
  canopy_engine* engine = engine_of(kYaml, NULL);
  canopy_engine* other = engine_of(
      "page_size: 4\ngroups: { full: { reach: path, capacity: 64, allocator: free_list, "
      "eviction: lru } }\n",
      NULL);
  canopy_engine* table = engine_of(
      "page_size: 4\nindex: hash_chain\ngroups: { full: { reach: path, capacity: 64, allocator: free_list, "
      "eviction: lru } }\n",
      NULL);
  canopy_engine* none = engine;
  canopy_engine_options options;
  canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
  canopy_request* request = NULL;
  canopy_request_state state;
  canopy_kv_view view;
  uint32_t prompt[8], pages[8];
  size_t length = 0;
  int32_t verdict;
  const void* stream[2];
  fill(prompt, 8, 1);
  stream[0] = stream[1] = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  REFUSED(canopy_engine_create(NULL, &none), CANOPY_BAD_ARGUMENT, "options is NULL");
  REFUSED(canopy_engine_create(&options, NULL), CANOPY_BAD_ARGUMENT, "engine is NULL");
  REFUSED(canopy_engine_create(&options, &none), CANOPY_BAD_ARGUMENT, "yaml is NULL");
  options.yaml = "page_size: 4\ngroups: { full: { reach: path, allocator: free_lisst, eviction: lru } }\n";
  options.name = "mine.yaml";
  REFUSED(canopy_engine_create(&options, &none), CANOPY_REFUSED, "mine.yaml:2");
  REFUSED(canopy_engine_create(&options, &none), CANOPY_REFUSED, "free_list");
  options.yaml = "page_size: [";
  REFUSED(canopy_engine_create(&options, &none), CANOPY_REFUSED, "mine.yaml:");
  CHECK(none == NULL);

  REFUSED(canopy_engine_begin(NULL, &spec, NULL, &request), CANOPY_BAD_ARGUMENT, "engine is NULL");
  REFUSED(canopy_engine_begin(engine, NULL, NULL, &request), CANOPY_BAD_ARGUMENT, "spec is NULL");
  REFUSED(canopy_engine_begin(engine, &spec, NULL, NULL), CANOPY_BAD_ARGUMENT, "request is NULL");
  spec.prompt_tokens = 8;
  REFUSED(canopy_engine_begin(engine, &spec, NULL, &request), CANOPY_BAD_ARGUMENT, "prompt is NULL");
  spec.prompt = prompt;
  spec.space = 1;
  REFUSED(canopy_engine_begin(engine, &spec, NULL, &request), CANOPY_BAD_ARGUMENT, "1 namespaces");
  spec.space = 0;
  spec.retentions = 1;
  REFUSED(canopy_engine_begin(engine, &spec, NULL, &request), CANOPY_BAD_ARGUMENT, "retention is NULL");
  spec.retentions = 0;
  REFUSED(canopy_engine_admits(engine, &spec, NULL, NULL, 0), CANOPY_BAD_ARGUMENT, "verdict is NULL");
  OK(canopy_engine_admits(engine, &spec, &verdict, NULL, 0));
  REFUSED(canopy_engine_flush(engine, 5, NULL), CANOPY_BAD_ARGUMENT, "namespace 5");
  REFUSED(canopy_engine_resize(engine, 1, 8), CANOPY_VIOLATION, "group 1");
  REFUSED(canopy_engine_resize(engine, 0, 0), CANOPY_VIOLATION, "0 pages");
  REFUSED(canopy_engine_use_policy(engine, 0, "lrru", NULL), CANOPY_REFUSED, "lru");
  REFUSED(canopy_engine_use_policy(engine, 0, NULL, NULL), CANOPY_BAD_ARGUMENT, "name is NULL");
  REFUSED(canopy_engine_use_policy(engine, 1, "lru", NULL), CANOPY_VIOLATION, "group 1");
  REFUSED(canopy_engine_use_policy(table, 0, "lfu", NULL), CANOPY_REFUSED, "an order of its own");
  OK(canopy_engine_use_policy(table, 0, "lru", NULL));
  OK(canopy_engine_destroy(table));
  OK(canopy_engine_begin(engine, &spec, NULL, &request));
  REFUSED(canopy_request_reserve(NULL, 8, 8), CANOPY_BAD_ARGUMENT, "request is NULL");
  REFUSED(canopy_request_append(request, NULL, 1), CANOPY_BAD_ARGUMENT, "tokens is NULL");
  OK(canopy_request_append(request, NULL, 0));
  REFUSED(canopy_request_commit(request, 8, NULL), CANOPY_VIOLATION, "commit");
  OK(canopy_request_reserve(request, 8, UINT32_MAX));
  REFUSED(canopy_request_row(request, 1, 0, pages, 8, &length), CANOPY_BAD_ARGUMENT, "group 1");
  REFUSED(canopy_request_row(request, 0, 0, pages, 1, &length), CANOPY_SMALL_BUFFER, "2 elements");
  CHECK(length == 2);
  REFUSED(canopy_request_row(request, 0, 0, NULL, 8, &length), CANOPY_BAD_ARGUMENT, "buffer is NULL");
  REFUSED(canopy_request_row(request, 0, 0, pages, 8, NULL), CANOPY_BAD_ARGUMENT, "length is NULL");
  REFUSED(canopy_request_write(request, 0, 0, 0, 1, stream, 2), CANOPY_BAD_ARGUMENT, "a stream is NULL");
  REFUSED(canopy_request_write(request, 0, 0, 0, 1, NULL, 2), CANOPY_BAD_ARGUMENT, "a stream is NULL");
  stream[0] = stream[1] = prompt;
  REFUSED(canopy_request_write(request, 0, 0, 0, 1, stream, 1), CANOPY_BAD_ARGUMENT, "1 streams");
  REFUSED(canopy_request_write(request, 0, 7, 0, 1, stream, 2), CANOPY_VIOLATION, "layer");
  REFUSED(canopy_request_write(request, 0, 0, 7, 9, stream, 2), CANOPY_VIOLATION, "write");
  REFUSED(canopy_request_look(request, NULL), CANOPY_BAD_ARGUMENT, "state is NULL");
  REFUSED(canopy_request_look(NULL, &state), CANOPY_BAD_ARGUMENT, "request is NULL");
  {
    const canopy_request* batch[1];
    int32_t table[2];
    batch[0] = request;
    REFUSED(canopy_engine_page_table(other, batch, 1, 0, 0, table, 2, &length), CANOPY_BAD_ARGUMENT, "another engine");
    REFUSED(canopy_engine_page_table(engine, batch, 1, 0, 2, table, 2, &length), CANOPY_BAD_ARGUMENT, "entry 2");
    REFUSED(canopy_engine_page_table(engine, batch, 1, 0, 0, table, 1, &length), CANOPY_SMALL_BUFFER, "2 entries");
    CHECK(length == 2);
    batch[0] = NULL;
    REFUSED(canopy_engine_page_table(engine, batch, 1, 0, 0, table, 2, &length), CANOPY_BAD_ARGUMENT, "request 0");
    REFUSED(canopy_engine_page_table(engine, NULL, 1, 0, 0, table, 2, &length), CANOPY_BAD_ARGUMENT, "requests");
    OK(canopy_engine_page_table(engine, NULL, 0, 0, 0, NULL, 0, &length));
  }
  memset(&view, 0, sizeof view);
  view.size = sizeof view;
  REFUSED(canopy_engine_view(other, 0, &view), CANOPY_NOT_FOUND, "no store");
  canopy_request_destroy(request);
  canopy_request_destroy(NULL);
  canopy_fetch_destroy(NULL);
  canopy_registry_destroy(NULL);
  canopy_index_destroy(NULL);
  canopy_feed_destroy(NULL);
  OK(canopy_engine_destroy(NULL));
  OK(canopy_engine_destroy(engine));
  OK(canopy_engine_destroy(other));
}

static void wrong_order(void) {
  canopy_engine* engine = engine_of(kYaml, NULL);
  uint32_t prompt[8];
  fill(prompt, 8, 1);
  canopy_request* request = begin(engine, prompt, 8);
  REFUSED(canopy_engine_destroy(engine), CANOPY_WRONG_STATE, "1 requests");
  REFUSED(canopy_request_resume(request, NULL), CANOPY_WRONG_STATE, "not retracted");
  OK(canopy_request_retract(request));
  const uint64_t before = digest(engine);
  REFUSED(canopy_request_reserve(request, 8, 8), CANOPY_WRONG_STATE, "is retracted");
  REFUSED(canopy_request_retract(request), CANOPY_WRONG_STATE, "is retracted");
  REFUSED(canopy_request_finish(request, 0), CANOPY_WRONG_STATE, "is retracted");
  CHECK(digest(engine) == before);
  OK(canopy_request_resume(request, NULL));
  OK(canopy_request_finish(request, 0));
  REFUSED(canopy_request_finish(request, 0), CANOPY_WRONG_STATE, "has ended");
  REFUSED(canopy_request_abort(request), CANOPY_WRONG_STATE, "has ended");
  REFUSED(canopy_request_reserve(request, 8, 8), CANOPY_WRONG_STATE, "has ended");
  REFUSED(canopy_request_resume(request, NULL), CANOPY_WRONG_STATE, "has ended");
  CHECK(look(request).tokens == 8);
  canopy_request_destroy(request);
  REFUSED(canopy_request_abort(request), CANOPY_WRONG_STATE, "was destroyed"); /* its memory is the engine's */
  canopy_request_destroy(request);

  request = begin(engine, prompt, 8);
  OK(canopy_request_retract(request));
  OK(canopy_request_abort(request));
  canopy_request_destroy(request);
  request = begin(engine, prompt, 8); /* destroyed while it runs: aborted */
  OK(canopy_request_reserve(request, 8, UINT32_MAX));
  canopy_request_destroy(request);
  OK(canopy_engine_audit(engine));
  OK(canopy_engine_destroy(engine));
}

static void no_room(void) {
  canopy_engine* engine = engine_of(kYaml, NULL);
  uint32_t prompt[64];
  fill(prompt, 64, 1);
  canopy_request* a = begin(engine, prompt, 40);
  fill(prompt, 64, 1000);
  canopy_request* b = begin(engine, prompt, 40);
  OK(canopy_request_reserve(a, 40, UINT32_MAX));
  CHECK(canopy_request_reserve(b, 40, UINT32_MAX) == CANOPY_NO_ROOM);
  CHECK(look(b).reserved == 0);
  canopy_request_destroy(a);
  OK(canopy_request_reserve(b, 40, UINT32_MAX));
  canopy_request_destroy(b);
  OK(canopy_engine_destroy(engine));
}

static void fetches(void) {
  canopy_engine* engine = engine_of(
      "page_size: 4\n"
      "groups:\n"
      "  full: { reach: path, capacity: 32, allocator: free_list, eviction: lru }\n"
      "tiers: { host: { capacity: 256 } }\n"
      "store: { host: { layers: 1, streams: { kv: 8 } } }\n",
      NULL);
  uint32_t prompt[16], other[32];
  canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
  canopy_fetch* fetch = NULL;
  canopy_fetch_state state;
  uint64_t value = 0;
  fill(prompt, 16, 1);
  fill(other, 32, 100);
  canopy_request* request = begin(engine, prompt, 16);
  OK(canopy_request_reserve(request, 16, UINT32_MAX));
  OK(canopy_request_finish(request, 16));
  canopy_request_destroy(request);
  request = begin(engine, other, 32); /* evicts the first one to the tier */
  OK(canopy_request_reserve(request, 32, UINT32_MAX));
  OK(canopy_request_finish(request, 32));
  canopy_request_destroy(request);
  OK(canopy_engine_turn(engine, 1000));
  spec.prompt = prompt;
  spec.prompt_tokens = 16;
  OK(canopy_engine_fetch(engine, &spec, &fetch));
  memset(&state, 0, sizeof state);
  state.size = sizeof state;
  OK(canopy_fetch_look(fetch, 0, &state));
  CHECK(state.tokens == 16 || state.tokens == 12);
  OK(canopy_engine_turn(engine, 2000));
  OK(canopy_engine_turn(engine, 3000));
  OK(canopy_fetch_look(fetch, 0, &state));
  CHECK(state.done == 1 && state.ready == 1);
  REFUSED(canopy_fetch_look(NULL, 0, &state), CANOPY_BAD_ARGUMENT, "fetch is NULL");
  REFUSED(canopy_engine_destroy(engine), CANOPY_WRONG_STATE, "1 fetches");
  OK(canopy_engine_begin(engine, &spec, fetch, &request));
  CHECK(look(request).matched == 12);
  OK(canopy_engine_counter(engine, "hit_tokens_host", 0, 0, &value));
  CHECK(value > 0);
  canopy_fetch_destroy(fetch);
  canopy_request_destroy(request);
  OK(canopy_engine_destroy(engine));
}

static void retention(void) {
  canopy_engine* engine = engine_of(
      "page_size: 4\n"
      "groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\n"
      "tenants: { a: { pins: 12 } }\n",
      NULL);
  uint32_t prompt[16];
  canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
  canopy_retention keep[2];
  canopy_request* request = NULL;
  fill(prompt, 16, 1);
  memset(keep, 0, sizeof keep);
  keep[0].tokens = 16, keep[0].us = 1000;
  keep[1].tokens = 8, keep[1].us = 1000;
  spec.prompt = prompt;
  spec.prompt_tokens = 16;
  spec.retention = keep;
  spec.retentions = 2;
  OK(canopy_engine_intern(engine, "a", NULL, NULL, &spec.space));
  OK(canopy_engine_begin(engine, &spec, NULL, &request));
  CHECK(look(request).retained == 8); /* 16 are beyond the tenant's pins */
  OK(canopy_request_reserve(request, 16, UINT32_MAX));
  OK(canopy_request_finish(request, 16));
  canopy_request_destroy(request);
  CHECK(canopy_engine_make_free(engine, 0, 16) == CANOPY_NO_ROOM);
  OK(canopy_engine_turn(engine, 5000));
  OK(canopy_engine_make_free(engine, 0, 16));
  OK(canopy_engine_destroy(engine));
}

/* Each field of a spec reaches the engine: a window's pool has room for a long prompt only in chunks. */
static void chunks(void) {
  canopy_engine* engine = engine_of(
      "page_size: 4\n"
      "groups:\n"
      "  full: { reach: path, capacity: 256, allocator: free_list, eviction: lru }\n"
      "  window: { reach: 8, capacity: 48, allocator: free_list, eviction: lru }\n",
      NULL);
  uint32_t prompt[128];
  canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
  int32_t verdict = 9;
  fill(prompt, 128, 1);
  spec.prompt = prompt;
  spec.prompt_tokens = 128;
  OK(canopy_engine_admits(engine, &spec, &verdict, NULL, 0));
  CHECK(verdict == CANOPY_RUN_NEVER);
  spec.chunk = 8;
  OK(canopy_engine_admits(engine, &spec, &verdict, NULL, 0));
  CHECK(verdict == CANOPY_RUN_NOW);
  OK(canopy_engine_destroy(engine));
}

int contract(void) {
  failures = checks = 0;
  versions();
  whole_life();
  figures();
  tries();
  sizes();
  wrong_arguments();
  wrong_order();
  no_room();
  fetches();
  retention();
  chunks();
  test_policy();
  test_index();
  test_feed();
  test_scheduling();
  test_tenants();
  fprintf(stderr, "%d checks\n", checks);
  return failures;
}
