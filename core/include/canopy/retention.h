#pragma once

#include <cstdint>

namespace canopy {

/// A wish to keep the first tokens of a prompt in the cache after the request has finished. A cache of prefixes keeps
/// no range without the tokens before it, so a range of TensorRT-LLM's KvCacheRetentionConfig is `tokens` = its end.
struct Retention {
  std::uint32_t tokens = 0;   ///< kept in whole pages
  std::uint64_t us = 0;       ///< microseconds from the end of the request on, on the clock of Engine::turn
  std::int32_t priority = 0;  ///< policies see the highest one as the priority of the request
};

}  // namespace canopy
