#include "device.h"

#include <cstddef>

namespace canopy::slots {

bool goes_on(Transfer& transfer, std::uint64_t moved) {
  transfer.moved += moved;
  if (transfer.moved >= transfer.bytes) return false;
  transfer.offset += moved;
  while (moved >= transfer.pieces->iov_len) {
    moved -= transfer.pieces->iov_len;
    ++transfer.pieces;
    --transfer.count;
  }
  transfer.pieces->iov_base = static_cast<std::byte*>(transfer.pieces->iov_base) + moved;
  transfer.pieces->iov_len -= moved;
  return true;
}

}  // namespace canopy::slots
