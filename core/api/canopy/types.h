#pragma once
/// The words every part of Canopy shares. Fixed-width integers and plain structs only: all of this crosses
/// the line between a program and its plugins.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace canopy {

using Token = std::uint32_t;
using Page = std::uint32_t;   ///< a page number in one pool; page 0 is never handed out (padding sink)
using Units = std::uint32_t;  ///< a count of what an index compares: one token, or one bigram
using Tick = std::uint64_t;   ///< logical clock of one index; no decision anywhere reads a wall clock

/// A node of an index: slot number below, generation above, so that a node that has left is never mistaken
/// for the one that took its slot.
enum class NodeId : std::uint64_t { none = 0 };

/// The arena slot alone: short, stable while the node lives, and the order in which equal ranks leave.
constexpr std::uint32_t slot_of(NodeId id) { return static_cast<std::uint32_t>(id); }

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

/// How many of `count` pages, from the first on, are numbered in a row. REQUIRES: count > 0. Most of what a feed costs
/// was this walk, page by page.
inline std::size_t pages_in_a_row(const Page* pages, std::size_t count) {
  using Four = Page __attribute__((vector_size(16)));
  std::size_t i = 1;
  // First by many, then by few: whether any differs is asked once for all of them.
  for (const std::size_t at_once : {std::size_t{64}, std::size_t{16}})
    for (; i + at_once <= count; i += at_once) {
      Four differ{}, expected = Four{0, 1, 2, 3} + (*pages + static_cast<Page>(i));
      for (std::size_t k = 0; k < at_once; k += 16, expected += 16) {
        Four at[4];
        std::memcpy(at, pages + i + k, sizeof(at));
        differ |= (at[0] ^ expected) | (at[1] ^ (expected + 4)) | (at[2] ^ (expected + 8)) | (at[3] ^ (expected + 12));
      }
      if ((differ[0] | differ[1] | differ[2] | differ[3]) != 0) break;
    }
  while (i < count && pages[i] == *pages + static_cast<Page>(i)) ++i;
  return i;
}

}  // namespace canopy
