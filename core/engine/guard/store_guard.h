#pragma once

#include <canopy/kv_store.h>

#include <memory>

#include "guard/guard.h"

namespace canopy {

/// A store whose shape is a possible one: flaw() is asked once, before anything else.
class StoreGuard final : public KVStore, public Guard {
  static_assert(std::string_view(kInterface) == "canopy.KVStore/4", "hand on the new functions too");

 public:
  StoreGuard(std::shared_ptr<KVStore> store, std::string component, Ledger& ledger)
      : Guard(std::move(component), ledger), store_(std::move(store)) {}

  /// Why no pool of such pages can be kept in it, as a sentence; empty if one can. REQUIRES: asked first.
  std::string flaw(Units page_size);

  std::span<const Stream> streams() const override { return streams_; }
  std::uint32_t layers() const override { return view_->layers; }
  const KvView& view() const override { return *view_; }

  void write(std::uint32_t layer, Slots to, const Rows& from) override {
    ask("write", [&] { store_->write(layer, to, from); });
  }
  void read(std::uint32_t layer, Slots from, const Rows& to) override {
    ask("read", [&] { store_->read(layer, from, to); });
  }
  void copy(std::span<const Page> from, std::span<const Page> to) override {
    ask("copy", [&] { store_->copy(from, to); });
  }
  void use_stream(void* stream) override {
    ask("use_stream", [&] { store_->use_stream(stream); });
  }
  /// Null, or what failed with the store's name in front.
  const char* sync() override;

  std::uint64_t image_bytes() const override {
    return ask("image_bytes", [&] { return store_->image_bytes(); });
  }
  void save(std::span<const Page> from, std::byte* images) override {
    ask("save", [&] { store_->save(from, images); });
  }
  void load(const std::byte* images, std::span<const Page> to) override {
    ask("load", [&] { store_->load(images, to); });
  }
  std::uint64_t begin_save(std::span<const Page> from, std::span<std::byte* const> images) override {
    return ask("begin_save", [&] { return store_->begin_save(from, images); });
  }
  std::uint64_t begin_load(std::span<const std::byte* const> images, std::span<const Page> to) override {
    return ask("begin_load", [&] { return store_->begin_load(images, to); });
  }
  std::uint64_t saved() const override {
    return look("saved", [&] { return store_->saved(); });
  }
  std::uint64_t loaded() const override {
    return look("loaded", [&] { return store_->loaded(); });
  }

  bool back(std::uint32_t segment) override {
    return ask("back", [&] { return store_->back(segment); });
  }
  void unback(std::uint32_t segment) override {
    ask("unback", [&] { store_->unback(segment); });
  }
  void pin(std::uint32_t segment) override {
    ask("pin", [&] { store_->pin(segment); });
  }
  void unpin(std::uint32_t segment) override {
    ask("unpin", [&] { store_->unpin(segment); });
  }
  SharedMemory share(std::uint32_t segment, std::size_t stream) override {
    return ask("share", [&] { return store_->share(segment, stream); });
  }

 private:
  std::string flaw_of(const KvView& view, std::uint32_t layers, Units page_size) const;

  std::shared_ptr<KVStore> store_;
  const KvView* view_ = nullptr;
  std::span<const Stream> streams_;
  std::string failure_;
};

}  // namespace canopy
