#pragma once

#include <canopy/kv_events/event.h>

#include <array>
#include <iterator>
#include <optional>
#include <string_view>

/// Names and shapes of fields, and their positions in events that are arrays.
namespace canopy::kv_events {

inline constexpr std::array<std::string_view, 3> kKindNames = {"BlockStored", "BlockRemoved", "AllBlocksCleared"};

enum class Shape { hashes, hash, tokens, number, text, any };
/// Name and shape of each Field.
inline constexpr struct {
  std::string_view name;
  Shape shape;
} kFieldTable[] = {
    {"block_hashes", Shape::hashes},
    {"parent_block_hash", Shape::hash},
    {"token_ids", Shape::tokens},
    {"block_size", Shape::number},
    {"lora_id", Shape::number},
    {"medium", Shape::text},
    {"lora_name", Shape::text},
    {"extra_keys", Shape::any},
    {"group_idx", Shape::number},
    {"kv_cache_spec_kind", Shape::text},
    {"kv_cache_spec_sliding_window", Shape::number},
    {"locality", Shape::any},
    {"ownership", Shape::any},
    {"cache_salt", Shape::text},
    {"session_id", Shape::text},
    {"lookahead_token_ids", Shape::any},
};
static_assert(std::size(kFieldTable) == kFields);
inline Shape shape_of(Field field) { return kFieldTable[static_cast<std::size_t>(field)].shape; }
inline std::optional<Field> field_named(std::string_view name) {
  for (std::size_t i = 0; i < kFields; ++i)
    if (kFieldTable[i].name == name) return static_cast<Field>(i);
  return std::nullopt;
}

/// Fields of an event that is an array, after its kind.
inline constexpr std::array kStoredPositions = {
    Field::block_hashes,
    Field::parent_block_hash,
    Field::token_ids,
    Field::block_size,
    Field::lora_id,
    Field::medium,
    Field::lora_name,
    Field::extra_keys,
    Field::group_idx,
    Field::kv_cache_spec_kind,
    Field::kv_cache_spec_sliding_window,
};
inline constexpr std::array kRemovedPositions = {Field::block_hashes, Field::medium, Field::group_idx};

inline std::span<const Field> positions_of(EventKind kind) {
  if (kind == EventKind::stored) return kStoredPositions;
  if (kind == EventKind::removed) return kRemovedPositions;
  return {};
}

/// Returns the number of a field. REQUIRES: the shape of the field is Shape::number.
template <class AnyEvent>
auto& number_of(AnyEvent& event, Field field) {
  if (field == Field::block_size) return event.block_size;
  if (field == Field::lora_id) return event.lora_id;
  if (field == Field::group_idx) return event.group;
  return event.sliding_window;
}

}  // namespace canopy::kv_events
