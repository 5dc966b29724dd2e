#pragma once

#include <canopy/page_storage.h>

#include <list>
#include <unordered_map>
#include <vector>

namespace canopy::sim_storage {

/// Records in memory, by key. Where there is room for a number of them only, the least recently used one is forgotten
/// first; of a call's records, the first one counts as the last used, so that a path is forgotten from its end.
class KeptRecords {
 public:
  /// `most`: records.
  KeptRecords(std::uint64_t record_bytes, std::uint64_t most) : record_bytes_(record_bytes), most_(most) {}

  std::uint64_t size() const { return by_key_.size(); }
  bool has(const PageKey& key) const { return by_key_.contains(key); }
  /// Keeps the records in their order, and tells how many of them are kept now; the others had no room.
  std::size_t put(const PageKey& space, std::span<const PageKey> keys, std::span<const std::byte* const> records);
  /// Copies the record, if it is there.
  bool get(const PageKey& key, std::byte* record) const;
  void use(std::span<const PageKey> keys);
  void forget(const PageKey& key);
  void forget_all(const PageKey& space);

 private:
  struct Record {
    PageKey key, space;
    std::vector<std::byte> bytes;  ///< without the zeros at the record's end
  };
  using Order = std::list<Record>;  ///< the last used one first

  std::uint64_t record_bytes_, most_;
  Order order_;
  std::unordered_map<PageKey, Order::iterator, PageKey::Hash> by_key_;
};

}  // namespace canopy::sim_storage
