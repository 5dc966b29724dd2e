#pragma once

#include <mirror/mirror.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace canopy::inspector {

/// Names of nodes, requests and namespaces on the screen, and functions that parse them.

/// Returns a node's short name: its slot and, from the slot's second life on, the number of that life: #12, #12.3.
std::string node_name(std::uint64_t id);
/// Reads the slot and the life from a node's name, with or without '#'. Returns false if the text is no such name.
bool parse_node_name(std::string_view text, std::uint32_t& slot, std::uint32_t& life);
/// Returns the number of the life of a node's slot, from 1.
std::uint32_t life_of(std::uint64_t id);

/// Reads the number from a request's name: r 4711, req 4711, r4711. Returns false if the text is no such name.
bool parse_request_name(std::string_view text, std::uint64_t& number);
/// Returns one word for the state of a request: prefill, decoding, finished, aborted or retracted; "ended" if the event
/// that says how it ended was lost.
const char* phase_word(const MirrorRequest& request);

std::string space_name(const Mirror& mirror, NamespaceId space);

}  // namespace canopy::inspector
