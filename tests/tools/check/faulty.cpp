#include "faulty.h"

#include <canopy/base/random.h>
#include <canopy/plugin.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace canopy::check {
namespace {

constexpr const char* kLies[] = {"twice",       "keeps",        "miscounts",    "forgets",
                                 "swallows",    "misnames",     "shallow",      "wrong_bytes",
                                 "wrong_image", "wrong_record", "other_record", "lost_record"};

/// The components inside those that are being made. A component's factory takes only the context of its interface, so
/// the engine that is being made is recorded here.
struct Making {
  const EngineConfig* config = nullptr;
  const Registry* registry = nullptr;
  Faults* faults = nullptr;
  std::size_t indexes = 0;   ///< made so far: that of the pools, then that of the host tier
  std::size_t storages = 0;  ///< made so far: one for each group, in their order
};
thread_local Making making;

template <class Interface>
std::shared_ptr<Interface> inner(const ComponentConfig& wanted, const typename Interface::Context& context) {
  auto made = making.registry->make<Interface>(wanted.name, context, wanted.options);
  if (!made) throw std::invalid_argument(made.error().text);
  return *made;
}

/// Counts down. Returns true when the fault is due.
bool due(std::uint64_t& in, Faults& faults) {
  if (in == 0 || --in > 0) return false;
  ++faults.happened;
  return true;
}

/// Returns true if a component lies now.
bool lies(Faults& faults, Lie lie, std::size_t group) {
  if (faults.lies_in == 0 || faults.lie != lie || faults.liar != group || --faults.lies_in > 0) return false;
  faults.lied = true;
  ++faults.happened;
  return true;
}

template <std::size_t G>
class FaultyAllocator final : public SlotAllocator {
 public:
  explicit FaultyAllocator(const Context& context)
      : faults_(*making.faults), inner_(inner<SlotAllocator>(making.config->groups[G].allocator, context)) {}

  bool allocate(std::span<Page> out) override {
    if (due(faults_.groups[G].pages, faults_) || !inner_->allocate(out)) return false;
    if (out.empty()) return true;
    if (last_ != 0 && inner_->is_out(last_) && std::ranges::find(out, last_) == out.end() &&
        lies(faults_, Lie::twice, G))
      out[0] = last_;
    last_ = out[out.size() - 1];
    return true;
  }
  bool free(std::span<const Page> pages) override {
    return (!pages.empty() && lies(faults_, Lie::keeps, G)) || inner_->free(pages);
  }
  Occupancy occupancy() const override {
    Occupancy occupancy = inner_->occupancy();
    if (lies(faults_, Lie::miscounts, G)) more_ = 1;  // from then on it repeats the lie
    occupancy.capacity += more_;
    return occupancy;
  }
  void offer(Segment segment) override { inner_->offer(segment); }
  void withdraw(Segment segment) override { inner_->withdraw(segment); }
  SegmentUse use(Segment segment) const override { return inner_->use(segment); }
  bool is_out(Page page) const override { return inner_->is_out(page); }
  std::uint64_t longest_run() const override { return inner_->longest_run(); }

 private:
  Faults& faults_;
  std::shared_ptr<SlotAllocator> inner_;
  Page last_ = 0;
  mutable std::uint64_t more_ = 0;
};

template <std::size_t G>
class FaultyStore final : public KVStore {
 public:
  explicit FaultyStore(const Context& context)
      : faults_(*making.faults), inner_(inner<KVStore>(making.config->groups[G].store, context)) {}

  bool back(std::uint32_t segment) override { return !due(faults_.groups[G].memory, faults_) && inner_->back(segment); }
  void read(std::uint32_t layer, Slots from, const Rows& to) override {
    inner_->read(layer, from, to);
    if (from.count > 0 && to.at == Rows::At::host && lies(faults_, Lie::wrong_bytes, G))
      to.streams[0][0] ^= std::byte{1};
  }
  std::span<const Stream> streams() const override { return inner_->streams(); }
  std::uint32_t layers() const override { return inner_->layers(); }
  const KVView& view() const override { return inner_->view(); }
  void write(std::uint32_t layer, Slots to, const Rows& from) override { inner_->write(layer, to, from); }
  void copy(std::span<const Page> from, std::span<const Page> to) override { inner_->copy(from, to); }
  void use_stream(void* stream) override { inner_->use_stream(stream); }
  const char* sync() override { return inner_->sync(); }
  std::uint64_t image_bytes() const override { return inner_->image_bytes(); }
  void save(std::span<const Page> from, std::byte* images) override { inner_->save(from, images); }
  void load(const std::byte* images, std::span<const Page> to) override {
    inner_->load(images, to);
    if (to.empty() || !lies(faults_, Lie::wrong_image, G)) return;
    std::vector<std::byte> image(images, images + inner_->image_bytes());
    image[0] ^= std::byte{1};
    inner_->load(image.data(), to.first(1));
    faults_.page = to[0];
  }
  void unback(std::uint32_t segment) override { inner_->unback(segment); }
  void pin(std::uint32_t segment) override { inner_->pin(segment); }
  void unpin(std::uint32_t segment) override { inner_->unpin(segment); }
  SharedMemory share(std::uint32_t segment, std::size_t stream) override { return inner_->share(segment, stream); }

 private:
  Faults& faults_;
  std::shared_ptr<KVStore> inner_;
};

class FaultyStorage final : public PageStorage {
 public:
  explicit FaultyStorage(const Context& context)
      : faults_(*making.faults), group_(making.storages++), bytes_(context.record_bytes), inner_(the_same(context)) {
    if (group_ == 0) faults_.record_bytes = bytes_;
  }

  void get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<std::byte* const> records, std::uint64_t within_us) override {
    if (group_ == 0) faults_.pages_read += keys.size();
    const Scarcity::Pause ours;
    std::byte* const first = records[0];
    first_.emplace(ticket, First{first, {first, first + bytes_}});
    const Scarcity::Call theirs(&faults_.scarcity);
    ++pending_;
    inner_->get(ticket, space, keys, records, within_us);
  }
  std::size_t poll(std::span<StorageDone> done) override {
    const std::size_t count = inner_->poll(done);
    pending_ -= std::min(pending_, count);
    const Scarcity::Pause ours;
    for (const StorageDone& one : done.first(count)) {
      if (group_ == 0) faults_.pages_there = std::max<std::uint64_t>(faults_.pages_there, one.found);
      if (const auto call = first_.extract(one.ticket); call && one.fates[0] == Fate::done) change(call.mapped());
    }
    return count;
  }
  StorageTraits traits() const override { return inner_->traits(); }
  void use_memory(std::span<std::byte> memory) override { inner_->use_memory(memory); }
  void find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
            std::uint64_t within_us) override {
    ++pending_;
    inner_->find(ticket, space, keys, within_us);
  }
  void find_each(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                 std::uint64_t within_us) override {
    ++pending_;
    inner_->find_each(ticket, space, keys, within_us);
  }
  void put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s) override {
    ++pending_;
    inner_->put(ticket, space, keys, records, within_us, keep_s);
  }
  void remove(const PageKey& space, std::span<const PageKey> keys) override { inner_->remove(space, keys); }
  bool flush(const PageKey& space) override { return inner_->flush(space); }
  int descriptor() const override { return inner_->descriptor(); }
  StorageUse use() const override { return inner_->use(); }

 private:
  std::shared_ptr<PageStorage> the_same(const Context& context) const {
    auto& kept = faults_.storages;
    if (group_ < kept.size() && kept[group_]) return kept[group_];
    auto made = inner<PageStorage>(making.config->storage_tier.in, context);
    kept.resize(std::max(kept.size(), group_ + 1));
    if (!made->traits().durable) kept[group_] = made;
    return made;
  }

  struct First {
    std::byte* record;              ///< memory of a call's first record
    std::vector<std::byte> before;  ///< its bytes before the call
  };

  void change(const First& first) {
    std::vector<std::byte> right(first.record, first.record + bytes_);
    if (lies(faults_, Lie::wrong_record, group_)) first.record[bytes_ / 2] ^= std::byte{1};
    if (!other_.empty() && other_ != right && lies(faults_, Lie::other_record, group_))
      std::ranges::copy(other_, first.record);
    if (first.before != right && lies(faults_, Lie::lost_record, group_)) std::ranges::copy(first.before, first.record);
    other_ = std::move(right);
  }

  Faults& faults_;
  std::size_t group_, pending_ = 0;
  std::uint64_t bytes_;
  std::shared_ptr<PageStorage> inner_;
  std::map<std::uint64_t, First> first_;  ///< by ticket
  std::vector<std::byte> other_;          ///< an earlier record
};

class FaultyIndex final : public PrefixIndex {
 public:
  explicit FaultyIndex(const Context& context)
      : faults_(*making.faults),
        below_(making.indexes++ > 0),
        inner_(inner<PrefixIndex>(making.config->index, context)) {}

  Inserted insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) override {
    if (due(faults_.insert, faults_)) return {lock, lock.length, {}, {}};
    if (!below_ && lock.length > 0 && lies(faults_, Lie::shallow, faults_.liar)) return {};
    Inserted inserted = inner_->insert(lock, key, pages, facts);
    drop_one(inserted.spare, Lie::swallows);
    return inserted;
  }
  GroupPages pages(const Lock& lock, Units from) override {
    GroupPages pages = inner_->pages(lock, from);
    const std::size_t g = faults_.liar;
    // Only for the last match: the engine calls it again later for its own use, where a wrong result has no effect.
    // In the host tier it is Lie::wrong_image: a fetch loads another page, and only a request that reuses it can
    // notice.
    if (!std::exchange(matched_, false) || below_ || pages[g].empty() || pages[g].back() == 0 ||
        !lies(faults_, Lie::misnames, g))
      return pages;
    changed_.assign(pages[g].begin(), pages[g].end());
    changed_.back() = changed_.back() > 1 ? changed_.back() - 1 : changed_.back() + 1;
    pages[g] = changed_;
    return pages;
  }
  Found find(const Key& key) override { return inner_->find(key); }
  Lock hold(NodeId node, const RequestFacts* arrives) override { return inner_->hold(node, arrives); }
  GroupPages pages(NodeId node, Units from) override { return inner_->pages(node, from); }
  Lock match(const Key& key, const RequestFacts& request) override {
    matched_ = true;
    return inner_->match(key, request);
  }
  GroupPages evict(std::size_t group, std::size_t pages, Cause cause, LeavingVisitor* visitor) override {
    GroupPages evicted = inner_->evict(group, pages, cause, visitor);
    drop_one(evicted, Lie::forgets);
    return evicted;
  }
  GroupPages flush(NamespaceId space) override {
    GroupPages flushed = inner_->flush(space);
    drop_one(flushed, Lie::forgets);
    return flushed;
  }
  GroupPages clear() override { return inner_->clear(); }
  Probe peek(const Key& key) const override { return inner_->peek(key); }
  void relax(Lock& lock, std::size_t group, Units from) override { inner_->relax(lock, group, from); }
  GroupPages release(const Lock& lock, const RequestFacts* ended) override { return inner_->release(lock, ended); }
  Sizes sizes(std::size_t group) const override {
    matched_ = false;  // the end of an operation
    return inner_->sizes(group);
  }
  Sizes sizes(std::size_t group, NamespaceId space) const override { return inner_->sizes(group, space); }
  IndexUse use() const override { return inner_->use(); }
  Tick now() const override { return inner_->now(); }
  void set_capacity(std::size_t group, std::uint64_t units) override { inner_->set_capacity(group, units); }
  bool use_policy(std::size_t group, EvictionStrategy* policy) override { return inner_->use_policy(group, policy); }
  void waiting(std::size_t group, QueueVisitor& visitor) const override { inner_->waiting(group, visitor); }
  void remap(std::size_t group, std::span<const Page> from, std::span<const Page> to) override {
    if (due(faults_.remap, faults_)) {
      faults_.scarcity.note();
      throw std::bad_alloc();
    }
    inner_->remap(group, from, to);
  }
  const SchedulingIndex* scheduling() const override { return inner_->scheduling(); }
  TenantIndex* tenants() override { return inner_->tenants(); }
  void visit(NodeVisitor& visitor) const override { inner_->visit(visitor); }

 private:
  void drop_one(GroupPages& pages, Lie lie) {
    std::span<const Page>& of = pages[faults_.liar];
    if (!of.empty() && lies(faults_, lie, faults_.liar)) of = of.first(of.size() - 1);
  }

  Faults& faults_;
  bool below_;  ///< true: of the host tier
  std::shared_ptr<PrefixIndex> inner_;
  std::vector<Page> changed_;
  mutable bool matched_ = false;  ///< true if pages() was not called since the last match
};

/// A policy with an arbitrary order. The engine must stay correct under every order of eviction.
class Wild final : public EvictionStrategy {
 public:
  Rank rank(const NodeFacts& node) override {
    if (node.tag) *node.tag = random_.next();
    return {random_.below(4), random_.next()};
  }
  Volatility volatility() const override { return Volatility::epoch; }
  bool spare(const NodeFacts&) override { return random_.one_in(3); }
  Prints reads_prints() const override { return Prints::all; }
  void ended(const RequestFacts&, Path& path) override {
    NodeFacts facts;
    while (path.next(facts) && !random_.one_in(4))
      if (facts.tag) *facts.tag = random_.next();
  }

 private:
  Random random_{7};
};

/// A codec whose words are not the tokens, so that an engine has to keep them. Its units are bigrams.
class Flipped final : public KeyCodec {
 public:
  Units overlap() const override { return 1; }
  std::span<const std::uint32_t> encode(std::span<const Token> tokens, Scratch& scratch) const override {
    const std::span<std::uint32_t> words = scratch.words(tokens.size());
    std::ranges::transform(tokens, words.begin(), [](Token token) { return token ^ kFlips; });
    return words;
  }
};

constexpr const char* kAround[] = {"check_0", "check_1", "check_2", "check_3"};
static_assert(std::size(kAround) == kMaxGroups);
constexpr const char* kInside = "a component of the engine, inside one that can fail";

constexpr CanopyComponent kComponents[] = {
    provide<SlotAllocator, FaultyAllocator<0>>(kAround[0], kInside),
    provide<SlotAllocator, FaultyAllocator<1>>(kAround[1], kInside),
    provide<SlotAllocator, FaultyAllocator<2>>(kAround[2], kInside),
    provide<SlotAllocator, FaultyAllocator<3>>(kAround[3], kInside),
    provide<KVStore, FaultyStore<0>>(kAround[0], kInside),
    provide<KVStore, FaultyStore<1>>(kAround[1], kInside),
    provide<KVStore, FaultyStore<2>>(kAround[2], kInside),
    provide<KVStore, FaultyStore<3>>(kAround[3], kInside),
    provide<PrefixIndex, FaultyIndex>(kAround[0], kInside),
    provide<PageStorage, FaultyStorage>(kAround[0], kInside),
    provide<EvictionStrategy, Wild>("wild", "arbitrary ranks"),
    provide<KeyCodec, Flipped>("flipped", "bigrams of tokens with other bits"),
};
constinit const CanopyPlugin kFaulty = {kPluginMagic, sizeof(CanopyPlugin),    CANOPY_TOOLCHAIN,      "1.0.0",
                                        kComponents,  sizeof(CanopyComponent), std::size(kComponents)};

}  // namespace

std::optional<Lie> lie_of(std::string_view name) {
  const auto* found = std::ranges::find(kLies, name);
  if (found == std::end(kLies)) return {};
  return static_cast<Lie>(found - kLies);
}

std::vector<std::string> lie_names() { return {std::begin(kLies), std::end(kLies)}; }

bool Faults::armed() const {
  return insert > 0 || remap > 0 || lies_in > 0 || scarcity.armed() ||
         std::ranges::any_of(groups, [](const InGroup& one) { return one.pages > 0 || one.memory > 0; });
}

void Faults::disarm() {
  groups = {};
  insert = remap = lies_in = 0;
  scarcity.disarm();
}

void add_faulty(Registry& registry) { registry.add(kFaulty, "canopy-dev check"); }

Result<std::unique_ptr<Engine>> create(const EngineConfig& config, const Registry& registry, Faults& faults,
                                       Agreement* agreement) {
  EngineConfig original = config, outer = config;
  const auto is_ours = [](const ComponentConfig& one) {
    return std::ranges::find(kAround, one.name) != std::end(kAround);
  };
  const auto refusal = [&](const ComponentConfig& one) {
    return Error{config.message("'" + one.name + "' is a component that canopy-dev check puts around another one")};
  };
  for (const ComponentConfig& one : {config.index, config.storage_tier.in})
    if (is_ours(one)) return refusal(one);
  for (const GroupConfig& group : config.groups)
    for (const ComponentConfig& one : {group.allocator, group.store, config.store})
      if (is_ours(one)) return refusal(one);
  for (std::size_t g = 0; g < config.groups.size(); ++g) {
    ComponentConfig& store = original.groups[g].store;
    if (store.name.empty()) store = original.store;
    if (g >= kMaxGroups) break;
    outer.groups[g].allocator = {kAround[g], {}, {}};
    outer.groups[g].store = store.name == "none" ? store : ComponentConfig{kAround[g], {}, {}};
  }
  outer.index = {kAround[0], {}, {}};
  if (!config.storage_tier.in.name.empty()) outer.storage_tier.in = {kAround[0], {}, {}};
  making = {&original, &registry, &faults};
  auto engine = Engine::create(outer, registry, nullptr, agreement);
  making = {};
  return engine;
}

}  // namespace canopy::check
