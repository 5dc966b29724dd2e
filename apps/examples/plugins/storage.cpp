#include <canopy/plugin.h>

#include <cstring>
#include <deque>
#include <new>
#include <unordered_map>
#include <vector>

/// Keeps records in the memory of this process. Replace the map by a transport: its calls may end later, in poll().
/// Calls: canopy/page_storage.h; helpers/storage_of_one_process.h for one with threads, locks or sockets.
class Example final : public canopy::PageStorage {
 public:
  struct Config {
    std::uint64_t capacity = std::uint64_t{1} << 30;
    void visit(canopy::Options& o) {
      o.number("capacity", capacity, 4096, std::uint64_t{1} << 50, "bytes of all records", canopy::Unit::bytes);
    }
  };
  Example(const Config& config, const Context& context) : config_(config), record_bytes_(context.record_bytes) {}

  canopy::StorageTraits traits() const override { return {.exact = true}; }

  void find(std::uint64_t ticket, const canopy::PageKey&, std::span<const canopy::PageKey> keys,
            std::uint64_t) override {
    Call& call = begin(ticket, 0);
    while (call.found < keys.size() && records_.contains(keys[call.found])) ++call.found;
  }
  void find_each(std::uint64_t ticket, const canopy::PageKey&, std::span<const canopy::PageKey> keys,
                 std::uint64_t) override {
    Call& call = begin(ticket, keys.size());
    for (std::size_t i = 0; i < call.fates.size(); ++i)
      call.fates[i] = records_.contains(keys[i]) ? canopy::Fate::done : canopy::Fate::absent;
  }
  void get(std::uint64_t ticket, const canopy::PageKey&, std::span<const canopy::PageKey> keys,
           std::span<std::byte* const> records, std::uint64_t) override {
    Call& call = begin(ticket, keys.size());
    for (std::size_t i = 0; i < call.fates.size(); ++i) {
      const auto found = records_.find(keys[i]);
      call.fates[i] = found == records_.end() ? canopy::Fate::absent : canopy::Fate::done;
      if (found != records_.end()) std::memcpy(records[i], found->second.bytes.data(), record_bytes_);
    }
  }
  void put(std::uint64_t ticket, const canopy::PageKey& space, std::span<const canopy::PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t, std::uint32_t) override {
    Call& call = begin(ticket, keys.size());
    bool kept = true;  // if one is not kept, none of those after it is
    for (std::size_t i = 0; i < call.fates.size(); ++i) {
      if (kept) call.fates[i] = keep(space, keys[i], records[i]);
      else call.fates[i] = canopy::Fate::full;
      kept = call.fates[i] == canopy::Fate::done;
    }
  }
  void remove(const canopy::PageKey&, std::span<const canopy::PageKey> keys) override {
    for (const canopy::PageKey& key : keys) records_.erase(key);
  }
  bool flush(const canopy::PageKey& space) override {
    std::erase_if(records_, [&](const auto& one) { return one.second.space == space; });
    return true;
  }

  std::size_t poll(std::span<canopy::StorageDone> done) override {
    ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(reported_));
    reported_ = std::min(done.size(), ended_.size());
    for (std::size_t i = 0; i < reported_; ++i) {
      const Call& call = ended_[i];
      done[i] = {call.ticket, call.failed ? canopy::Fate::failed : fate_of(call.fates), call.found, call.fates};
    }
    return reported_;
  }
  canopy::StorageUse use() const override {
    return {config_.capacity, records_.size() * record_bytes_, records_.size(), lacked_};
  }

 private:
  struct Record {
    canopy::PageKey space;
    std::vector<std::byte> bytes;
  };
  struct Call {
    std::uint64_t ticket = 0;
    std::vector<canopy::Fate> fates{};
    std::uint32_t found = 0;
    bool failed = false;
  };

  /// Adds a call that ends in the next poll(): as failed if there is no memory for its fates.
  Call& begin(std::uint64_t ticket, std::size_t records) {
    Call& call = ended_.emplace_back(Call{.ticket = ticket});
    try {
      call.fates.resize(records, canopy::Fate::failed);
    } catch (const std::bad_alloc&) {
      call.failed = true;
    }
    return call;
  }

  canopy::Fate keep(const canopy::PageKey& space, const canopy::PageKey& key, const std::byte* record) try {
    if (records_.contains(key)) return canopy::Fate::done;
    if ((records_.size() + 1) * record_bytes_ > config_.capacity) return canopy::Fate::full;
    records_.emplace(key, Record{space, {record, record + record_bytes_}});
    return canopy::Fate::done;
  } catch (const std::bad_alloc&) {
    return ++lacked_, canopy::Fate::failed;
  }

  Config config_;
  std::uint64_t record_bytes_, lacked_ = 0;
  std::unordered_map<canopy::PageKey, Record, canopy::PageKey::Hash> records_;
  std::deque<Call> ended_;
  std::size_t reported_ = 0;  ///< calls at the start of ended_ that the last poll() has reported
};

CANOPY_PLUGIN("0.1.0",
              canopy::provide<canopy::PageStorage, Example>("example", "describe in one line where records are"));
