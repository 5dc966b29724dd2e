#pragma once

#include <canopy/page_storage.h>

#include <cstring>

namespace canopy::slots {

/// What a page's record begins with, as core/engine writes it: "CNPYPAGE" at byte 0, its key at 32, the key of the page
/// before it at 64. The rest is the engine's business.
struct RecordHead {
  static constexpr std::size_t kBytes = 4096;  ///< what can be read alone with O_DIRECT

  bool is_record = false;  ///< false: something else, or nothing
  PageKey key, parent;
};

inline RecordHead head_of(const std::byte* record) {
  RecordHead head;
  head.is_record = std::memcmp(record, "CNPYPAGE", 8) == 0;
  std::memcpy(&head.key, record + 32, sizeof head.key);
  std::memcpy(&head.parent, record + 64, sizeof head.parent);
  return head;
}

/// Whether the record says that it is the key's.
inline bool names(const std::byte* record, const PageKey& key) {
  const RecordHead head = head_of(record);
  return head.is_record && head.key == key;
}

}  // namespace canopy::slots
