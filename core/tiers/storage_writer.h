#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "departures.h"
#include "storage_calls.h"

namespace canopy {

/// Writes pages of the host tier to the storage, in whole runs, nearest to the root first. Where a group keeps a part
/// of each path, the pages that it has are written, and the others are skipped.
///
///   on_evict  each turn evicts from the host tier until a part of it is free, and writes what was evicted. The pages
///             are `moving` until the storage has ended the call
///   through   pages that a copy has brought to the host tier are written, and a lock keeps them there
class StorageWriter {
 public:
  /// `puts`: if false, another rank puts the same records. REQUIRES: `link` outlives this object.
  StorageWriter(StorageLink& link, bool puts)
      : link_(link),
        device_(link.device),
        host_(link.host),
        state_(link.state),
        puts_here_(puts),
        departures_(link.device.pools.size()) {}

  /// Evicts from the host tier until a part of it is free or being written.
  void evict_early() noexcept;

  /// Returns the visitor of nodes that leave the host tier for room. May be null (nothing is written).
  LeavingVisitor* eviction_visitor() { return link_.config.write == PutPolicy::none ? nullptr : &dropped_; }
  /// Counts what such an eviction has dropped.
  void evicted();
  /// Write-through: writes the part of a path that the storage has not received, nearest to the root first.
  void inserted(const Key& key) noexcept;

  /// Processes the end of a put.
  void ended(const StorageCall& call, const CallEnd& end);
  /// Stops waiting for puts that exceed their time limit. Their pages stay `moving` until the calls end.
  void abandon_late();

  /// A run of a path that is being written.
  struct Put {
    std::uint64_t job = 0;
    NamespaceId space{};
    Lock lock{};  ///< write-through: keeps the pages in the host tier's index; otherwise they have left it
    std::array<std::vector<Page>, kMaxGroups> pages{};
    std::uint64_t bytes = 0, late_us = 0;
    std::size_t open = 0;  ///< pending calls
    bool late = false, lost = false;
    bool refused = false;  ///< the storage has not kept all of it
  };
  const std::deque<std::unique_ptr<Put>>& puts() const { return puts_; }

 private:
  /// Counts the tokens that are evicted for room and not written.
  struct Dropped final : LeavingVisitor {
    explicit Dropped(const StorageWriter& writer) : writer_(writer) {}
    std::uint64_t tokens = 0;
    void leaving(const Leaving& node) override;

   private:
    const StorageWriter& writer_;
  };
  /// Pages [first, end) of a path, to be written.
  struct Run {
    NamespaceId space{};
    std::span<const std::uint32_t> words;  ///< words of the path
    GroupPages pages;                      ///< pages of the path
    std::size_t first = 0, end = 0;
    std::size_t whole = 0;  ///< write-through: first page of which not all whole-path groups have a record
  };

  std::uint64_t to_evict(std::size_t group) const;
  std::uint64_t may_put(std::size_t group) const;
  bool put(const Run& run, const Lock& lock) noexcept;
  std::size_t seal(const Run& run, Put& put);
  bool finish(Put& put);
  std::size_t first_that_left(const Departures::Departure& path) const;
  bool takes(const Run& run, std::size_t group, std::size_t page, const Lock& lock) const;
  std::size_t within_budget(const Run& run, std::size_t pages);
  void send(Put& put, std::size_t group) noexcept;
  std::size_t send_some(Put& put, std::size_t group, std::size_t first);
  bool is_stored(const GroupPages& pages, std::size_t group, std::size_t page) const;
  bool take_memory();
  void mark(std::size_t group, std::span<const Page> pages);
  void drop_the_others();
  bool ended(Put& put, const StorageCall& call, const CallEnd& end);

  StorageLink& link_;
  CacheState& device_;
  HostTier& host_;
  CacheState& state_;  ///< state of the host tier
  bool puts_here_;
  Departures departures_;
  Dropped dropped_{*this};
  std::deque<std::unique_ptr<Put>> puts_;
  std::uint64_t bytes_put_ = 0;                          ///< bytes of pending puts
  std::array<std::uint64_t, kMaxGroups> putting_{};      ///< pages of pending puts that have left the host tier's index
  std::array<std::vector<Page>, kMaxGroups> evicted_{};  ///< pages of the present eviction
  std::array<std::vector<bool>, kMaxGroups> left_{};     ///< those of them that are not being put, by number
  std::array<std::vector<std::size_t>, kMaxGroups> places_{};  ///< places on the path of the pages of the present put
  std::vector<PageKey> keys_;
  std::vector<const std::byte*> sources_;
};

}  // namespace canopy
