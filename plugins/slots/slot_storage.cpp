// A slot that a put writes is neither free nor has a record. A slot that a get reads is held, so no put writes it
// meanwhile. A call of which all transfers have ended is settled at once, or by the next poll() if there was no memory.

#include "slot_storage.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <utility>

namespace canopy::slots {

namespace {

/// Returns the folder of the configuration. Throws if the configuration cannot be used.
const std::string& checked_path(const SlotStorage::Config& config, const PageStorage::Context& context) {
  if (config.path.empty()) throw std::runtime_error("slots needs `path`, the folder for the records");
  if (config.capacity < context.record_bytes)
    throw std::runtime_error("slots needs `capacity`, at least a record of " + std::to_string(context.record_bytes) +
                             " bytes; it is " + std::to_string(config.capacity));
  return config.path;
}

Shape shape_of(const SlotStorage::Config& config, const PageStorage::Context& context) {
  constexpr std::uint64_t kMostSlots = std::uint64_t{1} << 31;
  return {context.record_bytes, static_cast<Slot>(std::min(config.capacity / context.record_bytes, kMostSlots))};
}

/// Returns true if the slots must be scanned because no table can be used. Prints what happens then.
bool must_scan(const TableFile& table, const SlotFiles& files, const FlushedSpaces& flushed, const Folder& folder) {
  if (table.trouble().empty() || !files.had_bytes()) return false;
  const char* const what = flushed.may_be_left() ? "its records are forgotten, because some were flushed"
                                                 : "its slots are scanned for records";
  std::fprintf(stderr, "canopy: slots: %s has no usable table (%s); %s\n", folder.path().c_str(),
               table.trouble().c_str(), what);
  return !flushed.may_be_left();
}

std::unique_ptr<Device> make_device(const SlotStorage::Config& config, int event) {
  if (config.engine == SlotStorage::Engine::io_uring) {
    std::string why_not;
    if (auto device = uring_device(event, config.depth, why_not)) return device;
    std::fprintf(stderr, "canopy: slots: no io_uring (%s); %u threads transfer the records\n", why_not.c_str(),
                 config.threads);
  }
  return thread_device(event, config.depth, config.threads);
}

}  // namespace

void SlotStorage::Config::visit(Options& options) {
  static constexpr const char* kEngines[] = {"io_uring", "threads"};
  options.text("path", path, 4000, "folder on a local disk; each model and rank gets its own folder in it");
  options.number("capacity", capacity, 0, std::uint64_t{1} << 60,
                 "size of the records to keep for each group of a model and rank; allocated on the disk at once",
                 Unit::bytes);
  options.choice("engine", engine, kEngines, "transfer of bytes; without io_uring, threads are used");
  options.flag("direct", direct, "bypass the system's page cache (O_DIRECT)");
  options.number("depth", depth, 1, 1024, "most reads and writes, of up to 1 MiB each, that are pending at a time");
  options.number("threads", threads, 1, 64, "number of threads, if threads transfer the bytes");
}

SlotStorage::SlotStorage(const Config& config, const PageStorage::Context& context)
    : folder_(checked_path(config, context), context),
      files_(folder_.path(), shape_of(config, context), config.direct),
      flushed_(folder_.file("flushed")),
      table_(folder_.file("table"), files_.shape(), context),
      scan_(must_scan(table_, files_, flushed_, folder_) ? std::make_unique<HeadScan>(files_) : nullptr),
      records_(table_, flushed_, files_.shape(), scan_ != nullptr) {
  if (!calls_.open_descriptor()) fail(folder_.path(), "an eventfd cannot be created", errno);
  flushed_.compact();
  if (!scan_) table_.complete();
  device_ = make_device(config, calls_.descriptor());
  moved_.reserve(config.depth);
}

SlotStorage::~SlotStorage() {
  for (Call* const call : calls_.pending()) call->stop();
  bool no_memory = false;  // for the records of puts that have ended: they are lost
  const auto waits = [&](const Call* call) { return !no_memory || !call->has_moved(); };
  while (std::ranges::any_of(calls_.pending(), waits)) try {
      take_ended(true);
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
  records_.write();
}

void SlotStorage::begin(Call& call) {
  call.reset();
  if (call.kind == Call::Kind::get) return begin_get(call);
  if (call.kind == Call::Kind::put) return begin_put(call);
  for (std::size_t i = 0; i < call.keys.size(); ++i) {
    if (records_.find(call.keys[i]) != kNoSlot) continue;
    call.fates[i] = Fate::absent;
    if (call.kind == Call::Kind::find) break;
  }
  calls_.end(call);
}

void SlotStorage::begin_get(Call& call) {
  for (std::size_t i = 0; i < call.keys.size(); ++i) {
    const Slot slot = call.slots[i] = records_.find(call.keys[i]);
    if (slot == kNoSlot) call.fates[i] = Fate::absent;
    else call.has_head[i] = records_.has_head(slot);
  }
  call.plan(files_, false);
  for (const Slot slot : call.slots)
    if (slot != kNoSlot) records_.hold(slot);
  records_.use(call.slots, call.space);
  move(call);
}

void SlotStorage::begin_put(Call& call) {
  // Existing records are not evicted to make room for the others.
  const std::uint64_t mark = records_.mark();
  std::vector<Slot>& slots = call.slots;
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = records_.find(call.keys[i]);
  records_.use(slots, call.space);
  std::vector<Slot> taken;
  records_.take(static_cast<std::size_t>(std::ranges::count(slots, kNoSlot)), mark, taken);
  std::size_t next = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] != kNoSlot) slots[i] = kNoSlot;  // nothing is transferred
    else if (next < taken.size()) slots[i] = taken[next++];
    else call.fates[i] = Fate::full;
  }
  std::fill(slots.begin() + static_cast<std::ptrdiff_t>(call.cut()), slots.end(), kNoSlot);
  try {
    call.plan(files_, false);
  } catch (...) {
    for (const Slot slot : taken) records_.give_back(slot);
    throw;
  }
  move(call);
}

void SlotStorage::remove(const PageKey&, std::span<const PageKey> keys) {
  for (const PageKey& key : keys)
    if (const Slot slot = records_.find(key); slot != kNoSlot) records_.forget(slot);
  records_.write();
}

bool SlotStorage::flush(const PageKey& space) {
  // Records that the scan has not reached yet may belong to this space.
  if (scan_) end_scan();
  // The line is written first: if the process is killed after it, the records are gone, with the table or without it;
  // if it is killed before it, all are still there.
  bool lasts = false;
  try {
    lasts = flushed_.add(space.bits[0], records_.last_run());
  } catch (const std::bad_alloc&) {  // this process forgets them all the same
  }
  records_.forget_space(space);
  records_.write();
  try {
    if (lasts && wipe()) flushed_.wiped();
  } catch (const std::bad_alloc&) {  // in the end of another call, which the next poll() settles
  }
  return lasts;
}

// A slot that is being written is neither free nor has a record.
bool SlotStorage::wipe() {
  std::uint64_t until_us = 0;
  for (const Call* const call : calls_.pending()) until_us = std::max(until_us, call->until_us);
  const auto moves = [&] { return !calls_.pending().empty(); };
  for (take_ended(false); moves(); take_ended(false)) {
    const std::uint64_t left_ms = (until_us - std::min(until_us, monotonic_us())) / 1'000;
    if (left_ms == 0) break;
    pollfd one{calls_.descriptor(), POLLIN, 0};
    ::poll(&one, 1, static_cast<int>(std::min<std::uint64_t>(left_ms, 1'000)));
    calls_.clear_descriptor();
  }
  return !moves() && records_.wipe(files_) && files_.sync();
}

void SlotStorage::advance(std::size_t) {
  if (scan_) go_on_scanning();
  // Also if nothing is pending: the last transfer may have been signalled after it was collected.
  calls_.clear_descriptor();
  const std::uint64_t now_us = monotonic_us();
  for (Call* const call : calls_.pending())
    if (now_us >= call->until_us) call->stop();
  take_ended(false);
}

StorageUse SlotStorage::use() const {
  const std::uint64_t bytes = files_.shape().record_bytes;
  return {(files_.shape().slots - records_.retired()) * bytes, records_.count() * bytes, records_.count(),
          records_.lacked()};
}

void SlotStorage::move(Call& call) {
  if (call.has_moved()) settle(call);
  else begin_transfers();
}

void SlotStorage::begin_transfers() {
  for (const auto kind : {Call::Kind::get, Call::Kind::put})  // a request may wait for a get
    for (Call* const call : calls_.pending()) {
      if (call->kind != kind) continue;
      while (call->begun < call->transfers.size() && device_->begin(call->transfers[call->begun])) ++call->begun;
    }
  device_->submit();
}

void SlotStorage::take_ended(bool wait) {
  moved_.clear();
  device_->collect(moved_, wait);
  for (Transfer* const transfer : moved_)
    if (const Slot bad = transfer->call->account(*transfer); bad != kNoSlot) records_.retire(bad);
  for (Call* const call : calls_.pending())
    if (call->has_moved()) settle(*call);
  begin_transfers();
  records_.write();
}

void SlotStorage::settle(Call& call) {
  if (call.is_unsure()) {
    call.plan(files_, true);
    if (!call.has_moved()) return begin_transfers();
  }
  if (call.kind == Call::Kind::get) settle_get(call);
  else settle_put(call);
  calls_.end(call);
}

void SlotStorage::settle_get(Call& call) {
  for (std::size_t i = 0; i < call.keys.size(); ++i) {
    const Slot slot = std::exchange(call.slots[i], kNoSlot);
    if (slot == kNoSlot) continue;
    records_.let_go(slot);
    Fate& fate = call.fates[i];
    if (fate == Fate::done && call.has_head[i] && !names(call.records[i], call.keys[i])) fate = Fate::absent;
    // The slot does not have the record, or no longer has it.
    if (fate == Fate::absent && records_.find(call.keys[i]) == slot) records_.forget(slot);
  }
}

void SlotStorage::settle_put(Call& call) {
  const std::size_t count = call.cut();  // a path has no holes
  Slot before =
      call.keys.empty() || call.slots[0] == kNoSlot ? kNoSlot : records_.find(head_of(call.records[0]).parent);
  auto run = records_.begin_run(before);
  for (std::size_t i = 0; i < call.keys.size(); ++i) {
    const Slot slot = call.slots[i], there = records_.find(call.keys[i]);
    if (slot == kNoSlot || i >= count || call.flushed || there != kNoSlot) {
      if (slot != kNoSlot) records_.give_back(std::exchange(call.slots[i], kNoSlot));
      if (there != kNoSlot) run = records_.begin_run(there);
      continue;
    }
    run.keep(slot, call.keys[i], call.space, names(call.records[i], call.keys[i]));
    call.slots[i] = kNoSlot;
  }
}

void SlotStorage::go_on_scanning() {
  for (const HeadScan::Part& part : scan_->take()) records_.scanned(part.first, part.heads);
  if (scan_->has_ended()) end_scan();
}

void SlotStorage::end_scan() {
  const Slot first = scan_->given();
  scan_.reset();
  if (first < files_.shape().slots) records_.not_scanned(first, files_.shape().slots - first);
  table_.complete();
}

}  // namespace canopy::slots
