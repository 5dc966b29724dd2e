#pragma once

#include <vector>

#include "flushed_spaces.h"
#include "free_slots.h"
#include "key_table.h"
#include "record_head.h"
#include "runs.h"
#include "table_file.h"

namespace canopy::slots {

/// Which record lies in which slot, which slots are free, and which records are given up for others. Moves no record's
/// bytes. A slot is free, taken (a record is being written into it), kept (it has a record), quarantined (its record is
/// forgotten, and is being read still), or retired (its disk failed). Where slots are scanned, it begins as unknown.
class Records {
 public:
  /// Takes over the table's entries, but not those that were flushed. `unknown`: all slots are; scanned() tells.
  Records(TableFile& table, const FlushedSpaces& flushed, const Shape& shape, bool unknown);

  std::uint64_t count() const { return count_; }
  std::uint64_t retired() const { return retired_; }

  /// kNoSlot: there is none.
  Slot find(const PageKey& key) const { return by_key_.find(key); }
  /// Whether the slot's record was seen to begin with its key when it was put: if it does not, it is another one.
  bool has_head(Slot slot) const { return table_[slot].sum != 0; }
  /// Records of a path are used, in its order, and those before them. A space that was unknown is known now. kNoSlot is
  /// passed over.
  void use(std::span<const Slot> slots, const PageKey& space);

  // Reading: a slot is not written while it is held, even if its record is forgotten.
  void hold(Slot slot) { ++state_[slot].holds; }
  void let_go(Slot slot);

  // Writing.
  /// Takes at most `most` slots, neighbours where possible, into `to`; gives up records for them, but none that was
  /// used since `mark`. All that was given up is out of the table's file then.
  void take(std::size_t most, std::uint64_t mark, std::vector<Slot>& to);
  std::uint64_t mark() const { return runs_.uses(); }
  /// A slot that was taken and has no record.
  void give_back(Slot slot) { release(slot); }
  /// Records of one run, one after the other. `before`: the slot of the record before the first one, or kNoSlot.
  class NewRun;
  NewRun begin_run(Slot before);

  /// The record is not there any more.
  void forget(Slot slot);
  /// The same, and nothing is written into the slot any more. Also for a slot that was taken.
  void retire(Slot slot);
  /// Forgets all records of the space and those whose space is unknown.
  void forget_space(const PageKey& space);
  /// The number of the last run until now.
  std::uint64_t last_run() const { return last_number_; }
  /// Wipes all slots that have no record. REQUIRES: none is taken, held or unknown. False: it could not be done.
  bool wipe(const SlotFiles& files) const;
  /// What a scan found in slots from `first` on.
  void scanned(Slot first, std::span<const RecordHead> heads);

  /// Slots that a scan leaves out.
  void not_scanned(Slot first, Slot count) { free_.add(first, count); }

  /// Writes the table's changes to its file.
  void write() { table_.write(); }

 private:
  struct State {
    std::uint16_t holds = 0;
    bool quarantined = false, retired = false;
  };
  void load(const FlushedSpaces& flushed);
  void release(Slot slot);
  void keep(RunIndex run, Slot slot, const PageKey& key, std::uint64_t space, std::uint32_t position, bool durable);
  std::uint64_t next_number();

  TableFile& table_;
  Shape shape_;
  KeyTable by_key_;
  Runs runs_;
  FreeSlots free_;
  std::vector<State> state_;
  std::uint64_t count_ = 0, retired_ = 0, last_number_;
};

/// A run that begins with its first record.
class Records::NewRun {
 public:
  NewRun(Records& records, Slot before) : records_(&records), before_(before) {}
  /// REQUIRES: the slot was taken, and its key has no slot. `durable`: the record begins with its key.
  void keep(Slot slot, const PageKey& key, const PageKey& space, bool durable);

 private:
  Records* records_;
  Slot before_;
  RunIndex run_ = kNoRun;
  std::uint32_t position_ = 0;
};

}  // namespace canopy::slots
