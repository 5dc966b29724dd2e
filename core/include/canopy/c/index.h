#ifndef CANOPY_C_INDEX_H
#define CANOPY_C_INDEX_H
/* A prefix index alone, for a server that keeps its pools and requests itself. <canopy/prefix_index.h> explains what
 * the calls do; the names are the same.
 *
 * Pages that the index gives up are the caller's to free. They collect in the index, by group, until
 * canopy_index_take_pages copies them: no page is lost in a buffer that is too small. */

#include <canopy/c/policy.h>
#include <canopy/c/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct canopy_index canopy_index;

/** A group beside the whole-path group: a window, or recurrent states. */
typedef struct canopy_index_reach {
  const char* name;      /**< not empty */
  const char* policy;    /**< NULL: "lru" */
  uint64_t capacity;     /**< units that the caller's pool may hold; 0: unlimited */
  uint32_t reach;        /**< trailing units that must be resident */
  uint32_t max_per_path; /**< most pages that one path may keep; 0: any number */
} canopy_index_reach;

typedef struct canopy_index_options {
  size_t size;
  uint32_t page_size;         /**< units of a page, at least 1 */
  uint32_t overlap;           /**< words by which units overlap: 0 for tokens, 1 for bigrams */
  uint64_t capacity;          /**< units that the caller's pool may hold, for policies; 0: unlimited */
  const char* index;          /**< NULL: "radix" */
  const char* index_options;  /**< YAML flow text; NULL: the defaults */
  const char* policy;         /**< NULL: "lru" */
  const char* policy_options; /**< YAML flow text; NULL: the defaults */
  canopy_registry* registry;  /**< NULL: the plugins that were installed with this library */
  const char* feed;           /**< name under which an inspector attaches; NULL: no such feed */
  const char* recording;      /**< path of a recording, if there is no feed; NULL: none */
  const canopy_index_reach* reaches;
  size_t reach_count; /**< at most CANOPY_MOST_GROUPS - 1 */
} canopy_index_options;

CANOPY_API canopy_code canopy_index_create(const canopy_index_options* options, canopy_index** index);
CANOPY_API void canopy_index_destroy(canopy_index* index);
/** Writes the number of a namespace, as canopy_engine_intern does. */
CANOPY_API canopy_code canopy_index_intern(canopy_index* index, const char* tenant, const char* adapter,
                                           const char* salt, uint32_t* space);

/** A prompt: `count` words, which are tokens. */
typedef struct canopy_key {
  const uint32_t* words;
  size_t count;
  uint32_t space;
  int32_t priority; /**< priority of the request */
} canopy_key;

/** A receipt for a path. Copy it freely, change no field, and release one of the copies. All zero: it holds nothing. */
typedef struct canopy_lock {
  uint64_t node;        /**< names the lock within its index */
  uint32_t length;      /**< matched units */
  uint32_t full_length; /**< units that are resident in the whole-path group, at least `length` */
  uint32_t from[CANOPY_MOST_GROUPS];
} canopy_lock;

/** Page numbers of one group, in path order. */
typedef struct canopy_pages {
  const uint32_t* pages;
  size_t count;
} canopy_pages;

/** Writes the units that match() would match now. Changes nothing. */
CANOPY_API canopy_code canopy_index_peek(const canopy_index* index, const canopy_key* key, uint32_t* length);
/** Finds and locks the longest prefix. The lock is all zero if there is none. */
CANOPY_API canopy_code canopy_index_match(canopy_index* index, const canopy_key* key, canopy_lock* lock);
/** Copies the pages under a lock from unit `from` on; 0 where it holds none. `length`: their number.
 * CANOPY_SMALL_BUFFER if `room` is less. */
CANOPY_API canopy_code canopy_index_pages(canopy_index* index, const canopy_lock* lock, uint32_t group, uint32_t from,
                                          uint32_t* to, size_t room, size_t* length);
/** Adds the whole pages of `key` below the lock, which is replaced by a deeper one. groups[g]: the pages of group g
 * from unit lock->length on, for all groups. Pages up to the depth of the new lock belong to the index, except those
 * that it gives back (canopy_index_take_pages); deeper ones stay with the caller. `had`: units that it already had; may
 * be NULL. CANOPY_BAD_ARGUMENT if there are too few pages for a group. */
CANOPY_API canopy_code canopy_index_insert(canopy_index* index, canopy_lock* lock, const canopy_key* key,
                                           const canopy_pages* groups, size_t group_count, uint32_t* had);
/** Shrinks a lock: it then covers `group` from unit `from` on. */
CANOPY_API canopy_code canopy_index_relax(canopy_index* index, canopy_lock* lock, uint32_t group, uint32_t from);
/** Releases a lock, and makes it all zero. */
CANOPY_API canopy_code canopy_index_release(canopy_index* index, canopy_lock* lock);
/** Evicts whole nodes until `pages` pages of a group are freed. CANOPY_NO_ROOM if there were fewer, which are
 * freed then; `freed`: pages of the group that were freed; may be NULL. */
CANOPY_API canopy_code canopy_index_evict(canopy_index* index, uint32_t group, size_t pages, size_t* freed);
/** Evicts everything in a namespace that is not locked. */
CANOPY_API canopy_code canopy_index_flush(canopy_index* index, uint32_t space);
/** Forgets everything. Locks no longer hold anything; release them all the same. */
CANOPY_API canopy_code canopy_index_clear(canopy_index* index);
/** Copies and removes at most `room` of the pages that the index has given up, oldest first. `count`: copied pages;
 * `rest`: pages that are left; may be NULL. */
CANOPY_API canopy_code canopy_index_take_pages(canopy_index* index, uint32_t group, uint32_t* to, size_t room,
                                               size_t* count, size_t* rest);

typedef struct canopy_index_state {
  size_t size;
  uint64_t nodes, bytes;
  uint64_t refused; /**< calls with a lock whose node has left or is not locked; they changed nothing */
  uint64_t now;     /**< tick */
  uint64_t evictable[CANOPY_MOST_GROUPS], protected_units[CANOPY_MOST_GROUPS]; /**< units */
} canopy_index_state;
CANOPY_API canopy_code canopy_index_look(const canopy_index* index, canopy_index_state* state);
/** Serves an inspector that attached between calls. */
CANOPY_API canopy_code canopy_index_poll(canopy_index* index);

#ifdef __cplusplus
}
#endif
#endif
