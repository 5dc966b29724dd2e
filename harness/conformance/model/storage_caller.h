#pragma once

#include <canopy/page_storage.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

namespace canopy::test {

/// The key of page `page` of path `path`, in no order.
PageKey key_of(std::uint32_t path, std::uint32_t page);
/// The keys of pages of a path, from the `first` on.
std::vector<PageKey> path_of(std::uint32_t path, std::uint32_t pages, std::uint32_t first = 0);
/// How many records have this fate.
inline std::size_t count_of(const std::vector<Fate>& fates, Fate fate) {
  return static_cast<std::size_t>(std::count(fates.begin(), fates.end(), fate));
}

/// What a call has come to.
struct Ended {
  Fate fate = Fate::done;
  std::uint32_t found = 0;
  std::vector<Fate> fates;
};

/// Calls a storage as the engine does, with memory of its own, and watches what the storage must keep: a call ends
/// once, answers for each record, and touches no memory but that of calls on their way.
class StorageCaller {
 public:
  using Keys = std::vector<PageKey>;

  /// `world`: which bytes the record of a key has, so that a record of another place is noticed. `room`: records of
  /// memory.
  StorageCaller(std::shared_ptr<PageStorage> storage, const PageStorage::Context& context, std::uint32_t world,
                std::uint32_t room = 64);
  /// Ends the storage first, with whatever is on its way.
  ~StorageCaller();

  PageStorage& storage() { return *storage_; }
  std::uint64_t free_records() const { return free_.size(); }
  std::size_t calls() const { return calls_.size(); }

  /// Begin a call and return its ticket. REQUIRES: memory for the keys: free_records().
  std::uint64_t find(const PageKey& space, const Keys& keys, std::uint64_t within_us = kLong);
  std::uint64_t get(const PageKey& space, const Keys& keys, std::uint64_t within_us = kLong);
  std::uint64_t put(const PageKey& space, const Keys& keys, std::uint64_t within_us = kLong);

  /// Takes at most `most` ends now. Returns how many there were.
  std::size_t poll(std::size_t most = 16);
  /// Waits until every call has ended.
  void wait_all();
  /// What a call came to, once. REQUIRES: it has ended.
  Ended ended(std::uint64_t ticket);
  bool has_ended(std::uint64_t ticket) const { return ended_.contains(ticket); }
  Ended wait(std::uint64_t ticket);

  // A call, from its beginning to its end.
  std::uint32_t find_now(const PageKey& space, const Keys& keys) { return wait(find(space, keys)).found; }
  std::vector<Fate> get_now(const PageKey& space, const Keys& keys) { return wait(get(space, keys)).fates; }
  std::vector<Fate> put_now(const PageKey& space, const Keys& keys) { return wait(put(space, keys)).fates; }

  /// Ends the storage. Its calls never end then, and their memory must not be touched any more.
  void end_storage();
  /// A Mismatch if memory that no call uses is not as it was.
  void check_memory() const;

 private:
  static constexpr std::uint64_t kLong = 60'000'000;
  enum class Kind { find, get, put };
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
  std::unique_ptr<std::byte, Free> memory_;  ///< a record that is never used, room_ records, and another one
  std::vector<std::uint32_t> free_;          ///< records that no call uses; all of their bytes are kUntouched
  std::uint64_t next_ticket_ = 1;
  std::map<std::uint64_t, Call> calls_;  ///< on their way
  std::map<std::uint64_t, Ended> ended_;
};

}  // namespace canopy::test
