#pragma once

#include <canopy/page_storage.h>

#include <vector>

#include "command.h"

namespace canopy::redis {

/// One call on the storage, from the caller's thread to the storage's and back. The same object serves many calls.
struct Call {
  enum class Kind { find, get, put, remove, flush };
  Kind kind = Kind::find;
  std::uint64_t ticket = 0;
  PageKey space;
  std::vector<PageKey> keys;
  std::vector<const std::byte*> records;  ///< get: the caller's memory, which is written
  Micros deadline = 0;
  std::uint32_t keep_s = 0;

  // The answer.
  Fate fate = Fate::done;
  std::uint32_t found = 0;
  std::vector<Fate> fates;

  // The storage's own.
  Space* parked_in = nullptr;  ///< whose epoch it waits for
  std::uint64_t epoch = 0;
  std::uint32_t unanswered = 0;       ///< commands
  std::uint32_t cut = 0;              ///< put: the first record that was not kept; records behind it are not sent
  std::vector<std::uint8_t> states;   ///< of each record, see CallSteps
  std::vector<std::uint32_t> blocks;  ///< find: where each block begins
  std::uint32_t round = 0;            ///< find: how often it has asked

  bool is_told() const { return kind == Kind::find || kind == Kind::get || kind == Kind::put; }
};

}  // namespace canopy::redis
