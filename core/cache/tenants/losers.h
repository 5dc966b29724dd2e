#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace canopy {

/// The tenants of one group by how far they are above their weighted share: finds the furthest, and moves one, in
/// O(log n).
class Losers {
 public:
  Losers();
  ~Losers();
  Losers(Losers&&) noexcept;

  /// Adds tenants, up to this number of them. A new one is not above its share.
  void grow(std::size_t tenants);
  /// Sets how far a tenant is above its share; 0: it loses nothing.
  void set(TenantId tenant, double above);
  /// Returns the tenant that is the furthest above its share, of equals the one with the smallest number; nothing if
  /// none is above it.
  std::optional<TenantId> furthest() const;

 private:
  struct Heap;
  std::unique_ptr<Heap> heap_;
};

}  // namespace canopy
