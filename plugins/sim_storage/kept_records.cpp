#include "kept_records.h"

#include <algorithm>

namespace canopy::sim_storage {

std::size_t KeptRecords::put(const PageKey& space, std::span<const PageKey> keys, std::span<std::byte* const> records) {
  use(keys);  // existing records are not evicted for later ones of this call
  std::uint64_t room = most_ - static_cast<std::uint64_t>(
                                   std::count_if(keys.begin(), keys.end(), [&](const auto& key) { return has(key); }));
  std::size_t kept = 0;
  for (; kept < keys.size(); ++kept) {
    if (has(keys[kept])) continue;
    if (room == 0) break;
    --room;
    if (size() == most_) forget(order_.back().key);
    const std::byte* const record = records[kept];
    const std::byte* end = record + record_bytes_;
    while (end != record && end[-1] == std::byte{0}) --end;
    Order made;  // a record is in both lists or in none
    made.push_front({keys[kept], space, {record, end}});
    by_key_.emplace(keys[kept], made.begin());
    order_.splice(order_.begin(), made);
  }
  use(keys.first(kept));
  return kept;
}

bool KeptRecords::get(const PageKey& key, std::byte* record) const {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return false;
  const auto& bytes = found->second->bytes;
  std::fill(std::copy(bytes.begin(), bytes.end(), record), record + record_bytes_, std::byte{0});
  return true;
}

void KeptRecords::use(std::span<const PageKey> keys) {
  for (std::size_t i = keys.size(); i-- > 0;)
    if (const auto found = by_key_.find(keys[i]); found != by_key_.end())
      order_.splice(order_.begin(), order_, found->second);
}

void KeptRecords::forget(const PageKey& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  const auto record = found->second;
  by_key_.erase(found);  // before the record: `key` may be its own
  order_.erase(record);
}

void KeptRecords::forget_all(const PageKey& space) {
  for (auto record = order_.begin(); record != order_.end();)
    if (record->space == space) {
      by_key_.erase(record->key);
      record = order_.erase(record);
    } else {
      ++record;
    }
}

}  // namespace canopy::sim_storage
