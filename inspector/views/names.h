#pragma once

#include <mirror/mirror.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace canopy::inspector {

/// What nodes, requests and namespaces are called on the screen, and how such a name is read back.

/// A node's short name: its slot, and from the slot's second life on which life it is: #12, #12.3.
std::string node_name(std::uint64_t id);
/// The slot and the life in a node's name, with or without '#'. False if it is no such name.
bool parse_node_name(std::string_view text, std::uint32_t& slot, std::uint32_t& life);
/// Which life of its slot a node is, from 1.
std::uint32_t life_of(std::uint64_t id);

/// The number in a request's name: r 4711, req 4711, r4711. False if it is no such name.
bool parse_request_name(std::string_view text, std::uint64_t& number);
/// One word for the state of a request: prefill, decoding, finished, aborted, retracted; ended where
/// events were lost that said how.
const char* phase_word(const MirrorRequest& request);

std::string space_name(const Mirror& mirror, NamespaceId space);

}  // namespace canopy::inspector
