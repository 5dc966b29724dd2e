#ifndef CANOPY_C_STATUS_H
#define CANOPY_C_STATUS_H
/* Rules of all headers below <canopy/c/>, which are C99 and C++. The library behind them is libcanopy:
 *
 * - A function that can fail returns a canopy_code. canopy_error() copies the sentence that explains it.
 * - A handle is a pointer to an opaque struct. The function that made it writes it to its last argument, or leaves that
 *   argument NULL. A NULL handle is an error, except for a function _destroy. A handle is invalid after _destroy.
 * - No memory changes its owner. A text or an array is copied to a buffer of the caller: `to` and `room`, its size in
 *   bytes or elements. A pointer that is passed in is not read after the call returns, unless it says otherwise.
 * - The first field of a struct is its size: set it to sizeof the struct. A later version of the library may append
 *   fields, for which 0 is the default. The library reads and writes only as many bytes as the caller's struct has. A
 *   size below that of the first version is CANOPY_BAD_SIZE, as are fields that are not 0 and that this library does
 *   not know. Fields of a result that it does not know become 0.
 * - No C++ exception leaves a function. A function table of the caller may not throw either, and may not jump out.
 * - A struct without a size never changes.
 * - A boolean is an int32_t: 0 or 1. A text ends with a 0 byte; NULL is the same as "" where a text may be empty.
 *
 * Threads: one call at a time for one engine with its requests and fetches, for one index, for one feed, and for one
 * registry. Different engines may be used by different threads, also if they share a registry to which nothing is added
 * at that time. canopy_error() is about the calling thread.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CANOPY_API __attribute__((visibility("default")))
#else
#define CANOPY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this interface. A new minor version only appends: functions, codes, fields of structs with a size.
 * The major version is in the library's name, libcanopy.so.1. */
#define CANOPY_ABI_MAJOR 1
#define CANOPY_ABI_MINOR 1

#define CANOPY_MOST_GROUPS 4         /**< groups of an engine or an index */
#define CANOPY_MOST_STREAMS 4        /**< streams of a store */
#define CANOPY_UNLIMITED UINT64_MAX  /**< no limit */
#define CANOPY_WHOLE_PATH UINT32_MAX /**< a reach: the whole path must be resident */

typedef int32_t canopy_code;
enum {
  CANOPY_OK = 0,
  /** There is no room now; nothing changed, unless the function says otherwise. Not an error: wait, or retract another
   * request. It has no sentence. */
  CANOPY_NO_ROOM = 1,
  CANOPY_BAD_ARGUMENT = 2, /**< an argument is NULL or out of range; nothing changed */
  CANOPY_BAD_SIZE = 3,     /**< the size of a struct is too small, or it has fields that this library does not know */
  CANOPY_SMALL_BUFFER = 4, /**< a buffer is too small; the needed size was written, and nothing else changed */
  CANOPY_NOT_FOUND = 5,    /**< there is no such name, node or feed */
  CANOPY_WRONG_STATE = 6,  /**< the handle cannot do this now: a request has ended, an engine has live requests */
  /** The ledger has a violation: the call broke a rule and did nothing, or a component returned what it may not. */
  CANOPY_VIOLATION = 7,
  CANOPY_REFUSED = 8,   /**< a configuration, a plugin or a policy has mistakes; the text lists them, one a line */
  CANOPY_NO_MEMORY = 9, /**< the system refused memory */
  CANOPY_FAILED = 10    /**< anything else; the sentence is that of the C++ exception */
};

/** Returns the version of the library's interface: major * 65536 + minor. A program can use a library of its own major
 * version with at least its own minor version. */
CANOPY_API uint32_t canopy_abi_version(void);
/** Returns the version of Canopy, "0.2.0". */
CANOPY_API const char* canopy_version(void);
/** Returns the name of a code, "CANOPY_NO_ROOM"; "unknown" for another number. */
CANOPY_API const char* canopy_code_name(canopy_code code);
/** Copies the sentence about the last call of this thread that failed: at most room - 1 bytes and a 0 byte. Returns its
 * length, which may be larger. `to` may be NULL if `room` is 0. */
CANOPY_API size_t canopy_error(char* to, size_t room);

#ifdef __cplusplus
}
#endif
#endif
