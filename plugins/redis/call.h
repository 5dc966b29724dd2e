#pragma once

#include <canopy/helpers/async_calls.h>

#include <vector>

#include "command.h"

namespace canopy::redis {

/// A call in the storage's thread, or one of the storage itself: a remove or a flush. The latter has one fate.
struct Call : AsyncCall {
  Space* parked_in = nullptr;  ///< space whose epoch it waits for
  bool outdated = false;       ///< that space was flushed while it waited
  std::uint64_t epoch = 0;
  std::uint32_t unanswered = 0;       ///< number of commands without a reply
  std::uint32_t refused = 0;          ///< for a put: the first record that was not kept; later records are not sent
  std::vector<bool> stored;           ///< for a put: records that this call has stored
  std::vector<std::uint32_t> blocks;  ///< for a find: the beginning of each block
  std::uint32_t round = 0;            ///< for a find: the number of rounds sent

  bool is_own() const { return kind == Kind::remove || kind == Kind::flush; }
};

}  // namespace canopy::redis
