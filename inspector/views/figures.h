#pragma once

#include <canopy/types.h>
#include <mirror/grouped.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace canopy::inspector {

/// How numbers and names are written, in every panel alike.

std::string brief(double number);                                 ///< 812, 41.2 k, 3.0 M: where a column is narrow
std::string percent(std::uint64_t part, std::uint64_t whole);     ///< 36.2 %; "-" of nothing
std::string duration(double microseconds);                        ///< 2.1 us, 14.0 ms, 1.25 s, 3 min 20 s
std::string plural(std::uint64_t number, std::string_view noun);  ///< 1 node, 12 nodes

/// A node's short name: its slot, which is stable while it lives, and from the second life of the slot on which
/// life it is: #12, #12.3.
std::string node_name(std::uint64_t id);
/// The slot and life that a person wrote, with or without '#'. False if it is no such name.
bool parse_node_name(std::string_view text, std::uint32_t& slot, std::uint32_t& life);
/// The number of a request that a person wrote: r 4711, req 4711, r4711. False if it is none.
bool parse_request_name(std::string_view text, std::uint64_t& number);
/// Which life of its slot a node is, from 1.
std::uint32_t life_of(std::uint64_t id);

}  // namespace canopy::inspector
