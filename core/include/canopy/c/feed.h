#ifndef CANOPY_C_FEED_H
#define CANOPY_C_FEED_H
/* Reads the feed of an engine in another process, or a recording: a copy of the engine's state that is made from the
 * feed alone. It never calls the engine. */

#include <canopy/c/figures.h>
#include <canopy/c/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct canopy_feed canopy_feed;

/** Copies the names of feeds that can be attached to now, one a line, as canopy_engine_text does. */
CANOPY_API canopy_code canopy_feed_names(char* to, size_t room, size_t* length);
/** Attaches to a feed of a process of this user. Its state is complete after the first keyframe (canopy_feed_poll). */
CANOPY_API canopy_code canopy_feed_attach(const char* name, canopy_feed** feed);
/** Opens a recording, at its end. */
CANOPY_API canopy_code canopy_feed_open(const char* path, canopy_feed** feed);
CANOPY_API void canopy_feed_destroy(canopy_feed* feed);

/** Applies the events since the last call. `any`: 1 if there were any; may be NULL. Does nothing for a recording. */
CANOPY_API canopy_code canopy_feed_poll(canopy_feed* feed, int32_t* any);
/** Goes to the state after `commit` operations of a recording. */
CANOPY_API canopy_code canopy_feed_seek(canopy_feed* feed, uint64_t commit);

typedef struct canopy_feed_state {
  size_t size;
  uint64_t commits;           /**< operations that are applied */
  uint64_t last_commit;       /**< operations of the whole recording; of a live feed: as `commits` */
  uint64_t tick, us;          /**< on the clocks of the index and of the engine */
  uint64_t requests, running; /**< admitted requests so far; those that have begun and not ended */
  /** Tokens of the admitted requests. What a request finds after its admission (a rematch) is in no feed. */
  uint64_t prompt_tokens, hit_tokens;
  uint64_t evicted_tokens;
  uint64_t nodes;
  uint64_t drift;   /**< pages by which the copy differs from the engine's sums: anything but 0 is a defect */
  uint64_t damaged; /**< operations with impossible figures: another process has written into the feed */
  uint32_t page_size, groups;
  int32_t in_step; /**< 0: no keyframe has arrived yet, or events were lost since */
  int32_t paused;
  int32_t gone;     /**< 1: the writer has ended; canopy_feed_text has the reason */
  int32_t reserved; /**< 0 */
  uint64_t tries;   /**< requests that ended before they were admitted */
} canopy_feed_state;
CANOPY_API canopy_code canopy_feed_look(const canopy_feed* feed, canopy_feed_state* state);
/** Writes the pages of a group by owner. `limit` and `pages` are both the pages of the pool. */
CANOPY_API canopy_code canopy_feed_pool(const canopy_feed* feed, uint32_t group, canopy_pool* pool);

typedef struct canopy_feed_node {
  uint64_t id, parent; /**< parent 0: the node begins at the root of its namespace */
  uint64_t created, last_access;
  uint32_t space, begin, length, hits, inserts, locks;
  int32_t priority;
  uint32_t reserved; /**< 0 */
} canopy_feed_node;
/** Copies the nodes, parents before children. `each`: sizeof(canopy_feed_node), the distance of two elements. `count`:
 * number of nodes. CANOPY_SMALL_BUFFER, and nothing was written, if `room` is less. */
CANOPY_API canopy_code canopy_feed_nodes(const canopy_feed* feed, canopy_feed_node* to, size_t each, size_t room,
                                         size_t* count);
/** Copies at most `room` ids of the nodes that are evicted next, in that order. `count`: copied ids. */
CANOPY_API canopy_code canopy_feed_next_to_evict(const canopy_feed* feed, uint32_t group, uint64_t* to, size_t room,
                                                 size_t* count);

enum {
  CANOPY_FEED_CONFIG = 0, /**< the engine's configuration as YAML */
  CANOPY_FEED_GROUP = 1,  /**< name of group `of` */
  CANOPY_FEED_POLICY = 2, /**< name of the policy of group `of` */
  CANOPY_FEED_SPACE = 3,  /**< name of namespace `of` */
  CANOPY_FEED_GONE = 4    /**< reason why the writer has ended; empty while it lives */
};
/** Copies a text, as canopy_engine_text does. */
CANOPY_API canopy_code canopy_feed_text(const canopy_feed* feed, int32_t text, uint32_t of, char* to, size_t room,
                                        size_t* length);

#ifdef __cplusplus
}
#endif
#endif
