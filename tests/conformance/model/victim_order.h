#pragma once

#include "chain.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace canopy::test {

/// The model of one page's history. Each page has its own, so that cutting a segment in two changes no history.
struct PageHistory {
  Tick created = 0, last_access = 0;  ///< ticks of the model's own clock; only their order is significant
  std::uint32_t hits = 0, inserts = 0;
  std::int32_t priority = 0;
  friend bool operator==(const PageHistory&, const PageHistory&) = default;
};

/// Returns true if a segment with the first history is evicted before one with the second.
using LeavesBefore = std::function<bool(const PageHistory&, const PageHistory&)>;

/// Returns the order of a policy that the models know by name. For another policy no page precedes another, and any
/// leaf may be the next victim.
LeavesBefore order_of(std::string_view policy);
/// Returns true for a policy that the models know by name. It spares nothing, and its ranks do not drift.
bool has_known_order(std::string_view policy);

/// Predicts the next evicted segment by looking at every page. A segment is what an index must treat as one: the pages
/// between two marks. Marks are set where a key ended, where keys diverge, and where a match or a lock ends; a mark
/// stays as long as its page. Pages belong to the tenants of their namespaces, each with its own policy or that of the
/// group. Independent of FlatIndex on purpose.
class VictimOrder {
 public:
  explicit VictimOrder(std::string policy) : orders_{{policy, order_of(policy)}} {}

  /// Records a use by a match, or by a find if it is no hit.
  void used(ChainView path, bool is_hit);
  /// Records an insert. The first `had` pages were present. `counts`: this is a use of the prefix, not one chunk of a
  /// prefill.
  void inserted(ChainView chain, std::size_t had, std::int32_t priority, bool counts, NamespaceId space = {});
  void lock(ChainView chain);
  void unlock(ChainView chain);
  void forget(PrefixName name);
  /// Forgets all pages, but neither the tenants of the namespaces nor their policies.
  void clear();
  void assign(NamespaceId space, TenantId tenant);
  /// Sets the policy of a tenant; nothing: the group's.
  void use_policy(TenantId tenant, std::optional<std::string> policy);
  /// Cuts a segment in two after this page.
  void cut(PrefixName name) { mark(name); }

  /// Returns the segments, of a tenant or of all, that may be evicted now and that no other one under the same policy
  /// precedes, each root first.
  std::vector<std::vector<PrefixName>> next(std::optional<TenantId> of = {}) const;
  /// Returns the last page of every segment that may be evicted now.
  std::vector<PrefixName> leaves() const;

  /// Returns the page before `name`, or 0 for the first of its key.
  PrefixName before(PrefixName name) const {
    const std::uint32_t at = page(name).before;
    return at == kNone ? 0 : places_[at].name;
  }
  std::size_t segments() const { return marks_; }
  std::uint64_t splits() const { return splits_; }
  bool ends_segment(PrefixName name) const { return page(name).ends; }
  const PageHistory& history(PrefixName name) const { return page(name).history; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Place {
    PrefixName name = 0;
    std::uint32_t before = kNone;  ///< the page before this one
    std::uint32_t after = 0;       ///< number of pages that follow this one
    std::uint32_t locks = 0;
    bool here = false, ends = false;
    NamespaceId space{};
    PageHistory history;
  };

  const Place& page(PrefixName name) const { return places_[at_.at(name)]; }
  void mark(PrefixName name);
  bool may_leave(const Place& place) const { return place.here && place.after == 0 && place.locks == 0; }
  std::vector<PrefixName> segment_of(const Place& last) const;

  TenantId tenant_of(NamespaceId space) const {
    const auto i = static_cast<std::size_t>(space);
    return i < tenants_.size() ? tenants_[i] : TenantId::unnamed;
  }

  struct Order {
    std::string policy;
    LeavesBefore before;
  };
  std::vector<Order> orders_;            ///< one for each policy in use so far, the group's first
  std::map<TenantId, std::size_t> own_;  ///< index into orders_ for tenants that have their own policy
  std::vector<TenantId> tenants_;        ///< by namespace
  Tick now_ = 0;
  std::vector<Place> places_;
  std::vector<std::uint32_t> unused_;
  std::unordered_map<PrefixName, std::uint32_t> at_;
  std::size_t marks_ = 0;
  std::uint64_t splits_ = 0;
};

}  // namespace canopy::test
