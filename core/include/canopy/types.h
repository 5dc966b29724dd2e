#pragma once
/// The types that all parts of Canopy share: fixed-width integers and plain structs, because they cross the boundary
/// between a program and its plugins.
///
///   token     t0 t1 t2 t3 t4 t5 t6 t7 t8 ...           numbers of a model's vocabulary
///   unit      t0 | t1 | t2 | ...                       one token; or a bigram, t0 t1 | t1 t2 | t2 t3 | ...
///   page      [u0 u1 u2 u3] [u4 u5 u6 u7] [u8 ...      `page_size` units of a path, stored under one page number
///   segment   {page 64 page 65 ... page 127}           consecutive page numbers whose memory comes and goes together

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace canopy {

using Token = std::uint32_t;
using Page = std::uint32_t;   ///< page number in one pool; page 0 is never handed out: it pads page tables
using Units = std::uint32_t;  ///< number of units
using Tick = std::uint64_t;   ///< time on the logical clock of one index; no decision reads a wall clock

/// A node of an index: its slot number in the low half, the life of that slot in the high half. The first node in a
/// slot is life 1, the next node in the same slot life 2, and so on. An id is never used for two nodes.
enum class NodeId : std::uint64_t { none = 0 };

/// Returns the slot number, constant while the node exists. Nodes of equal rank are evicted in slot order.
constexpr std::uint32_t slot_of(NodeId id) { return static_cast<std::uint32_t>(id); }
/// Returns the life of the slot, from 1; 0 for NodeId::none.
constexpr std::uint32_t life_of(NodeId id) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) >> 32); }

/// A lock of an index. Only the index that returned it can read it. It is no node: two locks on one prefix may hold
/// different pages (hash_chain), so an index is free to number its locks apart from its nodes.
enum class LockId : std::uint64_t { none = 0 };

/// A namespace (tenant, adapter, salt), numbered by the engine from 0 without gaps. Two namespaces share no prefix.
enum class NamespaceId : std::uint32_t { shared = 0 };

/// A tenant, numbered by the engine from 0 without gaps: the namespaces whose pages count against one share of the
/// pools. The unnamed one has the requests without a tenant.
enum class TenantId : std::uint32_t { unnamed = 0 };

inline constexpr std::size_t kMaxGroups = 4;
inline constexpr Units kWholePath = ~Units{0};                  ///< a reach: the whole path must be resident
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};  ///< no limit

/// A prompt in the form that an index reads. It has words.size() - overlap units (KeyCodec::overlap); 0 if it has fewer
/// words than that.
struct Key {
  NamespaceId space = NamespaceId::shared;
  std::span<const std::uint32_t> words;
};

/// Page numbers of each KV cache group, in path order. A list returned by an index or an allocator is valid until the
/// next call of that object.
using GroupPages = std::array<std::span<const Page>, kMaxGroups>;

/// A run of page numbers: the unit in which a pool grows and shrinks.
struct Segment {
  Page first = 0;
  std::uint32_t pages = 0;
};

}  // namespace canopy
