#pragma once

#include <canopy/helpers/at_fork.h>
#include <canopy/page_storage.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace canopy {

/// A storage whose threads, locks and descriptors belong to one process. In a forked child, which has a copy of its
/// memory only, each call ends as failed in the next poll(), also a call that was pending at the fork. The child never
/// touches the storage, and never destroys it: its state is that of a moment, and its threads do not exist. So the
/// parent goes on undisturbed. Descriptors, such as sockets and locks, the storage leaves to the parent itself
/// (AtFork).
///
///   canopy::provide<canopy::PageStorage, canopy::StorageOfOneProcess<Disk>>("disk", "...")
template <class Storage>
class StorageOfOneProcess final : public PageStorage {
 public:
  using Config = typename Storage::Config;
  StorageOfOneProcess(const Config& config, const Context& context)
      : storage_(std::make_unique<Storage>(config, context)), traits_(storage_->traits()) {}
  ~StorageOfOneProcess() override {
    if (fork_.left()) static_cast<void>(storage_.release());
  }
  StorageOfOneProcess(const StorageOfOneProcess&) = delete;

  StorageTraits traits() const override { return traits_; }
  void use_memory(std::span<std::byte> memory) override {
    if (!fork_.left()) storage_->use_memory(memory);
  }
  void find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
            std::uint64_t within_us) override {
    begin({ticket, 0}, [&] { storage_->find(ticket, space, keys, within_us); });
  }
  void find_each(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                 std::uint64_t within_us) override {
    begin({ticket, keys.size()}, [&] { storage_->find_each(ticket, space, keys, within_us); });
  }
  void get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<std::byte* const> records, std::uint64_t within_us) override {
    begin({ticket, keys.size()}, [&] { storage_->get(ticket, space, keys, records, within_us); });
  }
  void put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s) override {
    begin({ticket, keys.size()}, [&] { storage_->put(ticket, space, keys, records, within_us, keep_s); });
  }
  void remove(const PageKey& space, std::span<const PageKey> keys) override {
    if (!fork_.left()) storage_->remove(space, keys);
  }
  bool flush(const PageKey& space) override { return !fork_.left() && storage_->flush(space); }

  std::size_t poll(std::span<StorageDone> done) override {
    if (fork_.left()) return end_as_failed(done);
    const std::size_t count = storage_->poll(done);
    for (const StorageDone& one : done.first(count))
      std::erase_if(pending_, [&](const Pending& call) { return call.ticket == one.ticket; });
    return count;
  }
  int descriptor() const override { return fork_.left() ? -1 : storage_->descriptor(); }
  StorageUse use() const override { return fork_.left() ? StorageUse() : storage_->use(); }

 private:
  struct Pending {
    std::uint64_t ticket = 0;
    std::size_t fates = 0;  ///< length of its result
  };
  template <class Begin>
  void begin(Pending call, Begin&& begins) {
    pending_.push_back(call);
    if (fork_.left()) return;
    try {
      begins();
    } catch (...) {
      pending_.pop_back();
      throw;
    }
  }
  std::size_t end_as_failed(std::span<StorageDone> done) {
    const std::size_t count = std::min(done.size(), pending_.size());
    std::size_t most = 0;
    for (const Pending& call : std::span(pending_).first(count)) most = std::max(most, call.fates);
    fates_.assign(most, Fate::failed);
    for (std::size_t i = 0; i < count; ++i)
      done[i] = {pending_[i].ticket, Fate::failed, 0, std::span(fates_).first(pending_[i].fates)};
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

  std::unique_ptr<Storage> storage_;
  const StorageTraits traits_;
  std::vector<Pending> pending_;
  std::vector<Fate> fates_;
  AtFork fork_{[](void*) noexcept {}, nullptr};
};

}  // namespace canopy
