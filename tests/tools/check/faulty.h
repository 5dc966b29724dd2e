#pragma once

#include <canopy/engine/engine.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace canopy::check {

/// Namespaces that a program can name.
inline constexpr std::uint32_t kMostSpaces = 8;

/// What a component says once that is not so. Whatever comes of it, the ledger, the audit or the comparison of bytes
/// must say it.
enum class Lie : std::uint8_t {
  twice,        ///< an allocator hands out a page that is out
  keeps,        ///< an allocator takes pages back and keeps them
  miscounts,    ///< an allocator says that it has a page more than there are
  forgets,      ///< an index does not give back a page that it evicted or flushed
  swallows,     ///< an index keeps silent about a page that it has no use for
  misnames,     ///< an index names another page than the one that holds the words
  wrong_bytes,  ///< a store reads a bit that was not written
};
std::optional<Lie> lie_of(std::string_view name);
std::vector<std::string> lie_names();

/// What the components of one engine do wrong, and when. Filled between operations.
struct Faults {
  struct InGroup {
    std::uint64_t pages = 0;   ///< the so manieth allocation from now finds no page; 0: none
    std::uint64_t memory = 0;  ///< the so manieth segment from now finds no memory
  };
  std::array<InGroup, kMaxGroups> groups{};
  std::uint64_t insert = 0;    ///< the so manieth insert from now stores nothing
  std::uint64_t happened = 0;  ///< faults so far
  Lie lie{};
  std::uint64_t lies_in = 0;  ///< the so manieth call from now that could lie does; 0: none
  std::size_t liar = 0;       ///< its group
  bool lied = false;

  /// Whether something is still to happen.
  bool armed() const;
  void disarm();
};

/// Adds what create() needs, and the policy `wild`, whose ranks follow from nothing.
void add_faulty(Registry& registry);

/// An engine whose allocators, stores and index are the configuration's, each inside one that can do wrong.
/// REQUIRES: `registry` has what add_faulty() adds; `faults` outlives the engine.
Result<std::unique_ptr<Engine>> create(const EngineConfig& config, const Registry& registry, Faults& faults);

}  // namespace canopy::check
