#include <canopy/helpers/kv_layout.h>
#include <canopy/plugin.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

// Stores of an impossible shape, or that throw.
namespace {

using canopy::KVView;
using canopy::Page;
using canopy::Rows;
using canopy::Slots;
using canopy::Stream;

/// One stream of 8 bytes, one layer, in plain memory.
class Plain : public canopy::KVStore {
 public:
  explicit Plain(const Context& context) {
    constexpr std::uint64_t kAddresses = std::uint64_t{1} << 26;
    const std::uint32_t pages = context.segment_pages ? context.segment_pages : 64;
    view_ = canopy::lay_out(streams_, 1, context.page_size, pages, 4096, kAddresses)->view;
    memory_.resize(kAddresses);
    view_.stream[0].base = memory_.data();
  }
  std::span<const Stream> streams() const override { return streams_; }
  std::uint32_t layers() const override { return 1; }
  const KVView& view() const override { return view_; }
  void write(std::uint32_t layer, Slots to, const Rows& from) override {
    for (std::uint32_t i = 0; i < to.count; ++i) std::memcpy(row(layer, to, i), from.streams[0] + i * 8, 8);
  }
  void read(std::uint32_t layer, Slots from, const Rows& to) override {
    for (std::uint32_t i = 0; i < from.count; ++i) std::memcpy(to.streams[0] + i * 8, row(layer, from, i), 8);
  }
  void copy(std::span<const Page> from, std::span<const Page> to) override {
    for (std::size_t i = 0; i < from.size(); ++i)
      std::memcpy(view_.page(0, 0, to[i]), view_.page(0, 0, from[i]), view_.page_size * 8);
  }
  void use_stream(void*) override {}
  const char* sync() override { return nullptr; }
  void save(std::span<const Page>, std::byte*) override {}
  void load(const std::byte*, std::span<const Page>) override {}
  bool back(std::uint32_t) override { return true; }
  void unback(std::uint32_t) override {}
  void pin(std::uint32_t) override {}
  void unpin(std::uint32_t) override {}
  canopy::SharedMemory share(std::uint32_t, std::size_t) override { return {}; }

 protected:
  std::byte* row(std::uint32_t layer, Slots slots, std::uint32_t i) const {
    const std::uint32_t token = slots.first + i;
    return view_.page(0, layer, slots.pages[token / view_.page_size]) + token % view_.page_size * 8;
  }
  std::vector<Stream> streams_{{"kv", 8}};
  KVView view_{};
  std::vector<std::byte> memory_;
  int calls_ = 0;
  std::uint64_t queued_ = 0;
};

template <void (*Spoil)(std::vector<Stream>&, KVView&)>
struct Shaped final : Plain {
  explicit Shaped(const Context& context) : Plain(context) { Spoil(streams_, view_); }
};

void no_streams(std::vector<Stream>& streams, KVView& view) { streams.clear(), view.streams = 0; }
void five_streams(std::vector<Stream>& streams, KVView& view) { streams.resize(5, streams[0]), view.streams = 5; }
void other_streams(std::vector<Stream>&, KVView& view) { view.streams = 3; }
void no_pages(std::vector<Stream>&, KVView& view) { view.segment_pages = 0; }
void no_segments(std::vector<Stream>&, KVView& view) { view.segments = 0; }
void no_layers(std::vector<Stream>&, KVView& view) { view.layers = 0; }
void other_page(std::vector<Stream>&, KVView& view) { view.page_size = 7; }
void no_bytes(std::vector<Stream>& streams, KVView&) { streams[0].row_bytes = 0; }
void other_bytes(std::vector<Stream>&, KVView& view) { view.stream[0].row_bytes = 4096; }
void over_one_another(std::vector<Stream>&, KVView& view) { view.stream[0].page_stride = 8; }

struct HasNoAddresses final : Plain {
  using Plain::Plain;
  std::span<const Stream> streams() const override { return {static_cast<const Stream*>(nullptr), 1}; }
};
struct ThrowsInView final : Plain {
  using Plain::Plain;
  const KVView& view() const override { throw std::runtime_error("it has no memory for a view"); }
};
struct ThrowsInWrite final : Plain {
  using Plain::Plain;
  void write(std::uint32_t layer, Slots to, const Rows& from) override {
    if (++calls_ > 20) throw std::runtime_error("its disk is full");
    Plain::write(layer, to, from);
  }
};
struct ThrowsInBack final : Plain {
  using Plain::Plain;
  bool back(std::uint32_t) override { throw 7; }
};
struct WritesAnother final : Plain {
  using Plain::Plain;
  void write(std::uint32_t layer, Slots to, const Rows& from) override {
    Plain::write(layer, to, from);
    if (++calls_ > 20) *row(layer, to, 0) ^= std::byte{1};
  }
};
struct FailsToSync final : Plain {
  using Plain::Plain;
  const char* sync() override { return "its queue is broken"; }
};

struct ThrowsInCopy final : Plain {
  using Plain::Plain;
  void copy(std::span<const Page>, std::span<const Page>) override { throw std::runtime_error("its engine is lost"); }
};
struct NeverCopies final : Plain {
  using Plain::Plain;
  void copy(std::span<const Page>, std::span<const Page>) override { ++queued_; }
  const char* sync() override { return std::exchange(queued_, 0) > 0 ? "its queue is broken" : nullptr; }
};
struct ThrowsInSave final : Plain {
  using Plain::Plain;
  std::uint64_t begin_save(std::span<const Page>, std::span<std::byte* const>) override {
    throw std::runtime_error("its bus is gone");
  }
};
struct NeverSaves final : Plain {
  using Plain::Plain;
  std::uint64_t begin_save(std::span<const Page>, std::span<std::byte* const>) override { return ++queued_; }
  const char* sync() override { return std::exchange(queued_, 0) > 0 ? "its queue is broken" : nullptr; }
};
/// As a device that has no memory for a copy.
struct HasNoRoomToLoad final : Plain {
  using Plain::Plain;
  std::uint64_t begin_load(std::span<const std::byte* const>, std::span<const Page>) override { return ++queued_, 0; }
  const char* sync() override { return std::exchange(queued_, 0) > 0 ? "it has no memory for a buffer" : nullptr; }
};
struct ThrowsInLoad final : Plain {
  using Plain::Plain;
  std::uint64_t begin_load(std::span<const std::byte* const>, std::span<const Page>) override { throw 7; }
};
struct NeverLoads final : Plain {
  using Plain::Plain;
  std::uint64_t begin_load(std::span<const std::byte* const>, std::span<const Page>) override { return ++queued_; }
  const char* sync() override { return std::exchange(queued_, 0) > 0 ? "its queue is broken" : nullptr; }
};

/// Makes its copies behind its calls, at the latest when it is destroyed, as a device does.
struct SavesLate final : Plain {
  using Plain::Plain;
  ~SavesLate() { SavesLate::sync(); }
  std::uint64_t begin_save(std::span<const Page>, std::span<std::byte* const> images) override {
    images_.insert(images_.end(), images.begin(), images.end());
    return ++queued_;
  }
  const char* sync() override {
    for (std::byte* const image : std::exchange(images_, {})) *image = std::byte{1};
    return nullptr;
  }

 private:
  std::vector<std::byte*> images_;
};

template <class T>
constexpr CanopyComponent store(const char* name) {
  return canopy::provide<canopy::KVStore, T>(name, "lies, but for the plain one");
}

}  // namespace

CANOPY_PLUGIN("1.0.0", store<Plain>("plain_store"), store<Shaped<no_streams>>("no_streams"),
              store<Shaped<five_streams>>("five_streams"), store<Shaped<other_streams>>("other_streams"),
              store<Shaped<no_pages>>("no_pages"), store<Shaped<no_segments>>("no_segments"),
              store<Shaped<no_layers>>("no_layers"), store<Shaped<other_page>>("other_page"),
              store<Shaped<no_bytes>>("no_bytes"), store<Shaped<other_bytes>>("other_bytes"),
              store<Shaped<over_one_another>>("over_one_another"), store<ThrowsInView>("throws_in_view"),
              store<HasNoAddresses>("has_no_addresses"), store<ThrowsInWrite>("throws_in_write"),
              store<ThrowsInBack>("throws_in_back"), store<WritesAnother>("writes_another"),
              store<FailsToSync>("fails_to_sync"), store<ThrowsInCopy>("throws_in_copy"),
              store<NeverCopies>("never_copies"), store<ThrowsInSave>("throws_in_save"),
              store<NeverSaves>("never_saves"), store<HasNoRoomToLoad>("has_no_room_to_load"),
              store<ThrowsInLoad>("throws_in_load"), store<NeverLoads>("never_loads"),
              store<SavesLate>("saves_late"));
