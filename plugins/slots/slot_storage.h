#pragma once

#include <canopy/plugin.h>

#include <deque>

#include "call.h"
#include "folder.h"
#include "head_scan.h"
#include "records.h"

namespace canopy::slots {

/// Keeps records on a disk of this machine, in files of slots of one size. See docs/storage_slots.md.
///
/// A find is answered from memory; gets and puts move bytes between slots and the memory of the call, with no copy.
/// There are no checksums and no syncs: the engine checks every record. What this class checks is the key that a record
/// begins with, so that an entry of a table older than its slot is an absent record and not a damaged one.
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

  /// Throws std::runtime_error with a sentence: there is no such folder, a process has it, the disk is full, ...
  SlotStorage(const Config& config, const Context& context);
  /// Waits for what is on its way to the disk and from it.
  ~SlotStorage() override;
  SlotStorage(const SlotStorage&) = delete;
  SlotStorage& operator=(const SlotStorage&) = delete;

  StorageTraits traits() const override { return {.exact = true, .durable = true}; }
  void find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
            std::uint64_t within_us) override;
  void get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<std::byte* const> records, std::uint64_t within_us) override;
  /// `keep_s` changes nothing: a record stays until there is no room for it.
  void put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s) override;
  void remove(const PageKey& space, std::span<const PageKey> keys) override;
  bool flush(const PageKey& space) override;
  std::size_t poll(std::span<StorageDone> done) override;
  int descriptor() const override { return event_.get(); }
  StorageUse use() const override;

 private:
  using CallId = std::uint32_t;

  CallId begin(Call::Kind kind, std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
               std::uint64_t within_us);
  /// Plans the call's transfers and begins what can begin; a call without any ends.
  void move(CallId id, bool unsure_only);
  void begin_transfers();
  void take_ended(bool wait);
  /// After the last transfer of a call.
  void settle(CallId id);
  void settle_get(Call& call);
  void settle_put(Call& call);
  void end(CallId id);
  void go_on_scanning();
  void end_scan();
  /// No slot without a record has one's bytes any more. Waits for all calls. False: that could not be done.
  bool wipe();

  Folder folder_;
  SlotFiles files_;
  FlushedSpaces flushed_;
  TableFile table_;
  UniqueFd event_;  ///< readable while poll() may have something to tell
  std::unique_ptr<HeadScan> scan_;
  Records records_;
  std::unique_ptr<Device> device_;

  std::deque<Call> calls_;
  std::vector<CallId> unused_, moving_, told_;
  std::deque<CallId> ended_;  ///< to be told by poll()
  std::vector<Transfer*> moved_;
};

}  // namespace canopy::slots
