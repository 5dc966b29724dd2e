#pragma once

#include <cstddef>
#include <cstdint>

namespace canopy::redis {

struct Call;
struct Space;

/// The connections of a server. Questions do not wait behind records, nor records to get behind records to put.
enum class Way : std::uint8_t { ask, put, get };

/// One command and what its answer is for. Each may be sent again after a connection was lost.
struct Command {
  enum class Kind : std::uint8_t {
    exists,      ///< is the record of call->keys[index] there?
    exists_all,  ///< how many of the records of a block are there? The block begins with keys[index]
    get,
    set,         ///< unless it is there
    unlink,      ///< the record of keys[index]
    take_epoch,  ///< sets the epoch of `space`, unless there is one
    read_epoch,
    set_epoch,  ///< whatever the epoch was
    slots,      ///< CLUSTER SLOTS, asked by the network itself
    asking,     ///< allows the next command what a move of its slot forbids
  };
  Kind kind = Kind::exists;
  std::uint8_t hops = 0;   ///< redirections until now
  std::uint8_t tries = 0;  ///< connections that were lost under it
  std::uint16_t slot = 0;
  std::uint32_t index = 0;
  Call* call = nullptr;    ///< nullptr: the call has ended, and the answer is for nothing
  Space* space = nullptr;  ///< of an epoch
  std::uint64_t epoch = 0;

  Way way() const { return kind == Kind::get ? Way::get : kind == Kind::set ? Way::put : Way::ask; }
  bool wanted() const { return call != nullptr || space != nullptr || kind == Kind::slots; }
};

/// Microseconds of a clock that only goes forward.
using Micros = std::uint64_t;

}  // namespace canopy::redis
