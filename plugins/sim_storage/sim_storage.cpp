#include <canopy/base/random.h>
#include <canopy/plugin.h>

#include <algorithm>
#include <new>
#include <utility>

#include "kept_records.h"

namespace {

using namespace canopy;

/// A storage in memory for tests and replays. It reads no clock and has no thread: a call does its work when poll()
/// ends it, and the results depend only on the calls and the seed. The option of a fault is n for one in n; 0: never.
class SimStorage final : public PageStorage {
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

  SimStorage(const Config& config, const Context& context)
      : config_(config),
        record_bytes_(context.record_bytes),
        records_(record_bytes_, config.capacity ? config.capacity / record_bytes_ : kUnlimited),
        chance_(config.seed) {}

  StorageTraits traits() const override { return {.exact = true}; }

  void find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys, std::uint64_t) override {
    begin(Kind::find, ticket, space, keys);
  }
  void find_each(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys, std::uint64_t) override {
    begin(Kind::find_each, ticket, space, keys);
  }
  void get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<std::byte* const> records, std::uint64_t) override {
    begin(Kind::get, ticket, space, keys, {records.begin(), records.end()});
  }
  void put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t, std::uint32_t) override {
    begin(Kind::put, ticket, space, keys, {}, {records.begin(), records.end()});
  }
  void remove(const PageKey&, std::span<const PageKey> keys) override {
    for (const PageKey& key : keys) records_.forget(key);
  }
  bool flush(const PageKey& space) override {
    records_.forget_all(space);
    for (Call& call : begun_)
      if (call.space == space) call.flushed = true;
    return true;
  }

  std::size_t poll(std::span<StorageDone> done) override {
    ended_.clear();
    ended_.reserve(std::min(done.size(), begun_.size()));  // a call that has left one list is in the other
    for (std::size_t i = 0; i < begun_.size();)
      if (begun_[i].polls > 0) {
        --begun_[i++].polls;
      } else if (ended_.size() < done.size()) {
        // Any call that may end now.
        std::size_t other = i + chance_.remainder(begun_.size() - i);
        if (begun_[other].polls > 0) other = i;
        std::swap(begun_[i], begun_[other]);
        ended_.push_back(std::move(begun_[i]));
        begun_.erase(begun_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    for (std::size_t i = 0; i < ended_.size(); ++i) done[i] = end(ended_[i]);
    return ended_.size();
  }
  StorageUse use() const override {
    return {config_.capacity ? config_.capacity : kUnlimited, records_.size() * record_bytes_, records_.size()};
  }

 private:
  enum class Kind { find, find_each, get, put };
  struct Call {
    Kind kind;
    std::uint64_t ticket, polls;  ///< polls: how many it still waits
    PageKey space;
    std::vector<PageKey> keys;
    std::vector<std::byte*> targets{};
    std::vector<const std::byte*> sources{};
    std::vector<Fate> fates{};
    bool flushed = false;  ///< true if its space was flushed since it began
  };

  bool falls(std::uint32_t one_in) { return one_in > 0 && chance_.one_in(one_in); }

  /// Adds a whole call, with the memory of its results, or throws.
  void begin(Kind kind, std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
             std::vector<std::byte*> targets = {}, std::vector<const std::byte*> sources = {}) {
    Call call{kind, ticket, 0, space, {keys.begin(), keys.end()}, std::move(targets), std::move(sources)};
    call.fates.resize(kind == Kind::find ? 0 : keys.size());
    begun_.push_back(std::move(call));
    begun_.back().polls = chance_.remainder(config_.linger + 1);
  }

  StorageDone end(Call& call) {
    try {
      return end_of(call);
    } catch (const std::bad_alloc&) {  // in a put: the records kept so far may stay
      std::ranges::fill(call.fates, Fate::failed);
      return {.ticket = call.ticket, .fate = Fate::failed, .fates = call.fates};
    }
  }
  StorageDone end_of(Call& call) {
    // The result of the whole call, and the number of records that it reaches.
    Fate fault = Fate::done;
    if (falls(config_.late)) fault = Fate::late;
    else if (falls(config_.failed)) fault = Fate::failed;
    else if (call.kind == Kind::put && falls(config_.full)) fault = Fate::full;
    StorageDone done{.ticket = call.ticket, .fate = fault, .fates = {}};
    if (call.kind == Kind::find) {
      if (fault == Fate::done) done.found = count_found(call.keys);
      return done;
    }
    const std::size_t reached = fault == Fate::done ? call.keys.size() : chance_.remainder(call.keys.size());
    std::ranges::fill(call.fates, fault);
    if (call.kind == Kind::find_each) end_find_each(call, reached);
    else if (call.kind == Kind::get) end_get(call, reached);
    else end_put(call, reached);
    done.fate = fate_of(call.fates);
    done.fates = call.fates;
    return done;
  }
  std::uint32_t count_found(std::span<const PageKey> keys) const {
    const auto absent = std::find_if(keys.begin(), keys.end(), [&](const PageKey& key) { return !records_.has(key); });
    return static_cast<std::uint32_t>(absent - keys.begin());
  }
  void end_find_each(Call& call, std::size_t reached) const {
    for (std::size_t i = 0; i < reached; ++i) call.fates[i] = records_.has(call.keys[i]) ? Fate::done : Fate::absent;
  }
  void end_get(Call& call, std::size_t reached) {
    for (std::size_t i = 0; i < call.keys.size(); ++i) {
      if (i >= reached) {  // a part of it may have been read
        std::fill_n(call.targets[i], chance_.remainder(record_bytes_), std::byte{0xA5});
        continue;
      }
      if (falls(config_.absent)) records_.forget(call.keys[i]);
      const bool there = records_.get(call.keys[i], call.targets[i]);
      call.fates[i] = there ? Fate::done : Fate::absent;
      if (there && falls(config_.damaged)) damage(call.targets[i]);
    }
    records_.use(call.keys);
  }
  void end_put(Call& call, std::size_t reached) {
    const auto keys = std::span(call.keys).first(reached);
    const std::size_t kept = call.flushed ? reached : records_.put(call.space, keys, call.sources);
    for (std::size_t i = 0; i < reached; ++i) call.fates[i] = i < kept ? Fate::done : Fate::full;
    if (kept < reached) std::fill(call.fates.begin() + static_cast<std::ptrdiff_t>(kept), call.fates.end(), Fate::full);
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
  std::vector<Call> begun_, ended_;  ///< ended_: results of the last poll()
};

}  // namespace

CANOPY_PLUGIN("1.0.0", provide<PageStorage, SimStorage>("sim_storage", "keeps records in memory, with seeded faults"));
