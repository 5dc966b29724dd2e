#include <canopy/plugin.h>

#include <stdexcept>
#include <vector>

// Indexes that store nothing and say otherwise, each in one call; and codecs with other words than tokens.
namespace {

using canopy::GroupPages;
using canopy::Key;
using canopy::Lock;
using canopy::Page;
using canopy::Units;

class Nothing : public canopy::PrefixIndex {
 public:
  explicit Nothing(const Context& context) : page_(context.page_size) {}
  canopy::Probe peek(const Key&) const override { return {}; }
  Lock match(const Key&, const canopy::RequestFacts&) override { return {}; }
  canopy::Found find(const Key&) override { return {}; }
  Lock hold(canopy::NodeId, const canopy::RequestFacts*) override { return {}; }
  GroupPages pages(const Lock&, Units) override { return {}; }
  GroupPages pages(canopy::NodeId, Units) override { return {}; }
  canopy::Inserted insert(const Lock& lock, const Key&, const GroupPages&, canopy::InsertFacts) override {
    return {lock, 0, {}};
  }
  void relax(Lock&, std::size_t, Units) override {}
  GroupPages release(const Lock&, const canopy::RequestFacts*) override { return {}; }
  GroupPages evict(std::size_t, std::size_t, canopy::Cause, canopy::LeavingVisitor*) override { return {}; }
  using IndexUpkeep::sizes;
  canopy::Sizes sizes(std::size_t) const override { return {}; }

 protected:
  GroupPages row(std::size_t count, Page page) {
    row_.assign(count, page);
    GroupPages pages;
    pages[0] = row_;
    return pages;
  }
  Units page_;
  std::vector<Page> row_;
};

struct ThrowsInReads final : Nothing {
  using Nothing::Nothing, Nothing::sizes;
  canopy::Sizes sizes(std::size_t, canopy::NamespaceId) const override { throw 7; }
  canopy::IndexUse use() const override { throw 7; }
  void visit(canopy::NodeVisitor&) const override { throw 7; }
  void waiting(std::size_t, canopy::QueueVisitor&) const override { throw 7; }
};

/// Keeps a policy's pointer, and fails then.
struct ThrowsInUsePolicy final : Nothing {
  using Nothing::Nothing;
  /// Keeps the first one, and then throws.
  bool use_policy(std::size_t, canopy::EvictionStrategy* policy) override {
    if (!policy_) policy_ = policy;
    throw std::runtime_error("it cannot rank");
  }
  GroupPages evict(std::size_t, std::size_t, canopy::Cause, canopy::LeavingVisitor*) override {
    if (policy_) policy_->rank({});
    return {};
  }
  canopy::EvictionStrategy* policy_ = nullptr;
};

struct FindsMoreThanTheKey final : Nothing {
  using Nothing::Nothing;
  Lock match(const Key& key, const canopy::RequestFacts&) override {
    return {canopy::LockId{1}, canopy::NodeId{1}, static_cast<Units>(key.words.size() + 1) * page_, {}};
  }
};
struct FindsHalfAPage final : Nothing {
  using Nothing::Nothing;
  Lock match(const Key&, const canopy::RequestFacts&) override { return {canopy::LockId{1}, canopy::NodeId{1}, 1, {}}; }
};
struct LocksFromBehind final : Nothing {
  using Nothing::Nothing;
  Lock match(const Key&, const canopy::RequestFacts&) override {
    return {canopy::LockId{1}, canopy::NodeId{1}, page_, {2 * page_, 0, 0, 0}};
  }
};
struct LocksWithinAPage final : Nothing {
  using Nothing::Nothing;
  Lock match(const Key&, const canopy::RequestFacts&) override { return {canopy::LockId{1}, canopy::NodeId{1}, page_, {1, 0, 0, 0}}; }
};
struct FindsAPage : Nothing {
  using Nothing::Nothing;
  Lock match(const Key& key, const canopy::RequestFacts&) override {
    return {canopy::LockId{1}, canopy::NodeId{1}, key.words.size() >= page_ ? page_ : 0, {}};
  }
};
struct HasTooManyPages final : FindsAPage {
  using FindsAPage::FindsAPage;
  using Nothing::pages;
  GroupPages pages(const Lock&, Units) override { return row(1'000'000, 1); }
};
struct HasNoPages final : FindsAPage {
  using FindsAPage::FindsAPage;
};
template <Page N>
struct HasPage final : FindsAPage {
  using FindsAPage::FindsAPage;
  using Nothing::pages;
  GroupPages pages(const Lock& lock, Units from) override { return row((lock.length - from) / page_, N); }
};
/// Gives spans with a size and no address, in all of its results.
struct HasNoAddresses final : FindsAPage {
  using FindsAPage::FindsAPage;
  using Nothing::pages;
  using Nothing::sizes;
  static GroupPages nowhere(std::size_t count) {
    GroupPages pages;
    pages[0] = {static_cast<const Page*>(nullptr), count};
    return pages;
  }
  canopy::Sizes sizes(std::size_t) const override { return {page_, 0}; }
  GroupPages pages(const Lock& lock, Units from) override { return nowhere((lock.length - from) / page_); }
  canopy::Inserted insert(const Lock& lock, const Key&, const GroupPages&, canopy::InsertFacts) override {
    return {lock, 0, nowhere(1)};
  }
  GroupPages release(const Lock&, const canopy::RequestFacts*) override { return nowhere(1); }
  GroupPages evict(std::size_t, std::size_t, canopy::Cause, canopy::LeavingVisitor* visitor) override {
    const std::span<const std::uint32_t> words(static_cast<const std::uint32_t*>(nullptr), page_);
    if (visitor) visitor->leaving({.facts = {}, .words = words, .pages = nowhere(1)});
    return nowhere(1);
  }
  void visit(canopy::NodeVisitor& visitor) const override {
    canopy::NodeView view;
    view.pages = nowhere(1);
    visitor.node(view);
  }
};
struct InsertsMoreThanTheKey final : Nothing {
  using Nothing::Nothing;
  canopy::Inserted insert(const Lock&, const Key& key, const GroupPages&, canopy::InsertFacts) override {
    return {{canopy::LockId{1}, canopy::NodeId{1}, static_cast<Units>(key.words.size() + 1) * page_, {}}, 0, {}};
  }
};
struct SparesMore final : Nothing {
  using Nothing::Nothing;
  canopy::Inserted insert(const Lock& lock, const Key&, const GroupPages&, canopy::InsertFacts) override {
    return {lock, 0, row(1'000'000, 1)};
  }
};
template <Page N, std::size_t Count>
struct Evicts final : Nothing {
  using Nothing::Nothing;
  using Nothing::sizes;
  canopy::Sizes sizes(std::size_t) const override { return {page_, 0}; }
  GroupPages evict(std::size_t, std::size_t, canopy::Cause, canopy::LeavingVisitor*) override { return row(Count, N); }
};
struct EvictsOfOtherGroups final : Nothing {
  using Nothing::Nothing;
  GroupPages evict(std::size_t, std::size_t, canopy::Cause, canopy::LeavingVisitor*) override {
    GroupPages pages;
    pages[3] = row(1, 1)[0];
    return pages;
  }
};
struct LeavesFarPages final : Nothing {
  using Nothing::Nothing;
  using Nothing::sizes;
  canopy::Sizes sizes(std::size_t) const override { return {page_, 0}; }
  GroupPages evict(std::size_t, std::size_t, canopy::Cause, canopy::LeavingVisitor* visitor) override {
    const std::vector<std::uint32_t> words(page_);
    if (visitor) visitor->leaving({.facts = {}, .words = words, .pages = row(1, 1'000'000)});
    return {};
  }
};
struct IsHuge final : Nothing {
  using Nothing::Nothing;
  using Nothing::sizes;
  canopy::Sizes sizes(std::size_t) const override { return {std::uint64_t{1} << 63, std::uint64_t{1} << 63}; }
};
struct Promises final : Nothing {
  using Nothing::Nothing;
  canopy::Probe peek(const Key&) const override { return {~Units{0}, ~Units{0}, {~std::uint64_t{0}, 0, 0, 0}}; }
};
template <std::uint32_t Request>
struct Orders final : Nothing, canopy::SchedulingIndex {
  using Nothing::Nothing;
  const SchedulingIndex* scheduling() const override { return this; }
  void order_by_weight(std::span<const canopy::NodeId>, std::span<std::uint32_t> order) const override {
    for (std::uint32_t& request : order) request = Request;
  }
};
struct ThrowsInOrder final : Nothing, canopy::SchedulingIndex {
  using Nothing::Nothing;
  const SchedulingIndex* scheduling() const override { return this; }
  void order_by_weight(std::span<const canopy::NodeId>, std::span<std::uint32_t> order) const override {
    order[0] = 2;
    throw std::runtime_error("it lost its place");
  }
};
struct VisitsAPage final : Nothing {
  using Nothing::Nothing;
  void visit(canopy::NodeVisitor& visitor) const override {
    const Page page = ~Page{0};
    canopy::NodeView view;
    view.pages[0] = {&page, 1};
    visitor.node(view);
  }
};
struct ThrowsInMatch final : Nothing {
  using Nothing::Nothing;
  Lock match(const Key&, const canopy::RequestFacts&) override { throw std::runtime_error("its tree fell over"); }
};
struct ThrowsInInsert final : Nothing {
  using Nothing::Nothing;
  canopy::Inserted insert(const Lock&, const Key&, const GroupPages&, canopy::InsertFacts) override { throw 7; }
};
struct ThrowsInRelease final : Nothing {
  using Nothing::Nothing;
  GroupPages release(const Lock&, const canopy::RequestFacts*) override {
    throw std::runtime_error("it keeps the lock");
  }
};

template <std::size_t Words>
struct GivesWords final : canopy::KeyCodec {
  Units overlap() const override { return 0; }
  std::span<const std::uint32_t> encode(std::span<const canopy::Token>, canopy::Scratch& scratch) const override {
    return scratch.words(Words);
  }
};
struct GivesNoAddress final : canopy::KeyCodec {
  Units overlap() const override { return 0; }
  std::span<const std::uint32_t> encode(std::span<const canopy::Token> tokens, canopy::Scratch&) const override {
    return {static_cast<const std::uint32_t*>(nullptr), tokens.size()};
  }
};
struct ThrowsInEncode final : canopy::KeyCodec {
  Units overlap() const override { return 0; }
  std::span<const std::uint32_t> encode(std::span<const canopy::Token>, canopy::Scratch&) const override { throw 7; }
};
struct OverlapsAll final : canopy::KeyCodec {
  Units overlap() const override { return ~Units{0}; }
  std::span<const std::uint32_t> encode(std::span<const canopy::Token> tokens, canopy::Scratch&) const override {
    return tokens;
  }
};

template <class T>
constexpr CanopyComponent index(const char* name) {
  return canopy::provide<canopy::PrefixIndex, T>(name, "lies, but for the one of nothing");
}
template <class T>
constexpr CanopyComponent codec(const char* name) {
  return canopy::provide<canopy::KeyCodec, T>(name, "lies, in one way");
}

}  // namespace

CANOPY_PLUGIN("1.0.0", index<Nothing>("nothing"), index<FindsMoreThanTheKey>("finds_more_than_the_key"),
              index<FindsHalfAPage>("finds_half_a_page"), index<LocksFromBehind>("locks_from_behind"),
              index<LocksWithinAPage>("locks_within_a_page"), index<LeavesFarPages>("leaves_far_pages"),
              index<HasTooManyPages>("has_too_many_pages"), index<HasNoPages>("has_no_pages"),
              index<HasPage<0x7FFFFFFF>>("has_page_far"), index<HasPage<0xFFFFFFFF>>("has_page_last"),
              index<HasNoAddresses>("has_no_addresses"), index<InsertsMoreThanTheKey>("inserts_more_than_the_key"),
              index<SparesMore>("spares_more"), index<Evicts<0xFFFFFFFF, 1>>("evicts_page_last"),
              index<Evicts<0, 1>>("evicts_page_0"), index<Evicts<1, 10'000'000>>("evicts_many"),
              index<EvictsOfOtherGroups>("evicts_of_other_groups"), index<Orders<0>>("orders_one_twice"),
              index<Orders<9>>("orders_another"), index<ThrowsInOrder>("throws_in_order"), index<IsHuge>("is_huge"),
              index<Promises>("promises"), index<VisitsAPage>("visits_a_page"), index<ThrowsInMatch>("throws_in_match"),
              index<ThrowsInInsert>("throws_in_insert"), index<ThrowsInRelease>("throws_in_release"),
              index<ThrowsInUsePolicy>("throws_in_use_policy"), index<ThrowsInReads>("throws_in_reads"), codec<GivesWords<0>>("gives_no_words"),
              codec<GivesWords<100'000>>("gives_many_words"), codec<GivesNoAddress>("gives_no_address"),
              codec<ThrowsInEncode>("throws_in_encode"), codec<OverlapsAll>("overlaps_all"));
