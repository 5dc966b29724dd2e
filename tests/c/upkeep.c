/* For schedulers and operators: orders of waiting requests, pins, a lower limit, tenants. */
#include <string.h>

#include "check.h"

static void leave(canopy_engine* engine, const uint32_t* prompt, size_t tokens, uint32_t space) {
  canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
  canopy_request* request = NULL;
  spec.prompt = prompt;
  spec.prompt_tokens = tokens;
  spec.space = space;
  OK(canopy_engine_begin(engine, &spec, NULL, &request));
  OK(canopy_request_reserve(request, (uint32_t)tokens, UINT32_MAX));
  OK(canopy_request_finish(request, (uint32_t)tokens));
  canopy_request_destroy(request);
}

void test_scheduling(void) {
  canopy_engine* engine = engine_of(
      "page_size: 4\n"
      "groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\n",
      NULL);
  uint32_t one[16], other[16];
  canopy_request_spec specs[4];
  const canopy_request_spec init = CANOPY_REQUEST_SPEC_INIT;
  canopy_found found[4];
  uint64_t nodes[4];
  uint32_t order[4] = {9, 9, 9, 9};
  size_t i, length = 0;
  fill(one, 16, 100);
  fill(other, 16, 200);
  leave(engine, one, 16, 0);
  leave(engine, other, 16, 0);
  for (i = 0; i < 4; ++i) {
    specs[i] = init;
    specs[i].prompt = i == 0 ? one : other;
    specs[i].prompt_tokens = i == 3 ? 2 : 16; /* less than a page: nothing is resident */
  }
  OK(canopy_engine_find(engine, specs, 4, found));
  for (i = 0; i < 4; ++i) nodes[i] = found[i].node;
  CHECK(found[0].length == 12 && found[1].length == 12 && found[3].length == 0);
  CHECK(found[0].full_length == 12 && nodes[0] != nodes[1] && nodes[1] == nodes[2] && nodes[3] == 0);
  OK(canopy_engine_order_by_weight(engine, nodes, 4, order)); /* two of `other`, one of `one`, then the root's */
  CHECK(order[0] == 1 && order[1] == 2 && order[2] == 0 && order[3] == 3);
  OK(canopy_engine_find(engine, NULL, 0, NULL));
  REFUSED(canopy_engine_find(engine, NULL, 1, found), CANOPY_BAD_ARGUMENT, "specs");
  REFUSED(canopy_engine_find(engine, specs, 1, NULL), CANOPY_BAD_ARGUMENT, "found");
  specs[3].space = 7;
  REFUSED(canopy_engine_find(engine, specs, 4, found), CANOPY_BAD_ARGUMENT, "spec->space is 7");
  REFUSED(canopy_engine_order_by_weight(engine, NULL, 4, order), CANOPY_BAD_ARGUMENT, "nodes");

  /* A pinned path stays whatever else is evicted, and a lower limit waits for it. */
  OK(canopy_engine_pin(engine, nodes[0]));
  REFUSED(canopy_engine_pin(engine, nodes[0]), CANOPY_NOT_FOUND, "is pinned");
  REFUSED(canopy_engine_pin(engine, 999999), CANOPY_NOT_FOUND, "node 999999");
  CHECK(canopy_engine_make_free(engine, 0, 14) == CANOPY_NO_ROOM);
  OK(canopy_engine_find(engine, specs, 2, found));
  CHECK(found[0].length == 12 && found[1].length == 0);
  OK(canopy_engine_resize(engine, 0, 2));
  {
    canopy_blocker blockers[2];
    OK(canopy_engine_blockers(engine, 0, blockers, 2, &length));
    CHECK(length == 1 && blockers[0].request == 0 && blockers[0].node == nodes[0]);
    CHECK(blockers[0].pages >= 1 && blockers[0].pages <= 3); /* those above the limit */
    REFUSED(canopy_engine_blockers(engine, 0, blockers, 0, &length), CANOPY_SMALL_BUFFER, "1 elements");
    CHECK(length == 1);
    REFUSED(canopy_engine_blockers(engine, 1, blockers, 2, &length), CANOPY_BAD_ARGUMENT, "group 1");
  }
  OK(canopy_engine_unpin(engine, nodes[0]));
  REFUSED(canopy_engine_unpin(engine, nodes[0]), CANOPY_NOT_FOUND, "is not pinned");
  OK(canopy_engine_poll(engine, NULL));
  OK(canopy_engine_blockers(engine, 0, NULL, 0, &length));
  CHECK(length == 0);
  OK(canopy_engine_destroy(engine));
}

/* Returns a figure of a tenant by its name. */
static uint64_t figure(canopy_engine* engine, size_t tenant, const char* name) {
  uint64_t figures[64];
  size_t i, length = 0;
  OK(canopy_engine_tenant_figures(engine, tenant, figures, 64, &length));
  for (i = 0; canopy_tenant_figure_name(i); ++i)
    if (strcmp(canopy_tenant_figure_name(i), name) == 0) return figures[i];
  CHECK(!"there is no such figure");
  return 0;
}

void test_tenants(void) {
  canopy_engine* engine = engine_of(
      "page_size: 4\n"
      "groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\n"
      "tenants: { a: { floor: 16 }, \"*\": {} }\n",
      NULL);
  canopy_engine* without = engine_of(
      "page_size: 4\n"
      "groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\n",
      NULL);
  canopy_share share = CANOPY_SHARE_INIT;
  uint32_t a = 0, b = 0, prompt[32];
  size_t count = 0, length = 0, i, of_a = 99, of_b = 99;
  uint64_t few[2];
  char name[8];
  OK(canopy_engine_intern(engine, "a", NULL, NULL, &a));
  OK(canopy_engine_intern(engine, "b", NULL, NULL, &b));
  fill(prompt, 32, 100);
  leave(engine, prompt, 16, a);
  for (i = 0; i < 4; ++i) {
    fill(prompt, 32, 1000 + 100 * (uint32_t)i);
    leave(engine, prompt, 32, b);
  }
  OK(canopy_engine_tenants(engine, &count));
  for (i = 0; i < count; ++i) {
    OK(canopy_engine_tenant(engine, i, name, sizeof name, &length, NULL));
    if (strcmp(name, "a") == 0) of_a = i;
    if (strcmp(name, "b") == 0) of_b = i;
  }
  CHECK(count == 3 && of_a < count && of_b < count);
  CHECK(figure(engine, of_a, "cached") == 16 && figure(engine, of_a, "paid") == 0); /* its floor */
  CHECK(figure(engine, of_b, "requests") == 4 && figure(engine, of_b, "prompt_tokens") == 128);
  CHECK(figure(engine, of_b, "cached") <= 48 && figure(engine, of_b, "evicted") >= 80);
  OK(canopy_engine_tenant(engine, of_a, NULL, 0, NULL, &share));
  CHECK(share.floor == 16 && share.weight == 1 && share.ceiling == CANOPY_UNLIMITED && share.pins == 0);
  share.floor = 0;
  share.ceiling = 8;
  OK(canopy_engine_set_share(engine, "a", &share));
  fill(prompt, 32, 100);
  leave(engine, prompt, 16, a);
  CHECK(figure(engine, of_a, "cached") == 8 && figure(engine, of_a, "hit_tokens") == 12);
  share.floor = 1000;
  REFUSED(canopy_engine_set_share(engine, "a", &share), CANOPY_REFUSED, "tenant 'a'");
  REFUSED(canopy_engine_set_share(engine, "*", &share), CANOPY_REFUSED, "no tenant's name");
  REFUSED(canopy_engine_set_share(engine, NULL, &share), CANOPY_BAD_ARGUMENT, "tenant");
  share.size = 8;
  REFUSED(canopy_engine_set_share(engine, "a", &share), CANOPY_BAD_SIZE, "share");
  REFUSED(canopy_engine_tenant(engine, of_a, NULL, 0, NULL, &share), CANOPY_BAD_SIZE, "share");
  REFUSED(canopy_engine_tenant(engine, count, NULL, 0, &length, NULL), CANOPY_BAD_ARGUMENT, "tenant 3 of 3");
  REFUSED(canopy_engine_tenant(engine, of_a, name, 1, &length, NULL), CANOPY_SMALL_BUFFER, "");
  CHECK(length == 1);
  REFUSED(canopy_engine_tenant_figures(engine, of_a, few, 2, &length), CANOPY_SMALL_BUFFER, "into a buffer of 2");
  CHECK(canopy_tenant_figure_name(length) == NULL && canopy_tenant_figure_name(length - 1) != NULL);
  OK(canopy_engine_audit(engine));
  share.size = sizeof share;
  REFUSED(canopy_engine_set_share(without, "a", &share), CANOPY_REFUSED, "no tenants");
  OK(canopy_engine_tenants(without, &count));
  CHECK(count == 0);
  OK(canopy_engine_destroy(without));
  OK(canopy_engine_destroy(engine));
}
