#pragma once

#include <canopy/page_storage.h>

#include <list>
#include <unordered_map>
#include <vector>

namespace canopy::sim_storage {

/// Records in memory, by key. If the number of records is limited, the least recently used one is evicted first. Within
/// a call, the first record counts as the most recently used, so that a path is evicted from its end.
class KeptRecords {
 public:
  /// `most`: the maximum number of records.
  KeptRecords(std::uint64_t record_bytes, std::uint64_t most) : record_bytes_(record_bytes), most_(most) {}

  std::uint64_t size() const { return by_key_.size(); }
  bool has(const PageKey& key) const { return by_key_.contains(key); }
  /// Stores the records in order. Returns the number of records that are stored; there was no room for the rest.
  std::size_t put(const PageKey& space, std::span<const PageKey> keys, std::span<std::byte* const> records);
  /// Copies the record if it exists. Returns false if it does not.
  bool get(const PageKey& key, std::byte* record) const;
  void use(std::span<const PageKey> keys);
  void forget(const PageKey& key);
  void forget_all(const PageKey& space);

 private:
  struct Record {
    PageKey key, space;
    std::vector<std::byte> bytes;  ///< record without the zeros at its end
  };
  using Order = std::list<Record>;  ///< most recently used first

  std::uint64_t record_bytes_, most_;
  Order order_;
  std::unordered_map<PageKey, Order::iterator, PageKey::Hash> by_key_;
};

}  // namespace canopy::sim_storage
