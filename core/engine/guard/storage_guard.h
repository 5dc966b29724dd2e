#pragma once

#include <canopy/page_storage.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "guard/guard.h"

namespace canopy {

/// A storage whose calls each end once, with an answer that fits the call. A call that throws has failed, and ends in
/// the next poll().
class StorageGuard final : public PageStorage, public Guard {
  static_assert(std::string_view(kInterface) == "canopy.PageStorage/1", "hand on the new functions too");

 public:
  StorageGuard(std::shared_ptr<PageStorage> storage, std::string component, Ledger& ledger)
      : Guard(std::move(component), ledger), storage_(std::move(storage)) {}

  /// A batch of 0 records, or no calls, are taken for 1.
  StorageTraits traits() const override;
  void use_memory(std::span<std::byte> memory) override {
    ask("use_memory", [&] { storage_->use_memory(memory); });
  }
  void find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
            std::uint64_t within_us) override;
  void get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<std::byte* const> records, std::uint64_t within_us) override;
  void put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s) override;
  void remove(const PageKey& space, std::span<const PageKey> keys) override {
    ask("remove", [&] { storage_->remove(space, keys); });
  }
  bool flush(const PageKey& space) override {
    return ask("flush", [&] { return storage_->flush(space); });
  }
  std::size_t poll(std::span<StorageDone> done) override;
  int descriptor() const override {
    return look("descriptor", [&] { return storage_->descriptor(); });
  }
  StorageUse use() const override {
    return look("use", [&] { return storage_->use(); });
  }

 private:
  struct Open {
    std::size_t records = 0;
    bool finds = false, threw = false;
  };
  bool fits(const StorageDone& done, const Open& open) const;
  StorageDone as_failed(std::uint64_t ticket, const Open& open);

  std::shared_ptr<PageStorage> storage_;
  std::unordered_map<std::uint64_t, Open> open_;  ///< by ticket
  std::size_t threw_ = 0;                         ///< of them
  std::vector<Fate> fates_;                       ///< of calls that failed here
};

}  // namespace canopy
