#ifndef CANOPY_C_TENANTS_H
#define CANOPY_C_TENANTS_H
/* Tenants of an engine: their shares and what became of them. <canopy/engine/tenants.h> explains both. A tenant has a
 * number from 0 on, which lasts as long as its engine. Number 0 is that of requests without a tenant. */

#include <canopy/c/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The share of a tenant. CANOPY_SHARE_INIT has the defaults. */
typedef struct canopy_share {
  size_t size;
  uint64_t floor;   /**< cached tokens that are not evicted for other tenants */
  double weight;    /**< 0.001 to 1000000; above the floors, the tenant with the most tokens per weight loses first */
  uint64_t ceiling; /**< most cached tokens; CANOPY_UNLIMITED: any number */
  uint64_t puts;    /**< most tokens a minute that are put into the storage; CANOPY_UNLIMITED: any number */
  uint64_t pins;    /**< most tokens that retention keeps */
} canopy_share;
#define CANOPY_SHARE_INIT {sizeof(canopy_share), 0, 1.0, CANOPY_UNLIMITED, CANOPY_UNLIMITED, 0}

/** Gives a tenant another share, or one of its own. CANOPY_REFUSED, and nothing changed, if the share is not possible:
 * floors that are then larger than the pool, a ceiling below the floor, a name that is "" or "*", an engine's file without
 * `tenants`; or if the system has no memory for another tenant. */
CANOPY_API canopy_code canopy_engine_set_share(canopy_engine* engine, const char* tenant, const canopy_share* share);
/** Writes the number of tenants; 0 if the engine's file has no `tenants`. */
CANOPY_API canopy_code canopy_engine_tenants(const canopy_engine* engine, size_t* count);
/** Copies the name of a tenant with a 0 byte, and writes its share; each of both may be NULL (not wanted). The others
 * that have one share together are "*". `length` as for canopy_engine_text. */
CANOPY_API canopy_code canopy_engine_tenant(const canopy_engine* engine, size_t tenant, char* name, size_t room,
                                            size_t* length, canopy_share* share);
/** Returns the name of figure `i` of a tenant, from 0: "hit_tokens"; NULL behind the last one. The text is valid as
 * long as the program. */
CANOPY_API const char* canopy_tenant_figure_name(size_t i);
/** Copies the figures of a tenant, in the order of their names. `length`: their number. CANOPY_SMALL_BUFFER if `room`
 * is less. */
CANOPY_API canopy_code canopy_engine_tenant_figures(const canopy_engine* engine, size_t tenant, uint64_t* to,
                                                    size_t room, size_t* length);

#ifdef __cplusplus
}
#endif
#endif
