#include <canopy/base/random.h>
#include <canopy/helpers/async_calls.h>
#include <canopy/plugin.h>

#include <algorithm>
#include <new>
#include <utility>

#include "kept_records.h"

namespace {

using namespace canopy;

/// A call, and the number of polls that it still waits.
struct SimCall : AsyncCall {
  std::uint64_t polls = 0;
};

/// A storage in memory for tests and replays. It looks at no clock and has no thread: a call does its work when poll()
/// ends it, and the results depend only on the calls and the seed. The option of a fault is n for one in n; 0: never.
class SimStorage final : public StorageTransport<SimCall> {
 public:
  struct Config {
    std::uint64_t capacity = 0, seed = 1, linger = 0;
    std::uint32_t absent = 0, forgets = 0, damaged = 0, late = 0, failed = 0, full = 0;
    void visit(Options& options) {
      constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
      constexpr std::uint32_t kNever = 1'000'000'000;
      options.number("capacity", capacity, 0, kMost, "size of the records to keep; 0: no limit", Unit::bytes);
      options.number("seed", seed, 0, kMost, "determines the order in which calls end, and the faults");
      options.number("linger", linger, 0, 1'000'000, "most polls that a call waits before the one that ends it");
      options.number("absent", absent, 0, kNever, "one in this many records that a get reads is gone");
      options.number("forgets", forgets, 0, kNever, "one in this many records that were put is forgotten at once");
      options.number("damaged", damaged, 0, kNever, "one in this many records that a get reads is damaged");
      options.number("late", late, 0, kNever, "one in this many calls ends late, at one of its records");
      options.number("failed", failed, 0, kNever, "one in this many calls fails, at one of its records");
      options.number("full", full, 0, kNever, "one in this many puts has no room, from one of its records on");
    }
  };

  SimStorage(const Config& config, const PageStorage::Context& context)
      : config_(config),
        record_bytes_(context.record_bytes),
        records_(record_bytes_, config.capacity ? config.capacity / record_bytes_ : kUnlimited),
        chance_(config.seed) {}

  StorageTraits traits() const override { return {.exact = true}; }

  void begin(SimCall& call) override {
    begun_.push_back(&call);
    call.polls = chance_.remainder(config_.linger + 1);
  }
  void remove(const PageKey&, std::span<const PageKey> keys) override {
    for (const PageKey& key : keys) records_.forget(key);
  }
  bool flush(const PageKey& space) override {
    records_.forget_all(space);
    return true;
  }
  void advance(std::size_t most) override {
    std::vector<SimCall*> ending;
    ending.reserve(std::min(most, begun_.size()));  // a call that has left one list is in the other
    for (std::size_t i = 0; i < begun_.size();)
      if (begun_[i]->polls > 0) {
        --begun_[i++]->polls;
      } else if (ending.size() < most) {
        // Any call that may end now.
        std::size_t other = i + chance_.remainder(begun_.size() - i);
        if (begun_[other]->polls > 0) other = i;
        std::swap(begun_[i], begun_[other]);
        ending.push_back(begun_[i]);
        begun_.erase(begun_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    for (SimCall* const call : ending) end(*call);
  }
  StorageUse use() const override {
    return {config_.capacity ? config_.capacity : kUnlimited, records_.size() * record_bytes_, records_.size()};
  }

 private:
  bool falls(std::uint32_t one_in) { return one_in > 0 && chance_.one_in(one_in); }

  void end(SimCall& call) {
    try {
      run(call);
    } catch (const std::bad_alloc&) {  // in a put: the records kept so far may stay
      std::ranges::fill(call.fates, Fate::failed);
    }
    calls_.end(call);
  }
  void run(SimCall& call) {
    // The result of the whole call, and the number of records that it reaches.
    Fate fault = Fate::done;
    if (falls(config_.late)) fault = Fate::late;
    else if (falls(config_.failed)) fault = Fate::failed;
    else if (call.kind == AsyncCall::Kind::put && falls(config_.full)) fault = Fate::full;
    std::ranges::fill(call.fates, fault);
    const bool looks = call.kind == AsyncCall::Kind::find;
    if (looks && fault != Fate::done) return;
    const std::size_t reached = fault == Fate::done ? call.keys.size() : chance_.remainder(call.keys.size());
    if (looks || call.kind == AsyncCall::Kind::find_each) look(call, reached);
    else if (call.kind == AsyncCall::Kind::get) get(call, reached);
    else put(call, reached);
  }
  void look(SimCall& call, std::size_t reached) const {
    for (std::size_t i = 0; i < reached; ++i) {
      call.fates[i] = records_.has(call.keys[i]) ? Fate::done : Fate::absent;
      if (call.kind == AsyncCall::Kind::find && call.fates[i] == Fate::absent) return;
    }
  }
  void get(SimCall& call, std::size_t reached) {
    for (std::size_t i = 0; i < call.keys.size(); ++i) {
      if (i >= reached) {  // a part of it may have been read
        std::fill_n(call.records[i], chance_.remainder(record_bytes_), std::byte{0xA5});
        continue;
      }
      if (falls(config_.absent)) records_.forget(call.keys[i]);
      const bool there = records_.get(call.keys[i], call.records[i]);
      call.fates[i] = there ? Fate::done : Fate::absent;
      if (there && falls(config_.damaged)) damage(call.records[i]);
    }
    records_.use(call.keys);
  }
  void put(SimCall& call, std::size_t reached) {
    const auto keys = std::span(call.keys).first(reached);
    const std::size_t kept = call.flushed ? reached : records_.put(call.space, keys, call.records);
    for (std::size_t i = 0; i < reached; ++i) call.fates[i] = i < kept ? Fate::done : Fate::full;
    call.cut();
    for (const PageKey& key : keys.first(kept))
      if (falls(config_.forgets)) records_.forget(key);
  }
  /// Damages a record: flips a bit, cuts off its end, fills it with zeros, or writes random bytes somewhere.
  void damage(std::byte* record) {
    const std::uint64_t at = chance_.remainder(record_bytes_);
    switch (chance_.below(4)) {
      case 0:
        record[at] ^= std::byte{1} << chance_.below(8);
        break;
      case 1:
        std::fill(record + at, record + record_bytes_, std::byte{0});
        break;
      case 2:
        std::fill_n(record, record_bytes_, std::byte{0});
        break;
      default:
        for (std::uint64_t i = at; i < record_bytes_ && i < at + 64; ++i)
          record[i] = static_cast<std::byte>(chance_.below(256));
    }
  }

  Config config_;
  std::uint64_t record_bytes_;
  sim_storage::KeptRecords records_;
  Random chance_;
  std::vector<SimCall*> begun_;
};

}  // namespace

CANOPY_PLUGIN("1.0.0", provide<PageStorage, AsyncStorage<SimStorage>>("sim_storage",
                                                                      "keeps records in memory, with seeded faults"));
