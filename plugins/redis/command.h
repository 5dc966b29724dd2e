#pragma once

#include <cstddef>
#include <cstdint>

namespace canopy::redis {

struct Call;
struct Space;

/// The connections of a server. Queries do not wait behind records, nor gets behind puts.
enum class Way : std::uint8_t { ask, put, get };

/// One command and the purpose of its reply. Any command may be sent again after a lost connection.
struct Command {
  enum class Kind : std::uint8_t {
    exists,      ///< checks the record of call->keys[index]
    exists_all,  ///< counts the records of a block that begins with keys[index]
    get,
    set,         ///< stores the record unless it exists
    unlink,      ///< deletes the record of keys[index]
    take_epoch,  ///< sets the epoch of `space` unless it has one
    read_epoch,
    set_epoch,  ///< replaces the epoch
    slots,      ///< CLUSTER SLOTS, sent by the network itself
    asking,     ///< lets the next command through while its slot is being moved
  };
  Kind kind = Kind::exists;
  std::uint8_t hops = 0;   ///< redirections so far
  std::uint8_t tries = 0;  ///< connections that were lost while it was pending
  std::uint16_t slot = 0;
  std::uint32_t index = 0;
  Call* call = nullptr;    ///< null: the call has ended, and the reply is ignored
  Space* space = nullptr;  ///< for commands about an epoch
  std::uint64_t epoch = 0;

  Way way() const { return kind == Kind::get ? Way::get : kind == Kind::set ? Way::put : Way::ask; }
  bool wanted() const { return call != nullptr || space != nullptr || kind == Kind::slots; }
};

/// Microseconds of a monotonic clock.
using Micros = std::uint64_t;

}  // namespace canopy::redis
