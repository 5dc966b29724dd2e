#pragma once
/// The types that every part of Canopy shares. Fixed-width integers and plain structs only: all of this crosses the
/// border between a program and its plugins.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace canopy {

using Token = std::uint32_t;
using Page = std::uint32_t;   ///< a page number in one pool; page 0 is never handed out (padding sink)
using Units = std::uint32_t;  ///< a count of what an index compares: tokens, or bigrams
using Tick = std::uint64_t;   ///< logical clock of one index. No decision reads a wall clock

/// A node of an index: its slot number in the low half, the life of that slot in the high half. The first node in a
/// slot is life 1, the next node in the same slot life 2, and so on. An id is never used for two nodes.
enum class NodeId : std::uint64_t { none = 0 };

/// The slot: short, stable while the node lives. Equal ranks are evicted in the order of their slots.
constexpr std::uint32_t slot_of(NodeId id) { return static_cast<std::uint32_t>(id); }
/// Which life of its slot the node is, from 1; 0 for NodeId::none.
constexpr std::uint32_t life_of(NodeId id) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) >> 32); }

/// A namespace (tenant, adapter, salt), interned by the engine: dense from 0. No prefix is shared across two.
enum class NamespaceId : std::uint32_t { shared = 0 };

inline constexpr std::size_t kMaxGroups = 4;
inline constexpr Units kWholePath = ~Units{0};  ///< a reach: the whole path must be resident
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

/// A prompt as the index sees it. units = words - overlap (KeyCodec::overlap), 0 if there are fewer words.
struct Key {
  NamespaceId space = NamespaceId::shared;
  std::span<const std::uint32_t> words;
};

/// Page numbers by KV cache group, each list in path order. A list that an index or an allocator returned is
/// valid until the next call on the object that returned it.
using GroupPages = std::array<std::span<const Page>, kMaxGroups>;

/// A run of page numbers: the unit in which a pool grows and shrinks.
struct Segment {
  Page first = 0;
  std::uint32_t pages = 0;
};

}  // namespace canopy
