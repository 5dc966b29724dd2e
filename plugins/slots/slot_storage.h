#pragma once

#include <canopy/plugin.h>

#include <deque>

#include "call.h"
#include "folder.h"
#include "head_scan.h"
#include "records.h"

namespace canopy::slots {

/// Keeps records on a local disk, in files of slots of one size. See docs/tiers.md.
///
/// A find uses only memory. Gets and puts transfer bytes directly between slots and the caller's memory. There are no
/// checksums and no syncs: the engine checks every record. This class checks only the key at the beginning of a record,
/// so that a table entry older than its slot means an absent record, not a damaged one. For one process: the plugin
/// offers it as a StorageOfOneProcess.
class SlotStorage final : public PageStorage {
 public:
  enum class Engine : std::uint32_t { io_uring, threads };
  struct Config {
    std::string path;
    std::uint64_t capacity = 0;
    Engine engine = Engine::io_uring;
    bool direct = true;
    std::uint32_t depth = 32, threads = 4;
    void visit(Options& options);
  };

  /// Throws std::runtime_error if the folder does not exist, another process uses it, the disk is full, etc.
  SlotStorage(const Config& config, const Context& context);
  /// Waits for pending transfers.
  ~SlotStorage() override;
  SlotStorage(const SlotStorage&) = delete;
  SlotStorage& operator=(const SlotStorage&) = delete;

  StorageTraits traits() const override { return {.exact = true, .durable = true}; }
  void find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
            std::uint64_t within_us) override;
  void find_each(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                 std::uint64_t within_us) override;
  void get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<std::byte* const> records, std::uint64_t within_us) override;
  /// Ignores `keep_s`: a record stays until its room is needed.
  void put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s) override;
  void remove(const PageKey& space, std::span<const PageKey> keys) override;
  bool flush(const PageKey& space) override;
  std::size_t poll(std::span<StorageDone> done) override;
  int descriptor() const override { return event_.get(); }
  StorageUse use() const override;

 private:
  using CallId = std::uint32_t;

  /// Prepares a call, which stays among the unused ones until it is under way: an exception loses none.
  CallId begin(Call::Kind kind, std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
               std::uint64_t within_us);
  /// Begins as many of the call's planned transfers as possible; ends a call without transfers.
  void move(CallId id);
  void begin_transfers();
  void take_ended(bool wait);
  /// Processes a call after its last transfer.
  void settle(CallId id);
  void settle_get(Call& call);
  void settle_put(Call& call);
  void end(CallId id);
  void go_on_scanning();
  void end_scan();
  /// Wipes all slots without a record. Waits for the calls whose time is not over. Returns false on failure, and if a
  /// transfer is still pending.
  bool wipe();

  Folder folder_;
  SlotFiles files_;
  FlushedSpaces flushed_;
  TableFile table_;
  OwnFd event_;  ///< readable while poll() may have a result
  std::unique_ptr<HeadScan> scan_;
  Records records_;
  std::unique_ptr<Device> device_;

  std::deque<Call> calls_;
  std::vector<CallId> unused_, moving_, told_;
  std::vector<CallId> ended_;  ///< calls that poll() has yet to report
  std::vector<Transfer*> moved_;
};

}  // namespace canopy::slots
