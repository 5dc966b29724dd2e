// A slot has an entry in the table exactly while `by_key_` finds it and a run has it, and `count_` is the number of
// these slots. take() writes the table's file before it gives out a slot, so that no entry of the file is left for a
// slot that a put overwrites.

#include "records.h"

#include <algorithm>
#include <ctime>
#include <new>

namespace canopy::slots {

Records::Records(TableFile& table, const FlushedSpaces& flushed, const Shape& shape, bool unknown)
    : table_(table),
      shape_(shape),
      by_key_(table, shape.slots),
      runs_(shape.slots),
      state_(shape.slots),
      last_number_(flushed.newest()) {
  if (!unknown) load(flushed);
}

void Records::load(const FlushedSpaces& flushed) {
  std::vector<Slot> slots;
  for (Slot slot = 0; slot < shape_.slots; ++slot)
    if (table_[slot].run > 0) {
      if (!flushed.covers(table_[slot].space, table_[slot].run)) slots.push_back(slot);
      else table_.clear(slot);
    }
  std::sort(slots.begin(), slots.end(), [&](Slot one, Slot other) {
    const Entry &a = table_[one], &b = table_[other];
    return std::pair(a.run, a.position) < std::pair(b.run, b.position);
  });
  // A crash of the machine may leave two slots with one key. Then the younger one has it.
  for (std::size_t i = slots.size(); i-- > 0;)
    if (by_key_.find(table_[slots[i]].key) == kNoSlot) {
      by_key_.add(slots[i]);
    } else {
      table_.clear(slots[i]);
      slots[i] = kNoSlot;
    }
  std::erase(slots, kNoSlot);
  count_ = slots.size();
  if (!slots.empty()) last_number_ = std::max(last_number_, table_[slots.back()].run);
  runs_.restore(slots, [&](Slot slot) { return std::pair(table_[slot].run, table_[slot].parent); });

  std::sort(slots.begin(), slots.end());
  Slot first = 0;
  slots.push_back(shape_.slots);
  for (const Slot slot : slots) {
    if (slot > first) free_.add(first, slot - first);
    first = slot + 1;
  }
  table_.write();
}

std::uint64_t Records::next_number() {
  const auto now = static_cast<std::uint64_t>(std::max<std::time_t>(std::time(nullptr), 0)) << kRunCountBits;
  return last_number_ = std::max(last_number_ + 1, now);
}

void Records::use(std::span<const Slot> slots, const PageKey& space) {
  RunIndex used = kNoRun;
  for (std::size_t i = slots.size(); i-- > 0;) {  // so that the first one is the most recent
    const Slot slot = slots[i];
    if (slot == kNoSlot) continue;
    if (runs_.of(slot) != used) runs_.use(used = runs_.of(slot));
    if (table_[slot].space != 0) continue;
    Entry entry = table_[slot];
    entry.space = space.bits[0];
    table_.set(slot, entry, has_head(slot));
  }
}

void Records::let_go(Slot slot) {
  State& state = state_[slot];
  if (--state.holds > 0 || !state.quarantined) return;
  state.quarantined = false;
  release(slot);
}

void Records::release(Slot slot) {
  if (state_[slot].holds > 0) state_[slot].quarantined = true;
  else if (!state_[slot].retired) set_free(slot, 1);
}

/// Adds slots without a record to the free ones. Without memory they are retired: they stay empty until the next start.
void Records::set_free(Slot first, Slot count) noexcept try { free_.add(first, count); } catch (const std::bad_alloc&) {
  for (Slot slot = first; slot < first + count; ++slot) state_[slot].retired = true;
  retired_ += count;
  ++lacked_;
}

void Records::take(std::size_t most, std::uint64_t mark, std::vector<Slot>& to) {
  to.reserve(to.size() + most);
  while (free_.size() < most) {
    const Slot victim = runs_.victim();
    if (victim == kNoSlot || runs_[runs_.of(victim)].used > mark) break;
    const std::size_t had = free_.size();
    forget(victim);
    if (free_.size() == had && state_[victim].retired) break;  // no memory: others would be lost like it
  }
  // The entries are removed before the slots are written: a process that is killed in between leaves no entry for torn
  // bytes.
  table_.write();
  while (most > 0 && free_.size() > 0) {
    const auto [first, count] = free_.take(static_cast<Slot>(most));
    for (Slot slot = first; slot < first + count; ++slot) to.push_back(slot);
    most -= count;
  }
}

Records::NewRun Records::begin_run(Slot before) { return {*this, before}; }

void Records::NewRun::keep(Slot slot, const PageKey& key, const PageKey& space, bool durable) {
  if (run_ == kNoRun)
    run_ = records_->runs_.begin(records_->next_number(), before_ == kNoSlot ? kNoRun : records_->runs_.of(before_));
  records_->keep(run_, slot, key, space.bits[0], position_++, durable);
}

void Records::keep(RunIndex run, Slot slot, const PageKey& key, std::uint64_t space, std::uint32_t position,
                   bool durable) {
  table_.set(slot, {key, space, runs_[run].number, runs_[run].parent_number, position, 0}, durable);
  by_key_.add(slot);
  runs_.append(run, slot);
  ++count_;
}

void Records::forget(Slot slot) {
  by_key_.remove(table_[slot].key);
  runs_.remove(slot);
  table_.clear(slot);
  --count_;
  release(slot);
}

void Records::retire(Slot slot) {
  if (!state_[slot].retired) ++retired_;
  state_[slot].retired = true;
  if (table_[slot].run > 0) forget(slot);
}

void Records::forget_space(const PageKey& space) {
  for (Slot slot = 0; slot < shape_.slots; ++slot)
    if (table_[slot].run > 0 && (table_[slot].space == space.bits[0] || table_[slot].space == 0)) forget(slot);
}

bool Records::wipe(const SlotFiles& files) const {
  constexpr std::size_t kMostRuns = std::size_t{1} << 16;  // a second or two of a file system's time
  if (free_.runs() > kMostRuns) return false;
  for (Slot slot = 0; retired_ > 0 && slot < shape_.slots; ++slot)
    if (state_[slot].retired && !files.wipe(slot, 1)) return false;
  return free_.all([&](Slot first, Slot count) { return files.wipe(first, count); });
}

void Records::scanned(Slot first, std::span<const RecordHead> heads) {
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const Slot slot = first + static_cast<Slot>(i);
    const RecordHead& head = heads[i];
    if (!head.is_record() || find(head.key) != kNoSlot) {
      set_free(slot, 1);
      continue;
    }
    // A record in the slot after that of its predecessor was probably put together with it.
    const Slot parent = find(head.parent);
    if (parent != kNoSlot && parent + 1 == slot) {
      keep(runs_.of(parent), slot, head.key, 0, table_[parent].position + 1, true);
    } else try {
        const RunIndex run = runs_.begin(next_number(), parent == kNoSlot ? kNoRun : runs_.of(parent));
        keep(run, slot, head.key, 0, 0, true);
        runs_.use(run);
      } catch (const std::bad_alloc&) {
        ++lacked_;
        set_free(slot, 1);  // the record is lost
      }
  }
  table_.write();
}

}  // namespace canopy::slots
