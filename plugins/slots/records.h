#pragma once

#include <vector>

#include "flushed_spaces.h"
#include "free_slots.h"
#include "key_table.h"
#include "record_head.h"
#include "runs.h"
#include "table_file.h"

namespace canopy::slots {

/// Maps records to slots, keeps the free slots, and chooses records to evict. Transfers no data. A slot is free, taken
/// (a record is being written), kept (it has a record), quarantined (its record is forgotten but still being read), or
/// retired (its disk failed, or there was no memory to free it). If slots are scanned, they are unknown at first.
class Records {
 public:
  /// Takes over the table's entries, except flushed ones. `unknown`: all slots are unknown until scanned() is called.
  Records(TableFile& table, const FlushedSpaces& flushed, const Shape& shape, bool unknown);

  std::uint64_t count() const { return count_; }
  std::uint64_t retired() const { return retired_; }
  /// Returns how often there was no memory, so that records were lost or slots retired.
  std::uint64_t lacked() const { return lacked_; }

  /// Returns the slot of the key, or kNoSlot.
  Slot find(const PageKey& key) const { return by_key_.find(key); }
  /// Returns true if the record was seen to begin with its key when it was put. If it no longer does, it is another
  /// record.
  bool has_head(Slot slot) const { return table_[slot].sum != 0; }
  /// Marks records of a path, in its order, and those before them as used. Sets a space that was unknown. Ignores
  /// kNoSlot.
  void use(std::span<const Slot> slots, const PageKey& space);

  // Reading: a held slot is not written, even if its record is forgotten.
  void hold(Slot slot) { ++state_[slot].holds; }
  void let_go(Slot slot);

  // Writing.
  /// Appends at most `most` slots to `to`, adjacent where possible. Evicts records for them, except those used since
  /// `mark`. Evicted records are removed from the table's file before it returns.
  void take(std::size_t most, std::uint64_t mark, std::vector<Slot>& to);
  std::uint64_t mark() const { return runs_.uses(); }
  /// Frees a taken slot that has no record.
  void give_back(Slot slot) { release(slot); }
  /// Begins a run of consecutive records. `before`: the slot of the record before the first one, or kNoSlot.
  class NewRun;
  NewRun begin_run(Slot before);

  /// Removes a lost record. Takes no memory: a slot that cannot be added to the free ones counts as retired.
  void forget(Slot slot);
  /// Removes a record, or a taken slot, and never writes into the slot again.
  void retire(Slot slot);
  /// Forgets all records of the space and those whose space is unknown.
  void forget_space(const PageKey& space);
  /// Returns the number of the latest run.
  std::uint64_t last_run() const { return last_number_; }
  /// Wipes all slots that have no record. REQUIRES: no slot is taken, held or unknown. Returns false on failure.
  bool wipe(const SlotFiles& files) const;
  /// Adds the scanned heads of slots from `first` on.
  void scanned(Slot first, std::span<const RecordHead> heads);

  /// Marks as free the slots that the scan skips.
  void not_scanned(Slot first, Slot count) noexcept { set_free(first, count); }

  /// Writes the table's changes to its file.
  void write() { table_.write(); }

 private:
  struct State {
    std::uint16_t holds = 0;
    bool quarantined = false, retired = false;
  };
  void load(const FlushedSpaces& flushed);
  void release(Slot slot);
  void set_free(Slot first, Slot count) noexcept;
  void keep(RunIndex run, Slot slot, const PageKey& key, std::uint64_t space, std::uint32_t position, bool durable);
  std::uint64_t next_number();

  TableFile& table_;
  Shape shape_;
  KeyTable by_key_;
  Runs runs_;
  FreeSlots free_;
  std::vector<State> state_;
  std::uint64_t count_ = 0, retired_ = 0, lacked_ = 0, last_number_;
};

/// A run that begins when its first record is kept.
class Records::NewRun {
 public:
  NewRun(Records& records, Slot before) : records_(&records), before_(before) {}
  /// Adds a record. REQUIRES: the slot was taken, and its key has no slot. `durable`: the record begins with its key.
  void keep(Slot slot, const PageKey& key, const PageKey& space, bool durable);

 private:
  Records* records_;
  Slot before_;
  RunIndex run_ = kNoRun;
  std::uint32_t position_ = 0;
};

}  // namespace canopy::slots
