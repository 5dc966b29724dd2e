#include <canopy/helpers/async_calls.h>
#include <canopy/plugin.h>

#include <cstring>
#include <new>
#include <unordered_map>
#include <vector>

/// Keeps records in the memory of this process. Replace the map by a transport of yours: a call may also end later, in
/// advance() or in another thread. See canopy/helpers/async_calls.h.
class Example final : public canopy::StorageTransport<> {
 public:
  struct Config {
    std::uint64_t capacity = std::uint64_t{1} << 30;
    void visit(canopy::Options& o) {
      o.number("capacity", capacity, 4096, std::uint64_t{1} << 50, "bytes of all records", canopy::Unit::bytes);
    }
  };
  Example(const Config& config, const canopy::PageStorage::Context& context)
      : config_(config), record_bytes_(context.record_bytes) {}

  canopy::StorageTraits traits() const override { return {.exact = true}; }
  canopy::StorageUse use() const override {
    return {config_.capacity, records_.size() * record_bytes_, records_.size(), lacked_};
  }

  void begin(Call& call) override {
    const bool puts = call.kind == Call::Kind::put;
    for (std::size_t i = 0; i < call.keys.size(); ++i) {
      call.fates[i] = puts ? put(call, i) : find(call, i);
      if (puts && call.fates[i] != canopy::Fate::done) break;
    }
    if (puts) call.cut();  // none is kept after one that is not
    calls_.end(call);
  }
  void remove(const canopy::PageKey&, std::span<const canopy::PageKey> keys) override {
    for (const canopy::PageKey& key : keys) records_.erase(key);
  }
  bool flush(const canopy::PageKey& space) override {
    std::erase_if(records_, [&](const auto& one) { return one.second.space == space; });
    return true;
  }

 private:
  struct Record {
    canopy::PageKey space;
    std::vector<std::byte> bytes;
  };

  canopy::Fate find(const Call& call, std::size_t i) const {
    const auto found = records_.find(call.keys[i]);
    if (found == records_.end()) return canopy::Fate::absent;
    if (call.kind == Call::Kind::get) std::memcpy(call.records[i], found->second.bytes.data(), record_bytes_);
    return canopy::Fate::done;
  }
  canopy::Fate put(const Call& call, std::size_t i) try {
    if (records_.contains(call.keys[i])) return canopy::Fate::done;
    if ((records_.size() + 1) * record_bytes_ > config_.capacity) return canopy::Fate::full;
    const std::byte* const record = call.records[i];
    records_.emplace(call.keys[i], Record{call.space, {record, record + record_bytes_}});
    return canopy::Fate::done;
  } catch (const std::bad_alloc&) {
    return ++lacked_, canopy::Fate::failed;
  }

  Config config_;
  std::uint64_t record_bytes_, lacked_ = 0;
  std::unordered_map<canopy::PageKey, Record, canopy::PageKey::Hash> records_;
};

CANOPY_PLUGIN("0.1.0", canopy::provide<canopy::PageStorage, canopy::AsyncStorage<Example>>(
                           "example", "describe in one line where records are"));
