#ifndef CANOPY_C_POLICY_H
#define CANOPY_C_POLICY_H
/* Plugins, and eviction policies that are C functions. <canopy/eviction_strategy.h> explains what a policy is. */

#include <canopy/c/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The place of a node in the order of eviction: the smallest rank first; `minor` breaks ties. */
typedef struct canopy_rank {
  uint64_t major, minor;
} canopy_rank;

/** The facts about a node that a policy receives. */
typedef struct canopy_node_facts {
  size_t size;
  uint64_t id;
  uint32_t space;         /**< number of its namespace */
  uint32_t begin, length; /**< depth at which the node starts, and its units */
  uint32_t hits;          /**< matches that used it */
  uint32_t inserts;       /**< inserts that ended in it, or in nodes evicted from below it */
  uint32_t children;
  int32_t priority;             /**< highest priority of the requests that inserted it */
  uint32_t reserved;            /**< 0 */
  uint64_t created;             /**< tick */
  uint64_t last_access, spared; /**< ticks of its last use and of the last `spare` in this group; 0: none */
  uint64_t now;                 /**< tick of this call */
  uint64_t allocated;           /**< units inserted since the start: time measured in work */
  uint64_t used, capacity;      /**< units resident now, and that the pool may hold */
  uint64_t* tag;                /**< a word for the policy, one for each node and group; 0 at first */
  const uint64_t* parent_tag;   /**< the parent's word; NULL or 0: no parent is known */
} canopy_node_facts;

/** The facts about a request that a policy receives. */
typedef struct canopy_arrival {
  size_t size;
  uint64_t id; /**< the same when it arrives and ends */
  uint64_t hints;
  uint32_t space;
  int32_t priority;
  uint32_t prompt, matched; /**< tokens */
  uint32_t output;          /**< tokens generated so far */
  uint32_t ending;          /**< CANOPY_RUNNING ... */
  const uint64_t* prints;   /**< hashes of its prefixes of 512 words each (canopy_policy.prints) */
  size_t print_count;
  uint64_t now, allocated, used, capacity; /**< as in canopy_node_facts */
} canopy_arrival;
enum { CANOPY_RUNNING = 0, CANOPY_FINISHED = 1, CANOPY_ABORTED = 2, CANOPY_RETRACTED = 3 };

/** The eviction of a node. */
typedef struct canopy_eviction {
  size_t size;
  uint32_t cause;    /**< CANOPY_CAUSE_ROOM ... */
  uint32_t reserved; /**< 0 */
  const uint64_t* prints;
  size_t print_count;
} canopy_eviction;
enum {
  CANOPY_CAUSE_ROOM = 0,        /**< this group needed pages */
  CANOPY_CAUSE_OTHER_GROUP = 1, /**< the node left a group that needed pages, and took these along */
  CANOPY_CAUSE_LIMIT = 2,       /**< the limit of this group's pool was lowered */
  CANOPY_CAUSE_PATH_LIMIT = 3,  /**< its path has more of the group's pages than it may keep */
  CANOPY_CAUSE_FLUSH = 4,       /**< its namespace was flushed */
  CANOPY_CAUSE_DEAD_LEAF = 5,   /**< no match can end in it */
  CANOPY_CAUSE_CEILING = 6      /**< its tenant had more pages than its ceiling */
};

/** The nodes of a request's path, deepest first. Valid during the call that passed it. */
typedef struct canopy_path canopy_path;
/** Writes the next node, nearer to the root. Returns 0 at the end, or if facts->size is too small. */
CANOPY_API int32_t canopy_path_next(canopy_path* path, canopy_node_facts* facts);

/** An eviction policy as a table of functions. `self` is what `create` returned, or else `context`. Functions are
 * called by the thread that calls the engine or the index, during that call, and may not call it. They read no clock of
 * their own: the same input must give the same decisions. Only `name`, `summary` and `rank` are required; a function
 * that is NULL does nothing. */
typedef struct canopy_policy {
  size_t size;
  const char* name;    /**< its name in an engine's file; not empty */
  const char* summary; /**< one line for lists */
  const char* rule;    /**< a sentence for people: the nodes that are evicted first; NULL: not known */
  /** A rank in words, "used {major:ago}" (<canopy/helpers/policy_text.h>). NULL: it is shown as two numbers. */
  const char* rank_text;
  void* context;
  /** Returns the `self` of one use of the policy: each group and tenant that names it has its own. NULL: it cannot be
   * created. Without this function all of them share `context`. */
  void* (*create)(void* context);
  void (*destroy)(void* self); /**< called once for each `create`; never without that function */
  canopy_rank (*rank)(void* self, const canopy_node_facts* node);
  /** Writes the ranks of `count` nodes, which are nodes[0].size bytes apart. NULL: `rank` is called for each. */
  void (*rank_many)(void* self, const canopy_node_facts* nodes, size_t count, canopy_rank* ranks);
  int32_t (*spare)(void* self,
                   const canopy_node_facts* node); /**< 1: keep the node that is evicted next, and rank it */
  void (*evicted)(void* self, const canopy_node_facts* node, const canopy_eviction* eviction);
  void (*cleared)(void* self); /**< all nodes are forgotten */
  void (*arrived)(void* self, const canopy_arrival* request);
  void (*ended)(void* self, const canopy_arrival* request, canopy_path* path);
  int32_t drifts; /**< 1: ranks change while nodes wait, so all are ranked again now and then */
  int32_t prints; /**< CANOPY_PRINTS_NONE ... */
} canopy_policy;
enum {
  CANOPY_PRINTS_NONE = 0,
  CANOPY_PRINTS_REQUESTS = 1, /**< canopy_arrival.prints: costs a pass over each prompt */
  CANOPY_PRINTS_ALL = 2       /**< canopy_eviction.prints as well: costs a pass over the path of each evicted node */
};

/** The components that an engine's file can name: those of plugins, and policies of this program. */
typedef struct canopy_registry canopy_registry;

/** Makes a registry of the plugins in a folder. Owner and mode of each file and of every folder above it are checked. A
 * file that is refused leaves the others usable. `plugins`: NULL: the folder that was installed with this library. */
CANOPY_API canopy_code canopy_registry_create(const char* plugins, canopy_registry** registry);
/** Adds the components of one plugin. CANOPY_REFUSED if the file, or one of them, is not used. */
CANOPY_API canopy_code canopy_registry_add_plugin(canopy_registry* registry, const char* file);
/** Adds a policy. Its texts are copied; its functions and `context` are used as long as an engine or an index has the
 * policy. CANOPY_REFUSED if an eviction policy has the name. */
CANOPY_API canopy_code canopy_registry_add_policy(canopy_registry* registry, const canopy_policy* policy);
/** Destroys a registry. Engines and indices that were made with it keep what they need. */
CANOPY_API void canopy_registry_destroy(canopy_registry* registry);

#ifdef __cplusplus
}
#endif
#endif
