#pragma once

#include <canopy/record_head.h>

#include <cstring>

namespace canopy::slots {

/// Bytes of a record's beginning that can be read alone with O_DIRECT.
inline constexpr std::size_t kDirectBytes = 4096;

inline RecordHead head_of(const std::byte* record) {
  RecordHead head;
  std::memcpy(&head, record, sizeof head);
  return head;
}

/// Whether the record says that it is the key's.
inline bool names(const std::byte* record, const PageKey& key) {
  const RecordHead head = head_of(record);
  return head.is_record() && head.key == key;
}

}  // namespace canopy::slots
