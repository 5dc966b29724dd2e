#pragma once

#include <canopy/page_storage.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

namespace canopy::test {

/// Returns the key of page `page` of path `path`; keys are unordered.
PageKey key_of(std::uint32_t path, std::uint32_t page);
/// Returns the keys of pages of a path, from `first` on.
std::vector<PageKey> path_of(std::uint32_t path, std::uint32_t pages, std::uint32_t first = 0);
/// Returns the number of records with this fate.
inline std::size_t count_of(const std::vector<Fate>& fates, Fate fate) {
  return static_cast<std::size_t>(std::count(fates.begin(), fates.end(), fate));
}

/// The result of a call.
struct Ended {
  Fate fate = Fate::done;
  std::uint32_t found = 0;
  std::vector<Fate> fates;
};

/// Calls a storage as the engine does, with its own memory, and checks the contract: a call ends once, has a result for
/// each record, and touches only the memory of pending calls.
class StorageCaller {
 public:
  using Keys = std::vector<PageKey>;

  /// `world`: determines the bytes of each key's record, so that a record of another place is detected. `room`: records
  /// of memory.
  StorageCaller(std::shared_ptr<PageStorage> storage, const PageStorage::Context& context, std::uint32_t world,
                std::uint32_t room = 64);
  /// Ends the storage first, even with pending calls.
  ~StorageCaller();

  PageStorage& storage() { return *storage_; }
  std::uint64_t free_records() const { return free_.size(); }
  std::size_t calls() const { return calls_.size(); }

  /// Begins a call and returns its ticket. REQUIRES: memory for the keys: free_records().
  std::uint64_t find(const PageKey& space, const Keys& keys, std::uint64_t within_us = kLong);
  std::uint64_t find_each(const PageKey& space, const Keys& keys, std::uint64_t within_us = kLong);
  std::uint64_t get(const PageKey& space, const Keys& keys, std::uint64_t within_us = kLong);
  std::uint64_t put(const PageKey& space, const Keys& keys, std::uint64_t within_us = kLong);

  /// Takes at most `most` results now. Returns their number.
  std::size_t poll(std::size_t most = 16);
  /// Waits until every call has ended.
  void wait_all();
  /// Returns the result of a call, only once. REQUIRES: it has ended.
  Ended ended(std::uint64_t ticket);
  bool has_ended(std::uint64_t ticket) const { return ended_.contains(ticket); }
  Ended wait(std::uint64_t ticket);

  // Complete calls.
  std::uint32_t find_now(const PageKey& space, const Keys& keys) { return wait(find(space, keys)).found; }
  std::vector<Fate> find_each_now(const PageKey& space, const Keys& keys) { return wait(find_each(space, keys)).fates; }
  std::vector<Fate> get_now(const PageKey& space, const Keys& keys) { return wait(get(space, keys)).fates; }
  std::vector<Fate> put_now(const PageKey& space, const Keys& keys) { return wait(put(space, keys)).fates; }

  /// Ends the storage. Its pending calls never end, and their memory must not be touched after this.
  void end_storage();
  /// Throws a Mismatch if memory that no call uses has changed.
  void check_memory() const;
  std::uint64_t record_bytes() const { return record_bytes_; }

 private:
  static constexpr std::uint64_t kLong = 60'000'000;
  enum class Kind { find, find_each, get, put };
  struct Call {
    Kind kind = Kind::find;
    Keys keys;
    std::vector<std::uint32_t> records;
  };
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  std::byte* record(std::uint32_t number) const { return memory_.get() + (1 + number) * record_bytes_; }
  void fill(std::byte* record, const PageKey& key) const;
  Call& begin(Kind kind, const Keys& keys);
  void end(const StorageDone& done);

  std::shared_ptr<PageStorage> storage_;
  std::uint64_t record_bytes_;
  std::uint32_t world_, room_;
  std::unique_ptr<std::byte, Free> memory_;  ///< an unused record, room_ records, and another unused record
  std::vector<std::uint32_t> free_;          ///< records that no call uses; all their bytes are kUntouched
  std::uint64_t next_ticket_ = 1;
  std::map<std::uint64_t, Call> calls_;  ///< pending calls
  std::map<std::uint64_t, Ended> ended_;
};

}  // namespace canopy::test
