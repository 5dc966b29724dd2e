// Each call is in exactly one of the four lists of calls, and each list has room for all of them. A slot that a put
// writes is neither free nor has a record. A slot that a get reads is held, so no put writes it meanwhile.

#include "slot_storage.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
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
  options.choice("engine", engine, kEngines, "how bytes are transferred; without io_uring, threads are used");
  options.flag("direct", direct, "bypass the system's page cache (O_DIRECT)");
  options.number("depth", depth, 1, 1024, "most reads and writes, of up to 1 MiB each, that are pending at a time");
  options.number("threads", threads, 1, 64, "number of threads, if threads transfer the bytes");
}

SlotStorage::SlotStorage(const Config& config, const Context& context)
    : folder_(checked_path(config, context), context),
      files_(folder_.path(), shape_of(config, context), config.direct),
      flushed_(folder_.file("flushed")),
      table_(folder_.file("table"), files_.shape(), context),
      event_([] { return UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); }),
      scan_(must_scan(table_, files_, flushed_, folder_) ? std::make_unique<HeadScan>(files_) : nullptr),
      records_(table_, flushed_, files_.shape(), scan_ != nullptr) {
  if (!event_) fail(folder_.path(), "an eventfd cannot be created", errno);
  flushed_.compact();
  if (!scan_) table_.complete();
  device_ = make_device(config, event_.get());
  moved_.reserve(config.depth);
}

SlotStorage::~SlotStorage() {
  for (const CallId id : moving_) calls_[id].stop();
  const auto moves = [&](CallId id) { return !calls_[id].has_moved(); };
  bool no_memory = false;  // for the records of puts that have ended: they are lost
  while (no_memory ? std::any_of(moving_.begin(), moving_.end(), moves) : !moving_.empty()) try {
      take_ended(true);
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
  records_.write();
}

SlotStorage::CallId SlotStorage::begin(Call::Kind kind, std::uint64_t ticket, const PageKey& space,
                                       std::span<const PageKey> keys, std::uint64_t within_us) {
  if (unused_.empty()) {
    // Each call is in one of the lists at a time, so none of them grows later.
    for (auto* const list : {&unused_, &moving_, &told_, &ended_})
      if (list->capacity() <= calls_.size()) list->reserve(2 * calls_.size() + 8);
    calls_.emplace_back();
    unused_.push_back(static_cast<CallId>(calls_.size() - 1));
  }
  const CallId id = unused_.back();
  calls_[id].reset(kind, ticket, space, keys, within_us);
  return id;
}

void SlotStorage::find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                       std::uint64_t within_us) {
  const CallId id = begin(Call::Kind::find, ticket, space, keys, within_us);
  const auto absent =
      std::find_if(keys.begin(), keys.end(), [&](const PageKey& key) { return records_.find(key) == kNoSlot; });
  calls_[id].found = static_cast<std::uint32_t>(absent - keys.begin());
  unused_.pop_back();
  end(id);
}

void SlotStorage::find_each(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                            std::uint64_t within_us) {
  const CallId id = begin(Call::Kind::find_each, ticket, space, keys, within_us);
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (records_.find(keys[i]) == kNoSlot) calls_[id].fates[i] = Fate::absent;
  unused_.pop_back();
  end(id);
}

void SlotStorage::get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                      std::span<std::byte* const> records, std::uint64_t within_us) {
  const CallId id = begin(Call::Kind::get, ticket, space, keys, within_us);
  Call& call = calls_[id];
  call.memory.assign(records.begin(), records.end());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Slot slot = call.slots[i] = records_.find(keys[i]);
    if (slot == kNoSlot) call.fates[i] = Fate::absent;
    else call.has_head[i] = records_.has_head(slot);
  }
  call.plan(files_, id, false);
  for (const Slot slot : call.slots)
    if (slot != kNoSlot) records_.hold(slot);
  records_.use(call.slots, space);
  move(id);
}

void SlotStorage::put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                      std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t) {
  const CallId id = begin(Call::Kind::put, ticket, space, keys, within_us);
  Call& call = calls_[id];
  call.memory.clear();
  for (const std::byte* const record : records) call.memory.push_back(const_cast<std::byte*>(record));  // only read

  // Existing records are not evicted to make room for the others.
  const std::uint64_t mark = records_.mark();
  std::vector<Slot>& slots = call.slots;
  for (std::size_t i = 0; i < keys.size(); ++i) slots[i] = records_.find(keys[i]);
  records_.use(slots, space);
  std::vector<Slot> taken;
  records_.take(static_cast<std::size_t>(std::count(slots.begin(), slots.end(), kNoSlot)), mark, taken);
  std::size_t next = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (slots[i] != kNoSlot) {
      slots[i] = kNoSlot;  // nothing is transferred
    } else if (next < taken.size()) {
      slots[i] = taken[next++];
    } else {
      std::fill(call.fates.begin() + static_cast<std::ptrdiff_t>(i), call.fates.end(), Fate::full);
      break;
    }
  }
  std::fill(slots.begin() + (std::find(call.fates.begin(), call.fates.end(), Fate::full) - call.fates.begin()),
            slots.end(), kNoSlot);
  try {
    call.plan(files_, id, false);
  } catch (...) {
    for (const Slot slot : taken) records_.give_back(slot);
    throw;
  }
  move(id);
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
  for (const CallId id : moving_)
    if (calls_[id].space == space) calls_[id].flushed = true;
  for (const CallId id : ended_) {  // not yet reported by poll()
    Call& call = calls_[id];
    if (!(call.space == space) || call.kind == Call::Kind::put) continue;
    call.found = 0;
    std::replace(call.fates.begin(), call.fates.end(), Fate::done, Fate::absent);
  }
  try {
    if (lasts && wipe()) flushed_.wiped();
  } catch (const std::bad_alloc&) {  // of another call's end, which the next poll() settles
  }
  return lasts;
}

// A slot that is being written is neither free nor has a record.
bool SlotStorage::wipe() {
  Clock::time_point until{};
  for (const CallId id : moving_) until = std::max(until, calls_[id].until);
  for (take_ended(false); !moving_.empty(); take_ended(false)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) break;
    pollfd one{event_.get(), POLLIN, 0};
    ::poll(&one, 1, static_cast<int>(std::min<long>(left, 1'000)));
    eventfd_t count = 0;
    ::eventfd_read(event_.get(), &count);
  }
  if (!ended_.empty()) ::eventfd_write(event_.get(), 1);  // the next poll() reports them
  return moving_.empty() && records_.wipe(files_) && files_.sync();
}

std::size_t SlotStorage::poll(std::span<StorageDone> done) {
  for (const CallId id : told_) unused_.push_back(id);
  told_.clear();
  if (scan_) go_on_scanning();
  // Also if nothing is pending: the last transfer may have been signalled after it was collected.
  eventfd_t count = 0;
  ::eventfd_read(event_.get(), &count);
  if (moving_.empty() && ended_.empty()) return 0;
  const auto now = Clock::now();
  for (const CallId id : moving_)
    if (now >= calls_[id].until) calls_[id].stop();
  take_ended(false);
  const std::size_t told = std::min(done.size(), ended_.size());
  for (std::size_t i = 0; i < told; ++i) {
    const Call& call = calls_[ended_[i]];
    done[i] = {call.ticket, call.fate(), call.found, call.fates};
    told_.push_back(ended_[i]);
  }
  ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(told));
  if (!ended_.empty()) ::eventfd_write(event_.get(), 1);
  return told;
}

StorageUse SlotStorage::use() const {
  const std::uint64_t bytes = files_.shape().record_bytes;
  return {(files_.shape().slots - records_.retired()) * bytes, records_.count() * bytes, records_.count(),
          records_.lacked()};
}

void SlotStorage::move(CallId id) {
  unused_.pop_back();
  moving_.push_back(id);
  if (calls_[id].has_moved()) settle(id);
  else begin_transfers();
}

void SlotStorage::begin_transfers() {
  for (const auto kind : {Call::Kind::get, Call::Kind::put})  // a request may wait for a get
    for (const CallId id : moving_) {
      Call& call = calls_[id];
      if (call.kind != kind) continue;
      while (call.begun < call.transfers.size() && device_->begin(call.transfers[call.begun])) ++call.begun;
    }
  device_->submit();
}

void SlotStorage::take_ended(bool wait) {
  moved_.clear();
  device_->collect(moved_, wait);
  for (Transfer* const transfer : moved_) {
    const Slot bad = calls_[transfer->call].account(*transfer);
    if (bad != kNoSlot) records_.retire(bad);
  }
  // Begins with the last one, because a settled call leaves the list.
  for (std::size_t i = moving_.size(); i-- > 0;)
    if (calls_[moving_[i]].has_moved()) settle(moving_[i]);
  begin_transfers();
  records_.write();
}

void SlotStorage::settle(CallId id) {
  Call& call = calls_[id];
  if (call.is_unsure()) {
    call.plan(files_, id, true);
    if (!call.has_moved()) return begin_transfers();
  }
  if (call.kind == Call::Kind::get) settle_get(call);
  else settle_put(call);
  std::erase(moving_, id);
  end(id);
}

void SlotStorage::settle_get(Call& call) {
  for (std::size_t i = 0; i < call.keys.size(); ++i) {
    const Slot slot = std::exchange(call.slots[i], kNoSlot);
    if (slot == kNoSlot) continue;
    records_.let_go(slot);
    Fate& fate = call.fates[i];
    if (fate == Fate::done && call.has_head[i] && !names(call.memory[i], call.keys[i])) fate = Fate::absent;
    // The slot does not have the record, or no longer has it.
    if (fate == Fate::absent && records_.find(call.keys[i]) == slot) records_.forget(slot);
    if (call.flushed && fate == Fate::done) fate = Fate::absent;
  }
}

void SlotStorage::settle_put(Call& call) {
  const auto kept = std::find_if(call.fates.begin(), call.fates.end(), [](Fate fate) { return fate != Fate::done; });
  std::fill(kept, call.fates.end(), call.fate());  // a path has no holes
  const auto count = static_cast<std::size_t>(kept - call.fates.begin());
  Slot before = call.keys.empty() || call.slots[0] == kNoSlot ? kNoSlot : records_.find(head_of(call.memory[0]).parent);
  auto run = records_.begin_run(before);
  for (std::size_t i = 0; i < call.keys.size(); ++i) {
    const Slot slot = call.slots[i], there = records_.find(call.keys[i]);
    if (slot == kNoSlot || i >= count || call.flushed || there != kNoSlot) {
      if (slot != kNoSlot) records_.give_back(std::exchange(call.slots[i], kNoSlot));
      if (there != kNoSlot) run = records_.begin_run(there);
      continue;
    }
    run.keep(slot, call.keys[i], call.space, names(call.memory[i], call.keys[i]));
    call.slots[i] = kNoSlot;
  }
}

void SlotStorage::end(CallId id) {
  ended_.push_back(id);
  ::eventfd_write(event_.get(), 1);
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
