#pragma once
/// The sizes of the structs in version 1.0 of the interface. Later versions append fields, so a size never changes.

#include <canopy/c/canopy.h>

#include <cstddef>

namespace canopy::c {

template <class Struct>
inline constexpr std::size_t kFirstSize = 0;
template <>
inline constexpr std::size_t kFirstSize<canopy_arrival> = 96;
template <>
inline constexpr std::size_t kFirstSize<canopy_counters> = 104;
template <>
inline constexpr std::size_t kFirstSize<canopy_engine_options> = 48;
template <>
inline constexpr std::size_t kFirstSize<canopy_engine_state> = 56;
template <>
inline constexpr std::size_t kFirstSize<canopy_eviction> = 32;
template <>
inline constexpr std::size_t kFirstSize<canopy_feed_node> = 64;
template <>
inline constexpr std::size_t kFirstSize<canopy_feed_state> = 128;
template <>
inline constexpr std::size_t kFirstSize<canopy_fetch_state> = 48;
template <>
inline constexpr std::size_t kFirstSize<canopy_index_options> = 96;
template <>
inline constexpr std::size_t kFirstSize<canopy_index_state> = 104;
template <>
inline constexpr std::size_t kFirstSize<canopy_kv_view> = 200;
template <>
inline constexpr std::size_t kFirstSize<canopy_node_facts> = 120;
template <>
inline constexpr std::size_t kFirstSize<canopy_policy> = 128;
template <>
inline constexpr std::size_t kFirstSize<canopy_pool> = 56;
template <>
inline constexpr std::size_t kFirstSize<canopy_share> = 48;
template <>
inline constexpr std::size_t kFirstSize<canopy_request_spec> = 64;
template <>
inline constexpr std::size_t kFirstSize<canopy_request_state> = 48;

// Structs without a size never change.
static_assert(sizeof(canopy_retention) == 16 && sizeof(canopy_rank) == 16 && sizeof(canopy_key) == 24 &&
              sizeof(canopy_lock) == 32 && sizeof(canopy_pages) == 16 && sizeof(canopy_index_reach) == 32 &&
              sizeof(canopy_kv_stream) == 40 && sizeof(canopy_found) == 16 && sizeof(canopy_blocker) == 24);

}  // namespace canopy::c
