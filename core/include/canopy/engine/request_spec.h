#pragma once

#include <canopy/retention.h>
#include <canopy/types.h>
#include <canopy/words.h>

#include <span>
#include <string>
#include <string_view>

namespace canopy {

/// A namespace: only requests with the same tuple may share a prefix.
struct Space {
  std::string_view tenant = {}, adapter = {}, salt = {};
};

/// The parameters of a request before it runs.
struct RequestSpec {
  std::span<const Token> prompt;
  NamespaceId space = NamespaceId::shared;
  std::int32_t priority = 0;
  std::uint64_t hints = 0;         ///< passed through to policies
  std::uint32_t output_limit = 0;  ///< most tokens that it may add
  /// Prompt tokens to compute even if all are resident. A model needs at least one to continue from.
  std::uint32_t min_uncached = 1;
  std::uint32_t chunk = 0;  ///< most prompt tokens computed in one step; 0: all
  /// Prefixes to keep, within TenantShare::pins. Request::retained returns how much was promised. A request that was
  /// retracted, or that ends otherwise than by finish(), keeps nothing.
  std::span<const Retention> retention = {};
};

/// Result of Engine::admits.
struct Admission {
  enum class Verdict { now, wait, never };
  Verdict verdict = Verdict::now;
  std::string reason;  ///< explanation of the verdict; empty if it is `now`
};
template <>
struct NamesOf<Admission::Verdict> {
  static constexpr const char* kAll[] = {"now", "wait", "never"};
};

}  // namespace canopy
