/* A server's loop over a prefix cache, over the C interface: what server_loop.cpp does, and the same line.
 *
 *   server_loop ENGINE_FILE [PLUGIN_FOLDER]      (default: the plugins that were installed with libcanopy)
 */
#include <canopy/c/canopy.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRequests = 2000, kBatch = 512, kAdmitted = 8, kChunk = 2048, kStepUs = 20000, kLongest = 32768 };

static void need(canopy_code code) {
  if (code == CANOPY_OK) return;
  char sentence[4096];
  canopy_error(sentence, sizeof sentence);
  fprintf(stderr, "%s: %s\n", canopy_code_name(code), sentence);
  exit(2);
}

/* The requests: one of 40 system prompts, then tokens of their own; every 16th is long. */
static uint64_t state = 35;
static uint32_t number;
static uint32_t random_below(uint32_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % below;
}
static uint32_t next_prompt(uint32_t* prompt, uint32_t* output) {
  const uint32_t prefix = random_below(40), shared = 1024 + 64 * prefix;
  const uint32_t own = (200 + random_below(3000)) * (number % 16 == 15 ? 8 : 1);
  *output = 1 + random_below(256);
  for (uint32_t i = 0; i < shared; ++i) prompt[i] = 100000 * prefix + i;
  for (uint32_t i = 0; i < own; ++i) prompt[shared + i] = 10000000 + 50000 * number + i;
  ++number;
  return shared + own;
}

typedef struct Running {
  canopy_request* request;
  uint32_t length, computed, output; /* tokens; output: those that it still generates */
} Running;

static Running running[kBatch], retracted[kRequests];
static size_t run, first_retracted, end_retracted;
static uint32_t begun;
static uint64_t rows;

static void begin(canopy_engine* engine) {
  static uint32_t prompt[kLongest];
  Running one;
  canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
  canopy_request_state now = {.size = sizeof now};
  one.length = next_prompt(prompt, &one.output);
  spec.prompt = prompt;
  spec.prompt_tokens = one.length;
  spec.output_limit = one.output;
  spec.chunk = kChunk;
  need(canopy_engine_begin(engine, &spec, NULL, &one.request));
  need(canopy_request_look(one.request, &now));
  one.computed = now.computed;
  running[run++] = one;
  ++begun;
}

/* Resumes retracted requests, and begins new ones if there are none. */
static void admit(canopy_engine* engine) {
  for (int i = 0; i < kAdmitted && run < kBatch; ++i) {
    if (first_retracted < end_retracted) {
      Running one = retracted[first_retracted++ % kRequests];
      need(canopy_request_resume(one.request, &one.computed));
      running[run++] = one;
    } else if (begun < kRequests) {
      begin(engine);
    }
  }
}

/* Makes one step of a request: a chunk of its prefill, or a token. Returns 0 if it then runs no longer. */
static int advance(Running* one) {
  const uint32_t length = one->length, left = length - one->computed;
  if (left == 0 && one->output == 0) {
    static uint32_t pages[kLongest];
    size_t count;
    need(canopy_request_row(one->request, 0, 0, pages, kLongest, &count));
    for (size_t i = 0; i < count; ++i) rows = rows * 31 + pages[i]; /* a kernel would read them */
    need(canopy_request_finish(one->request, length));
    canopy_request_destroy(one->request);
    return 0;
  }
  const uint32_t to = left > 0 ? one->computed + (left < kChunk ? left : kChunk) : length + 1;
  const canopy_code reserved = canopy_request_reserve(one->request, to, UINT32_MAX);
  if (reserved == CANOPY_NO_ROOM) {
    need(canopy_request_retract(one->request));
    retracted[end_retracted++ % kRequests] = *one;
    return 0;
  }
  need(reserved);
  if (left > 0) {
    need(canopy_request_commit(one->request, to, NULL));
  } else {
    need(canopy_request_append(one->request, &length, 1)); /* the model's choice */
    need(canopy_request_advance(one->request, to));
    ++one->length;
    --one->output;
  }
  one->computed = to;
  return 1;
}

static char* text_of(const char* path) {
  FILE* file = fopen(path, "rb");
  char* text = malloc(65536);
  if (!file || !text) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(2);
  }
  text[fread(text, 1, 65535, file)] = '\0';
  fclose(file);
  return text;
}

int main(int argc, char** argv) {
  canopy_engine_options options = {sizeof options, NULL, NULL, NULL, NULL, NULL};
  canopy_engine_state after = {sizeof after, 0, 0, 0, 0, 0, 0, 0};
  canopy_counters counters;
  canopy_engine* engine;
  if (argc < 2) return fputs("usage: server_loop ENGINE_FILE [PLUGIN_FOLDER]\n", stderr), 2;
  if (argc > 2) need(canopy_registry_create(argv[2], &options.registry));
  char* const text = text_of(argv[1]);
  options.yaml = text;
  options.name = argv[1];
  need(canopy_engine_create(&options, &engine));
  canopy_registry_destroy(options.registry);
  free(text);

  for (uint64_t step = 0; begun < kRequests || run > 0 || first_retracted < end_retracted; ++step) {
    need(canopy_engine_turn(engine, step * kStepUs));
    admit(engine);
    size_t going = 0;
    for (size_t i = 0; i < run; ++i)
      if (advance(&running[i])) running[going++] = running[i];
    run = going;
  }

  memset(&counters, 0, sizeof counters);
  counters.size = sizeof counters;
  need(canopy_engine_counters(engine, &counters));
  need(canopy_engine_look(engine, &after));
  printf("%" PRIu64 " requests, %" PRIu64 " prompt tokens, %" PRIu64 " reused, %" PRIu64 " evicted, %" PRIu64
         " retracted, rows %016" PRIx64 ", %" PRIu64 " violations, digest %016" PRIx64 "\n",
         counters.finished, counters.prompt_tokens, counters.hit_tokens, counters.evicted_tokens, counters.retracted,
         rows, after.violations, after.digest);
  need(canopy_engine_destroy(engine));
  return after.violations == 0 ? 0 : 1;
}
