/* Policies of C functions, an index alone, and a feed to read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/* A policy that ranks by last use, counts its calls, and tries to call the engine that calls it. */
typedef struct Counts {
  int created, destroyed, ranked, evicted, arrived, ended, cleared, path;
  canopy_engine* engine; /* NULL: it calls none */
  canopy_code from_inside;
  int refuses;
  canopy_request* doomed;   /* NULL: it destroys none */
  canopy_request* twice[2]; /* destroyed when a request ends; NULL: none */
} Counts;

static void* create(void* context) {
  Counts* counts = context;
  ++counts->created;
  return counts->refuses ? NULL : counts;
}
static void destroy(void* self) { ++((Counts*)self)->destroyed; }
static canopy_rank rank_by_use(void* self, const canopy_node_facts* node) {
  Counts* counts = self;
  canopy_rank rank;
  ++counts->ranked;
  if (counts->engine) counts->from_inside = canopy_engine_turn(counts->engine, 1);
  canopy_request_destroy(counts->doomed); /* more than once */
  if (node->size < sizeof *node || !node->tag) counts->from_inside = CANOPY_FAILED;
  rank.major = node->last_access;
  rank.minor = 0;
  return rank;
}
static void evicted(void* self, const canopy_node_facts* node, const canopy_eviction* eviction) {
  if (node->length > 0 && eviction->cause <= CANOPY_CAUSE_CEILING) ++((Counts*)self)->evicted;
}
static void arrived(void* self, const canopy_arrival* request) {
  if (request->ending == CANOPY_RUNNING) ++((Counts*)self)->arrived;
}
static void ended(void* self, const canopy_arrival* request, canopy_path* path) {
  Counts* counts = self;
  canopy_node_facts node;
  if (request->ending != CANOPY_RUNNING) ++counts->ended;
  canopy_request_destroy(counts->twice[0]);
  canopy_request_destroy(counts->twice[1]);
  node.size = sizeof node;
  while (canopy_path_next(path, &node)) ++counts->path;
  node.size = 8;
  if (canopy_path_next(path, &node) || canopy_path_next(path, NULL)) counts->path = -1000;
}
static void cleared(void* self) { ++((Counts*)self)->cleared; }

static canopy_policy policy_of(Counts* counts) {
  canopy_policy policy;
  memset(&policy, 0, sizeof policy);
  policy.size = sizeof policy;
  policy.name = "by_use";
  policy.summary = "the least recently used node is evicted first";
  policy.rule = "the least recently used node is evicted first";
  policy.rank_text = "used {major:ago}";
  policy.context = counts;
  policy.create = create;
  policy.destroy = destroy;
  policy.rank = rank_by_use;
  policy.evicted = evicted;
  policy.arrived = arrived;
  policy.ended = ended;
  policy.cleared = cleared;
  return policy;
}

void test_policy(void) {
  static const char kOurs[] =
      "page_size: 4\ngroups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: by_use } }\n";
  static const char kLru[] =
      "page_size: 4\ngroups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\n";
  Counts counts;
  canopy_policy policy, wrong;
  canopy_registry* registry = NULL;
  canopy_engine* engine = NULL;
  canopy_engine_options options;
  uint32_t prompt[16];
  memset(&counts, 0, sizeof counts);
  policy = policy_of(&counts);
  OK(canopy_registry_create(NULL, &registry));
  OK(canopy_registry_add_policy(registry, &policy));
  REFUSED(canopy_registry_add_policy(registry, &policy), CANOPY_REFUSED, "by_use");
  policy.name = "lru";
  REFUSED(canopy_registry_add_policy(registry, &policy), CANOPY_REFUSED, "eviction.so");
  wrong = policy, wrong.rank = NULL;
  REFUSED(canopy_registry_add_policy(registry, &wrong), CANOPY_BAD_ARGUMENT, "rank is NULL");
  wrong = policy, wrong.name = NULL;
  REFUSED(canopy_registry_add_policy(registry, &wrong), CANOPY_BAD_ARGUMENT, "name");
  wrong = policy, wrong.create = NULL;
  REFUSED(canopy_registry_add_policy(registry, &wrong), CANOPY_BAD_ARGUMENT, "destroy without");
  wrong = policy, wrong.prints = 7;
  REFUSED(canopy_registry_add_policy(registry, &wrong), CANOPY_BAD_ARGUMENT, "prints");
  wrong = policy, wrong.size = 16;
  REFUSED(canopy_registry_add_policy(registry, &wrong), CANOPY_BAD_SIZE, "policy->size is 16");
  REFUSED(canopy_registry_add_policy(registry, NULL), CANOPY_BAD_ARGUMENT, "policy is NULL");
  REFUSED(canopy_registry_add_policy(NULL, &policy), CANOPY_BAD_ARGUMENT, "registry is NULL");
  REFUSED(canopy_registry_add_plugin(registry, "/no/such/plugin.so"), CANOPY_REFUSED, "/no/such/plugin.so");
  REFUSED(canopy_registry_add_plugin(registry, NULL), CANOPY_BAD_ARGUMENT, "file is NULL");
  {
    canopy_registry* none = registry;
    REFUSED(canopy_registry_create("/no/such/folder", &none), CANOPY_NOT_FOUND, "/no/such/folder");
    CHECK(none == NULL);
    REFUSED(canopy_registry_create(NULL, NULL), CANOPY_BAD_ARGUMENT, "registry is NULL");
  }

  engine = engine_of(kOurs, registry);
  CHECK(counts.created == 1);
  /* The same decisions as lru. */
  canopy_engine* lru = engine_of(kLru, NULL);
  for (uint32_t i = 0; i < 40; ++i) {
    canopy_engine* both[2];
    both[0] = engine, both[1] = lru;
    fill(prompt, 16, 1000 * (i * 7 % 11));
    for (int e = 0; e < 2; ++e) {
      canopy_request* request = begin(both[e], prompt, 16);
      OK(canopy_request_reserve(request, 16, UINT32_MAX));
      OK(canopy_request_finish(request, 16));
      canopy_request_destroy(request);
    }
    CHECK(digest(engine) == digest(lru));
  }
  CHECK(counts.evicted > 20 && counts.arrived == 40 && counts.ended == 40 && counts.ranked >= 40);
  CHECK(counts.path >= 40 && counts.from_inside == CANOPY_OK);
  OK(canopy_engine_destroy(lru));

  /* A policy that calls its engine is refused, and the engine goes on. */
  counts.engine = engine;
  fill(prompt, 16, 77000);
  canopy_request* request = begin(engine, prompt, 16);
  OK(canopy_request_reserve(request, 16, UINT32_MAX));
  OK(canopy_request_finish(request, 16));
  canopy_request_destroy(request);
  CHECK(counts.from_inside == CANOPY_WRONG_STATE);
  OK(canopy_engine_audit(engine));
  counts.engine = NULL;
  /* A request that it destroys is destroyed when the call ends. */
  counts.doomed = begin(engine, prompt, 8);
  fill(prompt, 16, 78000);
  request = begin(engine, prompt, 16);
  OK(canopy_request_reserve(request, 16, UINT32_MAX));
  counts.ranked = 0;
  OK(canopy_request_finish(request, 16));
  canopy_request_destroy(request);
  CHECK(counts.ranked > 0);
  REFUSED(canopy_request_abort(counts.doomed), CANOPY_WRONG_STATE, "was destroyed");
  counts.doomed = NULL;
  /* Also if that call destroys another one, which the policy then destroys again. */
  fill(prompt, 8, 79000);
  counts.twice[0] = begin(engine, prompt, 8);
  counts.twice[1] = begin(engine, prompt, 8);
  canopy_request_destroy(counts.twice[0]);
  counts.twice[0] = counts.twice[1] = NULL;
  canopy_request* both[2];
  both[0] = begin(engine, prompt, 8), both[1] = begin(engine, prompt, 8);
  CHECK(both[0] != both[1]);
  canopy_request_destroy(both[0]);
  canopy_request_destroy(both[1]);
  OK(canopy_engine_audit(engine));

  /* The engine keeps the policy when the registry is gone, and gives it up with another one. */
  canopy_registry_destroy(registry);
  CHECK(counts.destroyed == 0);
  OK(canopy_engine_use_policy(engine, 0, "by_use", NULL));
  CHECK(counts.created == 2 && counts.destroyed == 1);
  REFUSED(canopy_engine_use_policy(engine, 0, "by_use", "{ size: 3 }"), CANOPY_REFUSED, "size");
  OK(canopy_engine_use_policy(engine, 0, "lru", NULL));
  CHECK(counts.created == counts.destroyed);
  OK(canopy_engine_destroy(engine));

  counts.refuses = 1;
  policy = policy_of(&counts);
  OK(canopy_registry_create(NULL, &registry));
  OK(canopy_registry_add_policy(registry, &policy));
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.yaml = kOurs;
  options.registry = registry;
  REFUSED(canopy_engine_create(&options, &engine), CANOPY_REFUSED, "by_use");
  canopy_registry_destroy(registry);
}

static canopy_index_options index_options(void) {
  canopy_index_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.page_size = 4;
  return options;
}

void test_index(void) {
  canopy_index_options options = index_options();
  canopy_index* index = NULL;
  canopy_lock lock, again;
  canopy_key key;
  canopy_pages pages;
  canopy_index_state state;
  uint32_t words[16], numbers[4], out[8], length = 9, had = 9, space = 0;
  size_t count = 9, rest = 9, freed = 9;
  memset(&lock, 0, sizeof lock);
  memset(&key, 0, sizeof key);
  fill(words, 16, 1);
  fill(numbers, 4, 11);
  key.words = words;
  key.count = 16;
  pages.pages = numbers;
  pages.count = 4;
  OK(canopy_index_create(&options, &index));
  OK(canopy_index_intern(index, "a", "b", NULL, &space));
  CHECK(space == 1);
  OK(canopy_index_peek(index, &key, &length));
  CHECK(length == 0);
  OK(canopy_index_match(index, &key, &lock));
  CHECK(lock.length == 0 && lock.node == 0);
  OK(canopy_index_insert(index, &lock, &key, &pages, 1, &had));
  CHECK(lock.length == 16 && had == 0);
  /* The same prompt with other pages: they come back. */
  fill(numbers, 4, 21);
  memset(&again, 0, sizeof again);
  OK(canopy_index_insert(index, &again, &key, &pages, 1, &had));
  CHECK(had == 16);
  OK(canopy_index_take_pages(index, 0, out, 3, &count, &rest)); /* a small buffer loses nothing */
  CHECK(count == 3 && rest == 1 && out[0] == 21);
  OK(canopy_index_take_pages(index, 0, out, 8, &count, NULL));
  CHECK(count == 1 && out[0] == 24);
  OK(canopy_index_take_pages(index, 0, NULL, 0, &count, &rest));
  CHECK(count == 0 && rest == 0);
  OK(canopy_index_pages(index, &again, 0, 8, out, 8, &count));
  CHECK(count == 2 && out[0] == 13 && out[1] == 14);
  REFUSED(canopy_index_pages(index, &again, 0, 0, out, 3, &count), CANOPY_SMALL_BUFFER, "4 elements");
  REFUSED(canopy_index_pages(index, &again, 0, 3, out, 8, &count), CANOPY_BAD_ARGUMENT, "multiple of 4");
  REFUSED(canopy_index_pages(index, &again, 1, 0, out, 8, &count), CANOPY_BAD_ARGUMENT, "group 1");
  CHECK(canopy_index_evict(index, 0, 1, &freed) == CANOPY_NO_ROOM && freed == 0); /* locked */
  OK(canopy_index_relax(index, &again, 0, 8));
  REFUSED(canopy_index_relax(index, &again, 0, 17), CANOPY_BAD_ARGUMENT, "from unit 17");
  OK(canopy_index_release(index, &again));
  CHECK(again.node == 0 && again.length == 0);
  OK(canopy_index_release(index, &lock));
  OK(canopy_index_release(index, &lock)); /* holds nothing */
  memset(&state, 0, sizeof state);
  state.size = sizeof state;
  OK(canopy_index_look(index, &state));
  CHECK(state.nodes == 1 && state.evictable[0] == 16 && state.protected_units[0] == 0 && state.now > 0);
  OK(canopy_index_evict(index, 0, 1, &freed));
  CHECK(freed == 4);
  OK(canopy_index_take_pages(index, 0, out, 8, &count, NULL));
  CHECK(count == 4 && out[0] + out[1] + out[2] + out[3] == 11 + 12 + 13 + 14);
  OK(canopy_index_flush(index, space));
  OK(canopy_index_clear(index));
  OK(canopy_index_poll(index));

  REFUSED(canopy_index_match(NULL, &key, &lock), CANOPY_BAD_ARGUMENT, "index is NULL");
  REFUSED(canopy_index_match(index, NULL, &lock), CANOPY_BAD_ARGUMENT, "key is NULL");
  REFUSED(canopy_index_match(index, &key, NULL), CANOPY_BAD_ARGUMENT, "lock is NULL");
  pages.count = 3;
  REFUSED(canopy_index_insert(index, &lock, &key, &pages, 1, NULL), CANOPY_BAD_ARGUMENT, "3 pages for group 0");
  REFUSED(canopy_index_insert(index, &lock, &key, &pages, 2, NULL), CANOPY_BAD_ARGUMENT, "2 groups");
  pages.count = 4, pages.pages = NULL;
  REFUSED(canopy_index_insert(index, &lock, &key, &pages, 1, NULL), CANOPY_BAD_ARGUMENT, "pages for group 0");
  key.space = 2;
  REFUSED(canopy_index_match(index, &key, &lock), CANOPY_BAD_ARGUMENT, "2 namespaces");
  key.space = 0, key.words = NULL;
  REFUSED(canopy_index_match(index, &key, &lock), CANOPY_BAD_ARGUMENT, "words is NULL");
  REFUSED(canopy_index_evict(index, 3, 1, NULL), CANOPY_BAD_ARGUMENT, "group 3");
  REFUSED(canopy_index_flush(index, 9), CANOPY_BAD_ARGUMENT, "namespace 9");
  canopy_index_destroy(index);

  options.page_size = 0;
  REFUSED(canopy_index_create(&options, &index), CANOPY_BAD_ARGUMENT, "page_size");
  options = index_options(), options.index = "raddix";
  REFUSED(canopy_index_create(&options, &index), CANOPY_REFUSED, "radix");
  options = index_options(), options.policy = "lru", options.policy_options = "{ a: 1 }";
  REFUSED(canopy_index_create(&options, &index), CANOPY_REFUSED, "a");
  options = index_options(), options.feed = "a b";
  REFUSED(canopy_index_create(&options, &index), CANOPY_BAD_ARGUMENT, "name");
  options = index_options(), options.overlap = 2;
  REFUSED(canopy_index_create(&options, &index), CANOPY_BAD_ARGUMENT, "overlap");
  options = index_options(), options.reach_count = 4;
  REFUSED(canopy_index_create(&options, &index), CANOPY_BAD_ARGUMENT, "4 reaches");
  options = index_options(), options.size = 8;
  REFUSED(canopy_index_create(&options, &index), CANOPY_BAD_SIZE, "options->size is 8");

  /* A window beside the whole path: pages of both groups. */
  {
    canopy_index_reach reach;
    canopy_pages both[2];
    memset(&reach, 0, sizeof reach);
    reach.name = "window";
    reach.reach = 8;
    options = index_options(), options.reaches = &reach, options.reach_count = 1;
    OK(canopy_index_create(&options, &index));
    fill(numbers, 4, 1);
    key.words = words;
    both[0].pages = both[1].pages = numbers;
    both[0].count = both[1].count = 4;
    memset(&lock, 0, sizeof lock);
    OK(canopy_index_insert(index, &lock, &key, both, 2, NULL));
    CHECK(lock.length == 16 && lock.from[0] == 0 && lock.from[1] == 8);
    OK(canopy_index_release(index, &lock));
    OK(canopy_index_evict(index, 1, 1, &freed));
    CHECK(freed >= 1);
    OK(canopy_index_take_pages(index, 1, out, 8, &count, NULL));
    CHECK(count == freed);
    canopy_index_destroy(index);
  }
}

void test_feed(void) {
  char yaml[512], path[] = "/tmp/canopy_c_feed_XXXXXX", name[64], text[8192];
  canopy_feed* feed = NULL;
  canopy_feed_state state;
  canopy_pool pool;
  canopy_feed_node nodes[8];
  uint32_t prompt[16];
  uint64_t ids[4];
  size_t count = 0, length = 0;
  int32_t any = 9;
  const int file = mkstemp(path);
  CHECK(file >= 0);
  close(file);
  fill(prompt, 16, 1);
  memset(&state, 0, sizeof state);
  state.size = sizeof state;
  memset(&pool, 0, sizeof pool);
  pool.size = sizeof pool;

  /* A live feed of this process. */
  snprintf(name, sizeof name, "canopy-c-%ld", (long)getpid());
  snprintf(yaml, sizeof yaml,
           "page_size: 4\ngroups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\n"
           "feed: { shm: { name: %s } }\n",
           name);
  canopy_engine* engine = engine_of(yaml, NULL);
  OK(canopy_feed_names(text, sizeof text, &length));
  CHECK(strstr(text, name) != NULL);
  OK(canopy_feed_attach(name, &feed));
  canopy_request* request = begin(engine, prompt, 16);
  OK(canopy_request_reserve(request, 16, UINT32_MAX));
  OK(canopy_request_commit(request, 16, NULL));
  OK(canopy_engine_poll(engine, NULL));
  OK(canopy_feed_poll(feed, &any));
  CHECK(any == 1);
  OK(canopy_feed_look(feed, &state));
  CHECK(state.in_step == 1 && state.nodes == 1 && state.running == 1 && state.drift == 0 && state.gone == 0);
  CHECK(state.page_size == 4 && state.groups == 1 && state.prompt_tokens == 16);
  OK(canopy_feed_pool(feed, 0, &pool));
  CHECK(pool.pages == 16 && pool.free == 12);
  OK(canopy_feed_nodes(feed, nodes, sizeof nodes[0], 8, &count));
  CHECK(count == 1 && nodes[0].length == 16 && nodes[0].parent == 0 && nodes[0].begin == 0);
  REFUSED(canopy_feed_nodes(feed, nodes, sizeof nodes[0], 0, &count), CANOPY_SMALL_BUFFER, "1 nodes");
  REFUSED(canopy_feed_nodes(feed, nodes, 8, 8, &count), CANOPY_BAD_SIZE, "size is 8");
  canopy_request_destroy(request);
  OK(canopy_feed_poll(feed, NULL));
  OK(canopy_feed_next_to_evict(feed, 0, ids, 4, &count));
  CHECK(count == 1 && ids[0] == nodes[0].id);
  OK(canopy_feed_text(feed, CANOPY_FEED_POLICY, 0, text, sizeof text, &length));
  CHECK(strcmp(text, "lru") == 0);
  OK(canopy_feed_text(feed, CANOPY_FEED_GROUP, 0, text, sizeof text, &length));
  CHECK(strcmp(text, "full") == 0);
  OK(canopy_feed_text(feed, CANOPY_FEED_CONFIG, 0, text, sizeof text, &length));
  CHECK(strstr(text, "page_size: 4") != NULL);
  OK(canopy_feed_text(feed, CANOPY_FEED_SPACE, 0, text, sizeof text, &length));
  OK(canopy_feed_text(feed, CANOPY_FEED_GONE, 0, text, sizeof text, &length));
  CHECK(length == 0);
  REFUSED(canopy_feed_text(feed, 77, 0, text, sizeof text, &length), CANOPY_BAD_ARGUMENT, "no text 77");
  REFUSED(canopy_feed_text(feed, CANOPY_FEED_SPACE, 7, text, sizeof text, &length), CANOPY_BAD_ARGUMENT, "namespace 7");
  REFUSED(canopy_feed_pool(feed, 1, &pool), CANOPY_BAD_ARGUMENT, "group 1");
  REFUSED(canopy_feed_seek(feed, 0), CANOPY_WRONG_STATE, "not a recording");
  OK(canopy_engine_destroy(engine));
  OK(canopy_feed_look(feed, &state));
  CHECK(state.gone == 1);
  OK(canopy_feed_text(feed, CANOPY_FEED_GONE, 0, text, sizeof text, &length));
  CHECK(length > 0);
  canopy_feed_destroy(feed);
  REFUSED(canopy_feed_attach("no-such-feed", &feed), CANOPY_NOT_FOUND, "no-such-feed");
  CHECK(feed == NULL);
  REFUSED(canopy_feed_attach(NULL, &feed), CANOPY_BAD_ARGUMENT, "name is NULL");
  REFUSED(canopy_feed_poll(NULL, NULL), CANOPY_BAD_ARGUMENT, "feed is NULL");

  /* A recording. */
  snprintf(yaml, sizeof yaml,
           "page_size: 4\ngroups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\n"
           "feed: { file: { path: %s } }\n",
           path);
  engine = engine_of(yaml, NULL);
  request = begin(engine, prompt, 16);
  OK(canopy_request_reserve(request, 16, UINT32_MAX));
  OK(canopy_request_finish(request, 16));
  canopy_request_destroy(request);
  OK(canopy_engine_destroy(engine));
  OK(canopy_feed_open(path, &feed));
  OK(canopy_feed_look(feed, &state));
  CHECK(state.commits > 2 && state.commits == state.last_commit && state.nodes == 1 && state.drift == 0);
  OK(canopy_feed_seek(feed, 1));
  OK(canopy_feed_look(feed, &state));
  CHECK(state.commits == 1 && state.nodes == 0 && state.last_commit > 2);
  OK(canopy_feed_poll(feed, &any));
  CHECK(any == 0);
  REFUSED(canopy_feed_seek(feed, 1000), CANOPY_BAD_ARGUMENT, "commit 1000");
  canopy_feed_destroy(feed);
  unlink(path);
  REFUSED(canopy_feed_open(path, &feed), CANOPY_NOT_FOUND, "canopy_c_feed");
}
