#pragma once

#include <canopy/plugin.h>

#include <memory>

#include "call.h"
#include "folder.h"
#include "head_scan.h"
#include "records.h"

namespace canopy::slots {

/// Keeps records on a local disk, in files of slots of one size. See docs/tiers.md.
///
/// A find uses only memory. Gets and puts transfer bytes directly between slots and the caller's memory. There are no
/// checksums and no syncs: the engine checks every record. This class checks only the key at the beginning of a record,
/// so that a table entry older than its slot means an absent record, not a damaged one.
class SlotStorage final : public StorageTransport<Call> {
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
  SlotStorage(const Config& config, const PageStorage::Context& context);
  /// Waits for pending transfers.
  ~SlotStorage() override;
  SlotStorage(const SlotStorage&) = delete;
  SlotStorage& operator=(const SlotStorage&) = delete;

  StorageTraits traits() const override { return {.exact = true, .durable = true}; }
  StorageUse use() const override;
  /// Ignores `keep_s` of a put: a record stays until its room is needed.
  void begin(Call& call) override;
  void remove(const PageKey& space, std::span<const PageKey> keys) override;
  bool flush(const PageKey& space) override;
  void advance(std::size_t most) override;

 private:
  void begin_get(Call& call);
  void begin_put(Call& call);
  /// Begins as many of the planned transfers as possible; settles a call without transfers.
  void move(Call& call);
  void begin_transfers();
  void take_ended(bool wait);
  /// Ends a call after its last transfer.
  void settle(Call& call);
  void settle_get(Call& call);
  void settle_put(Call& call);
  void go_on_scanning();
  void end_scan();
  /// Wipes all slots without a record. Waits for the calls whose time is not over. Returns false on failure, and if a
  /// transfer is still pending.
  bool wipe();

  Folder folder_;
  SlotFiles files_;
  FlushedSpaces flushed_;
  TableFile table_;
  std::unique_ptr<HeadScan> scan_;
  Records records_;
  std::unique_ptr<Device> device_;
  std::vector<Transfer*> moved_;
};

}  // namespace canopy::slots
