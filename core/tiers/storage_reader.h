#pragma once

#include <canopy/feed/writer.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "cost_model.h"
#include "read_needs.h"
#include "storage_link.h"
#include "storage_read.h"

namespace canopy {

/// Reads records from the storage into the host tier. A read finds the part of a path beyond the host tier, takes
/// pages there for the records that the storage has, and lets the storage fill them. Each record is checked. The valid
/// ones, up to the deepest boundary that they can serve, are inserted into the host tier's index, and the others are
/// freed.
///
/// If groups keep a part of each path, it then finds the pages of each of them, and chooses the deepest boundary
/// that all can serve. Of these groups it reads what that boundary needs. Nothing is inserted beyond a boundary.
///
///   whole path   |  host tier: up to `whole`  |  read ..............................|
///   window       |  held up to `first`  |                      not needed  |  read  |
///                0                      first                                       end
class StorageReader {
 public:
  /// `feed`: that of the host tier's index. May be null (no feed). REQUIRES: all arguments outlive this object.
  StorageReader(StorageLink& link, const CostModel& costs, FeedWriter* feed)
      : link_(link),
        device_(link.device),
        host_(link.host),
        state_(link.state),
        costs_(costs),
        needs_(state_),
        feed_(feed) {}

  /// Begins to read the part of a path that the storage has beyond its first `wanted` units, or joins a read of it.
  /// `there`: a lock's or a match's lengths in the host tier. Returns null, and counts the outcome, if there is nothing
  /// to read.
  std::shared_ptr<StorageRead> begin(const Key& key, const Lock& there, Units wanted, std::int32_t priority);
  /// Returns true if what a read brings is of use for a key that begins as the read's path does.
  bool serves(const StorageRead& read, const Key& key) const {
    // Each part of a whole path is. A boundary is if the key reaches it.
    return link_.whole_paths_only() || key.words.size() >= link_.depth(read.end) + state_.overlap;
  }
  /// Returns the time at which an unfinished read ends or, while it asks, the time of the answer: from the work of its
  /// lane or from measured times. Empty if unknown.
  std::optional<std::uint64_t> ends_us(const StorageRead& read) const;

  /// Returns the result of a find or a get on this rank. Checks the records of a get, and removes damaged ones from the
  /// storage.
  CallEnd end_of(const StorageCall& call) noexcept;
  /// Processes the end of a find or a get.
  void ended(const StorageCall& call, const CallEnd& end);
  /// Completes reads that waited for the prefix before their records, and forgets those that are done.
  void arrive_late();
  /// Ends reads whose calls exceed their time limit. Their pages stay `moving` until the calls end.
  void abandon_late();
  /// Ends all reads, as abandon_late().
  void stop();
  /// Discards what pending reads of a namespace bring.
  void flushed(NamespaceId space);

  const std::deque<std::shared_ptr<StorageRead>>& reads() const { return reads_; }

 private:
  StorageRead& read_of(const StorageCall& call);
  bool joins(const StorageRead& read, const Key& key, std::size_t first) const;
  bool worth(StorageRead& read);
  std::uint64_t get_us(const StorageRead& read) const;
  void ask(StorageRead& read) noexcept;
  bool choose(StorageRead& read);
  CallEnd end_of_choice(StorageRead& read, const StorageCall& call) const;
  void answered(StorageRead& read, const CallEnd& end);
  bool leave_to_another(StorageRead& read);
  void get(StorageRead& read);
  void go_on(StorageRead& read) noexcept;
  void give_up(StorageRead& read);
  bool take_pages(StorageRead& read);
  std::size_t shared_out(std::size_t group, std::size_t count) const;
  bool ask_for_records(StorageRead& read) noexcept;
  CallEnd end_of_get(StorageRead& read, const StorageCall& call);
  void got(StorageRead& read, const StorageCall& call, const CallEnd& end);
  bool is_valid(const StorageRead& read, std::size_t group, std::size_t page);
  void arrive(StorageRead& read);
  bool has_whole(const StorageRead& read);
  bool has_prefix(StorageRead& read);
  std::span<const Page> brought(const StorageRead& read, std::size_t group, std::size_t count);
  void insert(StorageRead& read, std::size_t count);
  void free_pages(StorageRead& read);
  void close(StorageRead& read, BringOutcome outcome);

  StorageLink& link_;
  CacheState& device_;
  HostTier& host_;
  CacheState& state_;  ///< state of the host tier
  const CostModel& costs_;
  ReadNeeds needs_;
  FeedWriter* feed_;
  SeenRate seen_;          ///< rate of records
  SeenRate seen_answers_;  ///< rate of finds, each counted as one byte
  std::deque<std::shared_ptr<StorageRead>> reads_;
  std::vector<PageKey> keys_;
  std::vector<std::byte*> targets_;
  std::array<std::vector<Page>, kMaxGroups> rows_;  ///< pages of a path for an insert
};

}  // namespace canopy
