#ifndef CANOPY_C_ENGINE_H
#define CANOPY_C_ENGINE_H
/* An engine: the prefix cache as a whole. <canopy/engine/engine.h> explains what the calls do; the names are the same.
 *
 *   begin    matches and locks the longest resident prefix
 *   reserve  gets pages for what is to be computed; evicts exactly what is missing
 *   row      page numbers for attention kernels; page_table for a batch
 *   commit   makes computed tokens reusable by others, while the request continues
 *   finish   commits the rest and ends the request; or abort, or retract and resume
 */

#include <canopy/c/policy.h>
#include <canopy/c/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct canopy_engine canopy_engine;
typedef struct canopy_request canopy_request; /**< a request; canopy_request_destroy aborts it if it has not ended */
typedef struct canopy_fetch canopy_fetch;     /**< a prefix that a lower tier brings */

typedef struct canopy_engine_options {
  size_t size;
  const char* yaml;          /**< text of an engine's file */
  const char* name;          /**< its name in error messages; NULL: "engine" */
  canopy_registry* registry; /**< NULL: the plugins that were installed with this library */
  /** For the ranks of one model: replaces each of `count` values by its minimum over all ranks, and returns NULL or a
   * short error message that is valid until the next call (<canopy/engine/agreement.h>). NULL: there is one rank. */
  const char* (*least)(void* context, int64_t* values, size_t count);
  void* least_context;
} canopy_engine_options;

/** Creates an engine. CANOPY_REFUSED: the sentence lists the mistakes of `yaml` with their places, one a line. */
CANOPY_API canopy_code canopy_engine_create(const canopy_engine_options* options, canopy_engine** engine);
/** Destroys an engine. CANOPY_WRONG_STATE, and nothing changed, if a request or a fetch of it is not destroyed. */
CANOPY_API canopy_code canopy_engine_destroy(canopy_engine* engine);

/** Writes the number of a namespace. Only requests with the same three texts share prefixes; each may be NULL. The
 * namespace without them has number 0. A number lasts as long as its engine or index, and so does its memory, some 400
 * bytes: intern a name of a client's choice when something is kept for it. */
CANOPY_API canopy_code canopy_engine_intern(canopy_engine* engine, const char* tenant, const char* adapter,
                                            const char* salt, uint32_t* space);

/** A wish to keep the first tokens of a prompt after the request has finished. */
typedef struct canopy_retention {
  uint32_t tokens;
  int32_t priority;
  uint64_t us; /**< microseconds from the end of the request on, on the clock of canopy_engine_turn */
} canopy_retention;

/** The parameters of a request. CANOPY_REQUEST_SPEC_INIT has the defaults. */
typedef struct canopy_request_spec {
  size_t size;
  const uint32_t* prompt;
  size_t prompt_tokens;
  uint32_t space;
  int32_t priority;
  uint64_t hints;        /**< passed through to policies */
  uint32_t output_limit; /**< most tokens that it may add */
  uint32_t min_uncached; /**< prompt tokens to compute even if all are resident; a model needs at least 1 */
  uint32_t chunk;        /**< most prompt tokens computed in one step; 0: all */
  uint32_t retentions;   /**< number of elements of `retention` */
  const canopy_retention* retention;
} canopy_request_spec;
#define CANOPY_REQUEST_SPEC_INIT {sizeof(canopy_request_spec), NULL, 0, 0, 0, 0, 0, 1, 0, 0, NULL}

enum { CANOPY_RUN_NOW = 0, CANOPY_RUN_WAIT = 1, CANOPY_RUN_NEVER = 2 };
/** Writes if a request can run: CANOPY_RUN_NOW, _WAIT or _NEVER. Copies the reason as canopy_error does; `reason` may
 * be NULL if `room` is 0. Changes nothing, not even recency. */
CANOPY_API canopy_code canopy_engine_admits(const canopy_engine* engine, const canopy_request_spec* spec,
                                            int32_t* verdict, char* reason, size_t room);
/** The longest resident prefix of a waiting request. */
typedef struct canopy_found {
  uint64_t node;        /**< node in which it ends; 0: nothing is resident */
  uint32_t length;      /**< tokens that canopy_engine_begin would match now */
  uint32_t full_length; /**< tokens that are resident in the whole-path groups, at least `length` */
} canopy_found;
/** Finds the prefixes of `count` waiting requests, in their order. Locks nothing, but makes them recent. */
CANOPY_API canopy_code canopy_engine_find(canopy_engine* engine, const canopy_request_spec* specs, size_t count,
                                          canopy_found* found);
/** Orders requests by what canopy_engine_find found: those with a common prefix follow each other, and the subtree with
 * the most requests comes first. `order` becomes the numbers from 0 to count - 1 in that order. */
CANOPY_API canopy_code canopy_engine_order_by_weight(const canopy_engine* engine, const uint64_t* nodes, size_t count,
                                                     uint32_t* order);

/** Begins a request. `fetched`: the fetch for it, which is then empty; NULL: none. */
CANOPY_API canopy_code canopy_engine_begin(canopy_engine* engine, const canopy_request_spec* spec,
                                           canopy_fetch* fetched, canopy_request** request);

/** Gets pages for the first `tokens` tokens. Groups with a reach get pages only for the first `soon` tokens, if that is
 * less; UINT32_MAX: for all. CANOPY_NO_ROOM if a group's pool has too few free and evictable pages. */
CANOPY_API canopy_code canopy_request_reserve(canopy_request* request, uint32_t tokens, uint32_t soon);
CANOPY_API canopy_code canopy_request_append(canopy_request* request, const uint32_t* tokens, size_t count);
/** Copies a group's page numbers in token order, from page `from` on. 0 where the group has no page. `length`: pages of
 * the whole row. CANOPY_SMALL_BUFFER if `room` is less than length - from. */
CANOPY_API canopy_code canopy_request_row(const canopy_request* request, uint32_t group, size_t from, uint32_t* to,
                                          size_t room, size_t* length);
/** Copies prompt and output so far, from token `from` on, in the same way. */
CANOPY_API canopy_code canopy_request_tokens(const canopy_request* request, size_t from, uint32_t* to, size_t room,
                                             size_t* length);
/** Copy the rows of `count` tokens from `first` on, in one layer, into the store or out of it: one packed array in host
 * memory for each stream of the group's store. */
CANOPY_API canopy_code canopy_request_write(canopy_request* request, uint32_t group, uint32_t layer, uint32_t first,
                                            uint32_t count, const void* const* streams, size_t stream_count);
CANOPY_API canopy_code canopy_request_read(const canopy_request* request, uint32_t group, uint32_t layer,
                                           uint32_t first, uint32_t count, void* const* streams, size_t stream_count);
/** Marks the first `tokens` tokens as computed. Nothing becomes reusable yet. */
CANOPY_API canopy_code canopy_request_advance(canopy_request* request, uint32_t tokens);
/** Advances, and makes the whole pages of these tokens reusable. `replaced`: tokens that another request had inserted
 * first, so that the row now names its pages. May be NULL (not wanted). */
CANOPY_API canopy_code canopy_request_commit(canopy_request* request, uint32_t tokens, uint32_t* replaced);
/** Matches again. `taken`: tokens that need no computation any longer. May be NULL (not wanted). */
CANOPY_API canopy_code canopy_request_rematch(canopy_request* request, uint32_t* taken);
/** Commits `tokens` tokens and ends the request. 0: nothing new becomes reusable. CANOPY_VIOLATION if `tokens` is too
 * large: the request still ends, and nothing new becomes reusable. */
CANOPY_API canopy_code canopy_request_finish(canopy_request* request, uint32_t tokens);
/** Ends the request at any step. Keeps only what was committed. */
CANOPY_API canopy_code canopy_request_abort(canopy_request* request);
/** Releases all pages and keeps the tokens. */
CANOPY_API canopy_code canopy_request_retract(canopy_request* request);
/** Restarts a retracted request. `resident`: its tokens that need no computation. May be NULL (not wanted). */
CANOPY_API canopy_code canopy_request_resume(canopy_request* request, uint32_t* resident);

/** Figures of a request, in tokens. */
typedef struct canopy_request_state {
  size_t size;
  uint64_t id;
  uint32_t tokens;      /**< prompt and output so far */
  uint32_t matched;     /**< resident when it began */
  uint32_t full_length; /**< resident in the whole-path groups then, at least `matched` */
  uint32_t computed, committed, reserved, retained;
  int32_t ended;
  int32_t admitted; /**< 1 once it counts as a request: a reserve had room, or a token was marked as computed */
  int32_t unused;   /**< 0 */
} canopy_request_state;
CANOPY_API canopy_code canopy_request_look(const canopy_request* request, canopy_request_state* state);
/** Destroys a request, and aborts it if it has not ended. During a call of its engine (in a policy, or by another
 * thread, which is a mistake) it is destroyed when that call ends; the handle is gone all the same. */
CANOPY_API void canopy_request_destroy(canopy_request* request);

enum { CANOPY_ENTRY_PAGE = 0, CANOPY_ENTRY_SLOT = 1 };
/** Writes the page rows of a batch: int32, one row of `width` entries for each request, padded with 0. An entry is a
 * page number, or the slot of a token (page x page size + position). `needed`: entries of the longest row.
 * CANOPY_SMALL_BUFFER, and nothing was written, if `width` is less. */
CANOPY_API canopy_code canopy_engine_page_table(const canopy_engine* engine, const canopy_request* const* requests,
                                                size_t count, uint32_t group, int32_t entry, int32_t* to, size_t width,
                                                size_t* needed);

/** Begins to bring what the tiers below have of a waiting request, beyond what the pools have. Without tiers it brings
 * nothing. */
CANOPY_API canopy_code canopy_engine_fetch(canopy_engine* engine, const canopy_request_spec* spec,
                                           canopy_fetch** fetch);
typedef struct canopy_fetch_state {
  size_t size;
  int32_t done;      /**< it has completed or found nothing */
  int32_t ready;     /**< the request should begin now */
  uint32_t tokens;   /**< tokens that it brings or has brought */
  uint32_t reserved; /**< 0 */
  uint64_t ends_us;  /**< end of the copy, on the clock of canopy_engine_turn; 0: done */
  uint64_t took_us;  /**< from its begin to the end of the copy, or until now */
  uint64_t ready_us; /**< time to look again, since it may be ready then; 0: it is ready */
} canopy_fetch_state;
/** `again_us`: microseconds until the next call at the earliest, such as the next step of the scheduler. */
CANOPY_API canopy_code canopy_fetch_look(const canopy_fetch* fetch, uint64_t again_us, canopy_fetch_state* state);
/** Destroys a fetch; during a call of its engine, as canopy_request_destroy does. */
CANOPY_API void canopy_fetch_destroy(canopy_fetch* fetch);

/** Advances the engine's time: copies and fetches that have ended by then become visible. Call it once before each step
 * of the scheduler. */
CANOPY_API canopy_code canopy_engine_turn(canopy_engine* engine, uint64_t now_us);
/** Writes the time at which the next copy, fetch or storage call ends; CANOPY_UNLIMITED: none is pending. */
CANOPY_API canopy_code canopy_engine_next_end_us(const canopy_engine* engine, uint64_t* us);
/** Serves an inspector. Call it between operations. `runs`: 0 while the engine is paused; may be NULL (not wanted). */
CANOPY_API canopy_code canopy_engine_poll(canopy_engine* engine, int32_t* runs);

/** Gives a group another policy, by its name in the registry. `options`: YAML flow text; may be NULL (the defaults).
 * CANOPY_REFUSED, and nothing changed, also if the index evicts in another order of its own. */
CANOPY_API canopy_code canopy_engine_use_policy(canopy_engine* engine, uint32_t group, const char* name,
                                                const char* options);
/** Evicts until `pages` pages of a group are free. CANOPY_NO_ROOM if there is nothing more to evict before
 * that: what there was is evicted. */
CANOPY_API canopy_code canopy_engine_make_free(canopy_engine* engine, uint32_t group, uint64_t pages);
/** Evicts everything in a namespace that is not locked. `tokens`: what was freed in the first group; may be NULL. */
CANOPY_API canopy_code canopy_engine_flush(canopy_engine* engine, uint32_t space, uint64_t* tokens);
/** Sets the limit of a pool, in pages. */
CANOPY_API canopy_code canopy_engine_resize(canopy_engine* engine, uint32_t group, uint64_t pages);
/** A holder of pages that a pool above its limit waits for. */
typedef struct canopy_blocker {
  uint64_t request; /**< id of the request; 0: a node that is pinned or under retention */
  uint64_t node;    /**< that node; 0: a request */
  uint64_t pages;
} canopy_blocker;
/** Copies the holders that the pool of a group waits for. `length`: their number. CANOPY_SMALL_BUFFER if `room` is
 * less. */
CANOPY_API canopy_code canopy_engine_blockers(const canopy_engine* engine, uint32_t group, canopy_blocker* to,
                                              size_t room, size_t* length);
/** Protects a node of canopy_engine_find and its path until canopy_engine_unpin. A request that needs their room waits.
 * CANOPY_NOT_FOUND, and nothing changed, if there is no such node, if it is pinned, or if no request could continue
 * from it. */
CANOPY_API canopy_code canopy_engine_pin(canopy_engine* engine, uint64_t node);
/** CANOPY_NOT_FOUND if the node is not pinned. */
CANOPY_API canopy_code canopy_engine_unpin(canopy_engine* engine, uint64_t node);
/** Proves that every page has one owner. CANOPY_VIOLATION if not. O(pool). */
CANOPY_API canopy_code canopy_engine_audit(canopy_engine* engine);

#ifdef __cplusplus
}
#endif
#endif
