#pragma once
/// Events of requests, pools and the engine.

#include <canopy/feed/counters.h>
#include <canopy/feed/event.h>

#include <algorithm>
#include <string_view>

namespace canopy::event {

/// Largest valid number of pages in a pool: an event with more is damaged.
inline constexpr std::uint64_t kMostPages = std::uint64_t{1} << 28;

// ---- Requests ----

struct RequestBegun {
  static constexpr std::uint8_t kKind = 18;
  std::uint8_t kind = kKind, group = 0;
  Flag fetch = false;        ///< The request computes nothing: its pages are filled from the tier below.
  Flag waits = false;        ///< It counts as a request from RequestAdmitted on. If false, it counts from now on.
  std::uint32_t prompt = 0;  ///< Tokens.
  std::uint64_t request = 0;
  std::uint32_t matched = 0;  ///< Tokens.
  NamespaceId space{};
  NodeId node{};  ///< Node at which the match ended; 0: that of the latest lock in this operation, if any.
};

/// The request was admitted (Request::admitted). One that ends without this event, although its begin says that it
/// waits, was only a try.
struct RequestAdmitted {
  static constexpr std::uint8_t kKind = 51;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  std::uint32_t matched = 0;  ///< Tokens of its prompt that the last match has found.
  std::uint64_t request = 0;
  Unused<16> unused_too{};
};

/// Pages that a request owns, from place `place` of its row of a group to the end of the row.
struct RequestPages {
  static constexpr std::uint8_t kKind = 19;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  std::uint32_t place = 0;
  std::uint64_t request = 0;
  TwoRuns runs{};

  /// Returns true if the id fits into a signed number: readers store the owner of a page as one.
  bool valid() const { return request >> 63 == 0; }
};

struct RequestProgress {
  static constexpr std::uint8_t kKind = 20;
  std::uint8_t kind = kKind, group = 0;
  RequestPhase phase{};
  std::uint32_t computed = 0;  ///< Tokens.
  std::uint64_t request = 0;
  std::uint32_t committed = 0, tokens = 0;  ///< Tokens whose pages belong to the index; tokens known.
  Unused<8> unused{};
};

// ---- Pools ----

/// Pages that became free.
struct Freed {
  static constexpr std::uint8_t kKind = 21;
  std::uint8_t kind = kKind, group = 0;
  Unused<14> unused{};
  TwoRuns runs{};
};

struct PoolSized {
  static constexpr std::uint8_t kKind = 22;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  std::uint32_t segment_pages = 0;
  std::uint64_t pages = 0;  ///< Pages that are free or in use.
  std::uint64_t limit = 0;  ///< Pages; kUnlimited if there is no limit.
  Unused<8> unused_too{};

  bool valid() const { return pages <= kMostPages && segment_pages <= kMostPages; }
};

struct SegmentChanged {
  static constexpr std::uint8_t kKind = 27;
  std::uint8_t kind = kKind, group = 0;
  SegmentState state{};
  std::uint32_t offered = 0;  ///< Offered pages, from the first of the segment on.
  std::uint64_t number = 0;
  std::uint32_t draining = 0;  ///< Pages in use that will not be handed out again.
  Unused<12> unused{};

  bool valid() const { return state <= SegmentState::idle; }
};

/// Sums at some commits, for readers to compare with their own.
struct Totals {
  static constexpr std::uint8_t kKind = 25;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  std::uint32_t owned = 0;                      ///< Pages that requests own.
  std::uint64_t free = 0;                       ///< Pages.
  std::uint64_t evictable = 0, protected_ = 0;  ///< Units.
};

/// Size of the caller's pool, for an index that is used without an engine. Single pages are unknown: the feed then has
/// only these sums.
struct CallersPool {
  static constexpr std::uint8_t kKind = 45;
  std::uint8_t kind = kKind, group = 0;
  Unused<6> unused{};
  std::uint64_t pages = 0, free = 0;
  Unused<8> unused_too{};

  bool valid() const { return pages <= kMostPages && free <= pages; }
};

// ---- Tenants; the first three are sent only if tenants have shares ----

/// Largest valid number of tenants and of namespaces: an event with more is damaged.
inline constexpr std::uint32_t kMostTenants = std::uint32_t{1} << 22;
/// TenantEvicted::taker for an eviction that was for no tenant in particular.
inline constexpr std::uint32_t kNoTenant = ~std::uint32_t{0};
/// TenantEvicted::from or taker, only in a keyframe: one of the other tenants, but it is not known which.
inline constexpr std::uint32_t kSomeTenant = kNoTenant - 1;

/// Share of a tenant, in tokens of the first group (canopy::TenantShare). Tenants are numbered without gaps and are
/// first sent in the order of their numbers, each with its name (TextKind::tenant). Number 0 is the unnamed one.
struct TenantShare {
  static constexpr std::uint8_t kKind = 46;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  std::uint32_t tenant = 0;
  std::uint64_t floor = 0, ceiling = kUnlimited;
  std::uint64_t weight = 1'000'000;  ///< Millionths.

  bool valid() const {
    return tenant < kMostTenants && ceiling > 0 && floor <= ceiling && weight > 0 && weight <= 1'000'000'000'000;
  }
};

/// Tenant of a namespace. A namespace without this event belongs to tenant 0.
struct TenantOfSpace {
  static constexpr std::uint8_t kKind = 47;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  std::uint32_t tenant = 0;
  NamespaceId space{};
  Unused<20> unused_too{};

  bool valid() const { return tenant < kMostTenants && static_cast<std::uint32_t>(space) < kMostTenants; }
};

/// Tokens of the first group that left a tenant. Sent behind the events of the nodes that they left, in the same
/// commit. In a keyframe: the sum so far.
struct TenantEvicted {
  static constexpr std::uint8_t kKind = 48;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  std::uint32_t from = 0;   ///< Tenant that lost them.
  std::uint32_t taker = 0;  ///< Tenant that needed them; equal to `from` for its own need or its ceiling.
  Unused<4> unused_too{};
  std::uint64_t tokens = 0;
  /// Part of `tokens` that its floor protected: nothing else could leave.
  std::uint64_t below_floor = 0;

  bool valid() const {
    return (from < kMostTenants || from == kSomeTenant) && (taker < kMostTenants || taker >= kSomeTenant) &&
           tokens >> 48 == 0 && below_floor >> 48 == 0 && !(from == kSomeTenant && taker >= kSomeTenant);
  }
};

/// Namespace of the request for which the operation evicts. Sent behind the events of the nodes that left, in the same
/// commit; not sent if the eviction is for no request in particular.
struct EvictedFor {
  static constexpr std::uint8_t kKind = 49;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  NamespaceId space{};
  Unused<24> unused_too{};

  bool valid() const { return static_cast<std::uint32_t>(space) < kMostTenants; }
};

// ---- The tiers below the pools; sent only if one is configured ----

/// New value of a counter. Sent with some commits. A keyframe omits counters that are 0.
struct CounterValue {
  static constexpr std::uint8_t kKind = 30;
  std::uint8_t kind = kKind, group = 0;
  Counter counter{};
  std::uint8_t row = 0, column = 0;  ///< Places on the axes of the counter: group, lane, outcome.
  Unused<3> unused{};
  std::uint64_t value = 0;
  Unused<16> unused_too{};

  bool valid() const {
    return static_cast<std::size_t>(counter) < kCounterCount && row < info_of(counter).rows.size &&
           column < info_of(counter).columns.size;
  }
};

/// State of the storage's circuit breaker and of the agreement between ranks.
struct StorageHealth {
  static constexpr std::uint8_t kKind = 41;
  std::uint8_t kind = kKind, group = 0;
  StorageState state{};
  RanksState ranks{};
  Unused<4> unused{};
  std::uint64_t until_us = 0;  ///< Time of the next call while open, on the clock of Engine::turn; kUnlimited: never.
  Unused<16> unused_too{};

  bool valid() const { return state <= StorageState::open && ranks <= RanksState::stopped; }
};

// ---- The engine ----

/// A piece of a text. The piece at 0 begins it.
struct TextPiece {
  static constexpr std::uint8_t kKind = 23;
  static constexpr std::size_t kBytes = 16;
  std::uint8_t kind = kKind, group = 0;
  TextKind text{};
  std::uint8_t size = 0;
  std::uint32_t number = 0;
  std::uint32_t at = 0;  ///< Position of its first byte in the text.
  Flag last = false;
  Unused<3> unused{};
  std::array<char, kBytes> bytes{};

  std::string_view view() const { return {bytes.data(), std::min<std::size_t>(size, kBytes)}; }
};

/// Start of the whole state: a reader discards its own, and builds it again from the events up to the next Commit.
struct Keyframe {
  static constexpr std::uint8_t kKind = 24;
  std::uint8_t kind = kKind, group = 0;
  Unused<30> unused{};
};

/// End of an operation's events.
struct Commit {
  static constexpr std::uint8_t kKind = 26;
  std::uint8_t kind = kKind, group = 0;
  Unused<2> unused{};
  Operation operation{};
  Tick tick = 0;                 ///< Clock of the index.
  std::uint64_t operations = 0;  ///< Operations so far.
  std::uint64_t us = 0;          ///< Microseconds since the engine began.
};

/// An inspector pinned or unpinned a node and its path. The lock itself is sent like any other lock.
struct Pinned {
  static constexpr std::uint8_t kKind = 28;
  std::uint8_t kind = kKind, group = 0;
  Flag pinned = false;
  Unused<5> unused{};
  NodeId node{};
  Unused<16> unused_too{};
};

}  // namespace canopy::event
