#pragma once

#include <canopy/helpers/record_head.h>

#include <cstring>

namespace canopy::slots {

/// Bytes at the beginning of a record that can be read separately with O_DIRECT.
inline constexpr std::size_t kDirectBytes = 4096;

inline RecordHead head_of(const std::byte* record) {
  RecordHead head;
  std::memcpy(&head, record, sizeof head);
  return head;
}

/// Returns true if the record begins with this key.
inline bool names(const std::byte* record, const PageKey& key) {
  const RecordHead head = head_of(record);
  return head.is_record() && head.key == key;
}

}  // namespace canopy::slots
