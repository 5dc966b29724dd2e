#pragma once

#include <canopy/types.h>

#include <span>
#include <string>

namespace canopy {

/// What an engine is told of a request before it runs.
struct RequestSpec {
  std::span<const Token> prompt;
  NamespaceId space = NamespaceId::shared;
  std::int32_t priority = 0;
  std::uint64_t hints = 0;         ///< for policies, passed through
  std::uint32_t output_limit = 0;  ///< tokens it may add at most
  /// Prompt tokens that must be left to compute even if everything is resident: a model needs one to go on from.
  std::uint32_t min_uncached = 1;
  std::uint32_t chunk = 0;  ///< tokens of the prompt computed at a time at most; 0: all at once
};

/// Whether a request can run.
struct Admission {
  enum class Verdict { now, wait, never };
  Verdict verdict = Verdict::now;
  std::string reason;  ///< a sentence, unless it is `now`
};

}  // namespace canopy
