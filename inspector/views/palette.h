#pragma once

#include <imgui.h>

#include <array>
#include <cstdint>

#include <mirror/mirror.h>

namespace canopy::inspector {

/// Meaning of colours, the same in the tree and in the pool. The legend explains it.
enum class ColourBy : std::uint8_t { state, recency, hits, space, tier };
inline constexpr std::array<const char*, 5> kColourNames = {"state", "last use", "hits", "namespace", "tier"};

/// All colours of the inspector. The hues are those of Okabe and Ito, distinguishable with all common kinds of colour
/// vision. Protected nodes and tombstones are hatched as well.
struct Palette {
  ImU32 background, panel, line, text, dim, accent, accent_text;
  ImU32 free, evictable, protected_, owned, tombstone, absent;
  ImU32 in_pools, in_both, on_host;  ///< colours by the tiers that contain a prefix
  ImU32 good, warn, bad;
  ImU32 on_fill;  ///< colour of text on the fill of any state
  ImU32 selected;
  std::array<ImU32, 8> spaces;
  std::array<ImU32, 5> heat;  ///< from cold to hot

  ImU32 of(NodeState state) const {
    return state == NodeState::evictable    ? evictable
           : state == NodeState::protected_ ? protected_
           : state == NodeState::tombstone  ? tombstone
                                            : line;
  }
  /// Returns the colour of a namespace: each hue in three shades, so that the first 24 differ.
  ImU32 of(NamespaceId space) const;
  static constexpr std::size_t kShades = 3;
  /// Returns the colour of a share, from 0 (cold) to 1 (hot).
  ImU32 warmth(float share) const;
};

const Palette& dark_palette();
const Palette& light_palette();
/// Returns the palette in use.
const Palette& palette();
void use_palette(const Palette& which);

/// Returns the colour of text on a fill: on_fill, or the panel's text colour on a dark fill.
ImU32 ink_on(ImU32 fill);

ImU32 with_alpha(ImU32 colour, float alpha);
ImU32 mixed(ImU32 from, ImU32 to, float share);

/// Returns a node's colour. `now` is the mirror's tick.
ImU32 colour_of(const MirrorNode& node, NodeState state, ColourBy by, Tick now);

}  // namespace canopy::inspector
