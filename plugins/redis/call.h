#pragma once

#include <canopy/page_storage.h>

#include <vector>

#include "command.h"

namespace canopy::redis {

/// A storage call, passed from the caller's thread to the storage's thread and back. An object is reused for many
/// calls.
struct Call {
  enum class Kind { find, find_each, get, put, remove, flush };
  Kind kind = Kind::find;
  std::uint64_t ticket = 0;
  PageKey space;
  std::vector<PageKey> keys;
  std::vector<const std::byte*> records;  ///< for a get: the caller's memory, to be written
  Micros deadline = 0;
  std::uint32_t keep_s = 0;

  bool pending = false;  ///< with the storage's thread; the mailbox's own

  // The result.
  Fate fate = Fate::done;
  std::uint32_t found = 0;
  std::vector<Fate> fates;  ///< has its length when the call is posted

  // For the storage's own use.
  Space* parked_in = nullptr;  ///< space whose epoch it waits for
  bool flushed = false;        ///< that space was flushed meanwhile
  std::uint64_t epoch = 0;
  std::uint32_t unanswered = 0;       ///< number of commands without a reply
  std::uint32_t cut = 0;              ///< for a put: the first record that was not kept; later records are not sent
  std::vector<std::uint8_t> states;   ///< state of each record, see Calls::State
  std::vector<std::uint32_t> blocks;  ///< for a find: the beginning of each block
  std::uint32_t round = 0;            ///< for a find: the number of rounds sent

  bool is_told() const { return kind != Kind::remove && kind != Kind::flush; }
};

}  // namespace canopy::redis
