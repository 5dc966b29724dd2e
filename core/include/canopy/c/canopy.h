#ifndef CANOPY_C_CANOPY_H
#define CANOPY_C_CANOPY_H
/* The C interface of Canopy: an engine, an index alone, a feed to read, policies of C functions. The rules that hold
 * for all of it are in <canopy/c/status.h>. Link with -lcanopy (pkg-config canopy-c, CMake canopy::c).
 *
 *   canopy_engine_options options = {sizeof options, yaml, NULL, NULL, NULL, NULL};
 *   canopy_engine* engine;
 *   if (canopy_engine_create(&options, &engine) != CANOPY_OK) ...      canopy_error() has the sentence
 *   canopy_request_spec spec = CANOPY_REQUEST_SPEC_INIT;
 *   spec.prompt = tokens, spec.prompt_tokens = count;
 *   canopy_request* request;
 *   canopy_engine_begin(engine, &spec, NULL, &request);
 *   canopy_request_reserve(request, count, UINT32_MAX);
 *   canopy_request_row(request, 0, 0, pages, room, &length);           compute, at these pages
 *   canopy_request_finish(request, count);
 *   canopy_request_destroy(request);
 *   canopy_engine_destroy(engine);
 */

#include <canopy/c/engine.h>
#include <canopy/c/feed.h>
#include <canopy/c/figures.h>
#include <canopy/c/index.h>
#include <canopy/c/policy.h>
#include <canopy/c/status.h>
#include <canopy/c/tenants.h>

#endif
