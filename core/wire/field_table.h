#pragma once

#include <canopy/wire/event.h>

#include <array>
#include <optional>
#include <string_view>

/// Names of kinds and fields, and where arrays have them.
namespace canopy::wire {

inline constexpr std::array<std::string_view, 3> kKindNames = {"BlockStored", "BlockRemoved", "AllBlocksCleared"};

/// The fields of an event that is an array, behind its kind.
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

/// What a field's value is.
enum class Shape { hashes, hash, tokens, number, text, any };
inline Shape shape_of(Field field) {
  switch (field) {
    case Field::block_hashes:
      return Shape::hashes;
    case Field::parent_block_hash:
      return Shape::hash;
    case Field::token_ids:
      return Shape::tokens;
    case Field::block_size:
    case Field::lora_id:
    case Field::group_idx:
    case Field::kv_cache_spec_sliding_window:
      return Shape::number;
    case Field::medium:
    case Field::lora_name:
    case Field::kv_cache_spec_kind:
    case Field::cache_salt:
    case Field::session_id:
      return Shape::text;
    case Field::extra_keys:
    case Field::locality:
    case Field::ownership:
    case Field::lookahead_token_ids:
      return Shape::any;
  }
  return Shape::any;
}

/// REQUIRES: the field's shape is a number.
template <class AnyEvent>
auto& number_of(AnyEvent& event, Field field) {
  if (field == Field::block_size) return event.block_size;
  if (field == Field::lora_id) return event.lora_id;
  if (field == Field::group_idx) return event.group;
  return event.sliding_window;
}

}  // namespace canopy::wire
