#pragma once

#include <canopy/feed/tree_listener.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::kv_events {

/// Queues the calls of a TreeListener from the engine's thread for another one. A change costs the engine's thread one
/// copy of its words and a record of 32 bytes: no lock, no system call, no allocation. The address space is
/// proportional to the words of a full index, at most 1 GiB. The system provides memory as it is used, and an empty
/// queue starts again at its first byte.
///
/// If the reader is so late that a record does not fit, the queue either waits for it, or drops everything until the
/// engine sends the whole tree again. It also drops everything if the reader had no memory for a record. A namespace
/// whose salt could never fit is left out with its nodes, since a client chooses the salt.
class TreeQueue final : public TreeListener {
 public:
  enum class WhenFull {
    drop,  ///< Drops everything until the next resync. For a server.
    wait,  ///< Waits for the reader. For a replay, which has no clients. REQUIRES: another thread reads.
  };
  explicit TreeQueue(WhenFull when_full) : when_full_(when_full) {}
  ~TreeQueue();
  TreeQueue(const TreeQueue&) = delete;

  // The engine's thread:
  std::string begin(const Facts& facts) override;
  void space(NamespaceId space, std::string_view salt, std::string_view adapter) override;
  void added(const event::NodeAdded& node, const std::uint32_t* words) override;
  void filled(NodeId node, std::uint8_t group, Units length, const std::uint32_t* words) override;
  void tombstoned(const event::NodeTombstoned& node) override;
  void split(const event::NodeSplit& node) override;
  void removed(const event::NodeRemoved& node) override;
  void cleared(const event::Cleared& all) override;
  bool turn() override;
  void resync() override;
  /// Drops all further calls: the reader has gone.
  void stop() noexcept { when_full_ = WhenFull::drop, lost_ = true; }

  // The reader's thread:
  enum class Kind : std::uint8_t { space, added, filled, tombstoned, split, removed, cleared };
  struct Record {
    std::uint32_t bytes = 0;  ///< Bytes of the record and its words or text.
    Kind kind{};
    std::uint8_t group = 0;
    std::uint16_t resident = 0;  ///< added: bit g is set if group g has pages.
    std::uint64_t node = 0;
    std::uint64_t other = 0;   ///< added: slot of the parent; split: id of the upper half; space: bytes of the adapter.
    std::uint32_t length = 0;  ///< Units; split: units of the upper half; space: bytes of the salt.
    std::uint32_t space = 0;
  };
  static_assert(sizeof(Record) == 32);
  /// Returns the next record with its words or text, valid until the next call. May be null (the queue is empty).
  const Record* next();
  /// Returns the words of a record. REQUIRES: next() returned it last, and its kind is added or filled.
  static std::span<const std::uint32_t> words_of(const Record& record, Units overlap);
  /// Returns salt and adapter. REQUIRES: next() returned it last, and its kind is space.
  static std::pair<std::string_view, std::string_view> texts_of(const Record& record);
  /// Returns true if there are records that next() has not returned.
  bool has_more() const;
  /// Returns the number of times that records were lost. After a loss nothing is queued until the engine sends
  /// everything again: read what is queued, discard everything received so far, and call want_resync().
  std::uint64_t breaks() const { return breaks_.load(std::memory_order_acquire); }
  /// Returns the number of namespaces that are left out.
  std::uint64_t left_out() const { return left_out_count_.load(std::memory_order_relaxed); }
  void want_resync() { wanted_.store(true, std::memory_order_release); }
  /// Has the engine lose what is queued, and everything until the next resync: the reader could not use a record. Pass
  /// over all records until breaks() has grown.
  void lose() noexcept { useless_.store(true, std::memory_order_release); }

  bool has_begun() const { return begun_.load(std::memory_order_acquire); }
  const FeedShape& shape() const { return shape_; }
  const std::vector<std::string>& groups() const { return groups_; }
  /// Return the reserved address space and the memory used of it, in bytes.
  std::uint64_t bytes() const { return size_; }
  std::uint64_t used() const { return used_; }

 private:
  std::byte* room(std::size_t bytes);
  void lost() noexcept;
  bool has_mark(std::size_t space) noexcept;
  bool has_room(std::uint64_t until);
  /// Returns a new record after the newest, with room for `more` bytes. Null: there is no room, and it is lost.
  Record* put(Kind kind, std::uint64_t node, std::size_t more = 0);
  void begin_at_start();

  WhenFull when_full_;
  FeedShape shape_;
  std::vector<std::string> groups_;
  std::byte* base_ = nullptr;
  std::uint64_t size_ = 0;  ///< Bytes of the memory, a power of two.
  // Places grow without limit; a record is at its place modulo size_.
  std::uint64_t at_ = 0, published_ = 0, read_seen_ = 0, start_place_ = 0, used_ = 0;
  bool lost_ = false;
  std::vector<bool> left_out_;               ///< Namespaces that are left out, by number.
  std::uint64_t reading_ = 0, read_to_ = 0;  ///< The reader's place, and the end of its record.
  std::atomic<bool> begun_{false}, wanted_{false}, useless_{false};
  std::atomic<std::uint64_t> breaks_{0}, left_out_count_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0}, start_{0};  ///< The engine's thread: records are whole up to head_.
  alignas(64) std::atomic<std::uint64_t> tail_{0};  ///< The reader's: everything before it may be overwritten.
};

}  // namespace canopy::kv_events
