#pragma once

#include <canopy/feed/counters.h>
#include <canopy/feed/writer.h>
#include <canopy/page_storage.h>
#include <canopy/prefix_index.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <cache/cache_state.h>
#include "cost_model.h"
#include "storage_calls.h"

namespace canopy {

/// The part of a path that is read from the storage into the host tier. Several fetches may wait for one read: prompts
/// that differ later need the same pages.
struct StorageRead {
  enum class Stage : std::uint8_t {
    asking,    ///< the storage counts the pages that it has in the groups of whole paths
    choosing,  ///< the storage looks up, group by group, which pages of windows and states it has
    reading,   ///< pages of the host tier are taken, and the storage fills them
    done       ///< nothing more arrives. Pages of calls that have not ended stay `moving` until they have
  };
  Stage stage = Stage::asking;
  std::uint64_t job = 0;
  NamespaceId space{};
  std::int32_t priority = 0;
  std::vector<std::uint32_t> words;  ///< words of the path
  std::size_t first = 0, end = 0;    ///< pages: a boundary of a tier above, and the one to be reached at most
  std::size_t whole = 0;             ///< first page that groups of whole paths lack. The host tier has those before it
  std::size_t group = 0;             ///< choosing: group that is looked up, or that is next
  Lock lock{};                       ///< lock on the part of the path that the host tier has
  std::array<std::size_t, kMaxGroups> at{};           ///< reading: page of the path at which `pages` begin
  std::array<std::vector<Page>, kMaxGroups> pages{};  ///< reading: pages up to `end`
  std::array<std::vector<bool>, kMaxGroups> valid{};  ///< reading: the record has arrived and is valid
  std::array<std::vector<bool>, kMaxGroups> found{};  ///< choosing: pages from `first` on that this rank's storage has
  std::size_t open = 0;                               ///< pending calls
  BringOutcome outcome = BringOutcome::whole;         ///< reason for which it is not whole
  std::uint64_t ends_us = 0, late_us = 0;             ///< end and time limit of the pending calls
  bool unwanted = false;                              ///< its namespace was flushed since
  bool lost = false;                                  ///< a call never ended
  bool anyway = false;                                ///< it is made though it does not seem worthwhile (SeenRate)
  std::shared_ptr<StorageRead> instead;               ///< done: the read that brings the same; null (none)
  Units from = 0, until = 0;                          ///< units that it added to the host tier, once it is done

  bool done() const { return stage == Stage::done; }
};

/// The pages that a read needs of each group: of a whole path all that the host tier lacks, of a window or a state the
/// last part before the boundary at which the read ends.
class ReadNeeds {
 public:
  /// REQUIRES: `host`, the state of the host tier, outlives this object.
  explicit ReadNeeds(const CacheState& host) : host_(host) {}

  /// Returns the first page that a read needs of a group.
  std::size_t first(const StorageRead& read, std::size_t group) const { return first(read, group, read.end); }
  /// Returns the number of pages that a read needs of a group, up to its end.
  std::size_t count(const StorageRead& read, std::size_t group) const { return read.end - first(read, group); }

  /// Returns the deepest boundary of a read, up to its end, that every group can serve with the pages for which
  /// has(group, page) returns true. Returns the read's first page if there is none. Calls `has` only for pages that a
  /// boundary needs.
  template <class Has>
  std::size_t boundary(const StorageRead& read, Has&& has) const {
    std::size_t end = read.end;
    for (std::size_t g = 0; g < host_.groups.size(); ++g)
      if (is_whole_path(g)) end = std::min(end, served(read, g, end, has));
    for (std::size_t g = 0; g < host_.groups.size() && end > read.first;) {
      const std::size_t until = is_whole_path(g) ? end : served(read, g, end, has);
      g = until == end ? g + 1 : 0;  // a nearer boundary needs other pages of the windows and states before
      end = until;
    }
    return end;
  }

 private:
  bool is_whole_path(std::size_t group) const { return host_.groups[group].reach == kWholePath; }
  std::size_t first(const StorageRead& read, std::size_t group, std::size_t end) const {
    if (is_whole_path(group)) return std::min(read.whole, end);
    const std::uint64_t reach = host_.groups[group].reach;
    return std::max(read.first, end - std::min<std::uint64_t>(end, (reach + host_.page_size - 1) / host_.page_size));
  }
  /// Returns `end` if the group can serve a boundary there, else the deepest place before it where it may serve one.
  template <class Has>
  std::size_t served(const StorageRead& read, std::size_t group, std::size_t end, Has&& has) const {
    const std::size_t from = first(read, group, end);
    if (is_whole_path(group)) {
      std::size_t page = from;
      while (page < end && has(group, page)) ++page;
      return page;
    }
    for (std::size_t page = end; page > from; --page)
      if (!has(group, page - 1)) return page - 1;
    return end;
  }

  const CacheState& host_;
};

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
  /// Returns the time at which an unfinished read ends or, while it finds pages, the time of the answer: from the work of its
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
