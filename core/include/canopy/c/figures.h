#ifndef CANOPY_C_FIGURES_H
#define CANOPY_C_FIGURES_H
/* Figures of an engine, its texts, and the addresses of its rows. */

#include <canopy/c/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Facts about an engine. */
typedef struct canopy_engine_state {
  size_t size;
  uint32_t page_size; /**< tokens */
  uint32_t groups;
  uint64_t live_requests;
  uint64_t spaces;             /**< namespaces so far */
  uint64_t checks, violations; /**< counts of the ledger */
  uint64_t digest;             /**< hash of results, victims and counters: the same for the same input */
} canopy_engine_state;
CANOPY_API canopy_code canopy_engine_look(const canopy_engine* engine, canopy_engine_state* state);

/** Counts since the engine was created, in tokens unless noted. */
typedef struct canopy_counters {
  size_t size;
  uint64_t requests, prompt_tokens, hit_tokens;
  uint64_t evict_calls, evicted_tokens; /**< counts of the first group */
  uint64_t finished, aborted, retracted;
  uint64_t repointed_pages; /**< pages replaced by ones that another request inserted first */
  uint64_t resizes, relocated_pages;
  double index_seconds; /**< seconds in the index */
  uint64_t tries;       /**< requests that ended before they were admitted, such as those that found no room */
} canopy_counters;
CANOPY_API canopy_code canopy_engine_counters(const canopy_engine* engine, canopy_counters* counters);

/** Pages of a group, by owner: pages = free + evictable + protected_pages + owned, if none is moving. */
typedef struct canopy_pool {
  size_t size;
  uint64_t limit; /**< CANOPY_UNLIMITED: none */
  uint64_t pages; /**< free or in use now; the pool may grow to its limit */
  uint64_t free, evictable, protected_pages, owned;
} canopy_pool;
CANOPY_API canopy_code canopy_engine_pool(const canopy_engine* engine, uint32_t group, canopy_pool* pool);

/** Writes a counter by its name: of the tiers below the pools, as in <canopy/feed/counters.h>, "hit_tokens_host"; of
 * the engine, as in <canopy/engine/counters.h>, "evicted_tokens". `row` and `column`: group, lane or outcome; 0 for a
 * single value. */
CANOPY_API canopy_code canopy_engine_counter(const canopy_engine* engine, const char* name, uint32_t row,
                                             uint32_t column, uint64_t* value);
/** Returns the name of counter `i`, from 0; NULL behind the last one. The text is valid as long as the program. */
CANOPY_API const char* canopy_counter_name(size_t i);

enum {
  CANOPY_TEXT_CONFIG = 0, /**< the whole configuration as YAML */
  CANOPY_TEXT_GROUP = 1,  /**< the name of a group */
  CANOPY_TEXT_POLICY = 2, /**< the name of a group's policy */
  CANOPY_TEXT_NOTES = 3,  /**< warnings about the figures, one a line */
  CANOPY_TEXT_REPORTS = 4 /**< the first few violations of the ledger, one a line */
};
/** Copies a text of an engine with a 0 byte. `group` counts only where a text is one of a group. `length`: its length
 * without that byte. CANOPY_SMALL_BUFFER if `room` is not more than the length; `to` may then be NULL. */
CANOPY_API canopy_code canopy_engine_text(const canopy_engine* engine, int32_t text, uint32_t group, char* to,
                                          size_t room, size_t* length);

/** The layout of the rows of one stream, in bytes. */
typedef struct canopy_kv_stream {
  void* base; /**< reserved addresses, constant for the lifetime of the engine */
  uint64_t segment_stride, layer_stride, page_stride;
  uint32_t token_stride, row_bytes;
} canopy_kv_stream;
/** Everything that a kernel needs to find a row (<canopy/kv_view.h>):
 *
 *   address = base + page / segment_pages * segment_stride + layer * layer_stride
 *                  + page % segment_pages * page_stride    + token * token_stride
 */
typedef struct canopy_kv_view {
  size_t size;
  uint32_t streams, layers;
  uint32_t page_size;     /**< tokens */
  uint32_t segment_pages; /**< segment s holds the pages from s * segment_pages on */
  uint32_t kernel_pages;  /**< distance between two segments, in pages */
  uint32_t segments;      /**< segments for which addresses are reserved */
  int32_t device;         /**< device with the memory, as numbered by the CUDA driver; -1: host memory */
  int32_t reserved;       /**< 0 */
  canopy_kv_stream stream[CANOPY_MOST_STREAMS];
} canopy_kv_view;
/** CANOPY_NOT_FOUND if the group has no store. */
CANOPY_API canopy_code canopy_engine_view(const canopy_engine* engine, uint32_t group, canopy_kv_view* view);

#ifdef __cplusplus
}
#endif
#endif
