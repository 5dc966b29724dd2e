#pragma once

#include <canopy/engine/engine.h>
#include <canopy/page_storage.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "scarcity.h"

namespace canopy::check {

/// Namespaces that a program can name.
inline constexpr std::uint32_t kMostSpaces = 8;

/// A wrong result that a component returns once. The ledger, the audit or the comparison of bytes must detect it; what
/// a storage returns must not even be used.
enum class Lie : std::uint8_t {
  twice,        ///< an allocator hands out a page that is out
  keeps,        ///< an allocator takes pages back and keeps them
  miscounts,    ///< an allocator reports one page more than it has
  forgets,      ///< an index does not give back a page that it evicted or flushed
  swallows,     ///< an index does not return a page that it does not use
  misnames,     ///< an index returns another page than the one with the words
  shallow,      ///< an index answers an insert with a lock on less than the one that it was given
  wrong_bytes,  ///< a store returns a bit that was not written
  wrong_image,  ///< a store restores a page from the host tier with a wrong bit
  // A storage returns in place of a record, and reports that it has done what it was asked for:
  wrong_record,  ///< the record with a wrong bit
  other_record,  ///< the record of another key
  lost_record,   ///< nothing: the memory keeps what it had
};
inline constexpr Lie kFirstOfHost = Lie::wrong_image, kFirstOfStorage = Lie::wrong_record;
std::optional<Lie> lie_of(std::string_view name);
std::vector<std::string> lie_names();

/// The faults of the components of one engine, and their times. Filled between operations.
struct Faults {
  struct InGroup {
    std::uint64_t pages = 0;   ///< number of the allocation, counted from now, that finds no page; 0: none
    std::uint64_t memory = 0;  ///< number of the segment, counted from now, that finds no memory; 0: none
  };
  std::array<InGroup, kMaxGroups> groups{};
  std::uint64_t insert = 0;  ///< number of the insert, counted from now, that stores nothing; 0: none
  std::uint64_t remap = 0;   ///< number of the relocation, counted from now, for which the index has no memory; 0: none
  std::uint64_t happened = 0;  ///< faults so far
  Lie lie{};
  std::uint64_t lies_in = 0;  ///< number of the possible lie, counted from now, that happens; 0: none
  std::size_t liar = 0;       ///< group of the component that lies
  Page page = 0;              ///< page of Lie::wrong_image
  bool lied = false;
  Scarcity scarcity;
  /// Storages that do not survive the process, by group. The next engine gets them.
  std::vector<std::shared_ptr<PageStorage>> storages;
  std::uint64_t pages_there = 0;   ///< most pages that the storage of the first group has reported in one answer
  std::uint64_t pages_read = 0;    ///< pages that this storage was asked for
  std::uint64_t record_bytes = 0;  ///< bytes of its records

  /// Returns true if a fault has yet to happen.
  bool armed() const;
  void disarm();
};

/// Adds the components for create(), the policy `wild`, whose ranks are arbitrary, and the codec `flipped`.
void add_faulty(Registry& registry);
/// Bits in which the words of the codec `flipped` differ from the tokens.
inline constexpr std::uint32_t kFlips = 0x5A5A'5A5A;
/// Returns the bits in which an engine's words differ from its tokens.
inline std::uint32_t flips_of(const EngineConfig& config) { return config.key.name == "flipped" ? kFlips : 0; }

/// Returns an engine whose allocators, stores and index are those of the configuration, each inside a component that
/// can fail or lie. REQUIRES: `registry` has what add_faulty() adds; `faults` outlives the engine.
Result<std::unique_ptr<Engine>> create(const EngineConfig& config, const Registry& registry, Faults& faults,
                                       Agreement* agreement = nullptr);

}  // namespace canopy::check
