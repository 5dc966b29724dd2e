#include "call.h"

#include <algorithm>
#include <cerrno>

namespace canopy::slots {

namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;
constexpr std::uint32_t kMostPieces = 256;

}  // namespace

void Call::reset() {
  slots.assign(keys.size(), kNoSlot);
  unsure.assign(keys.size(), 0);
  has_head.assign(keys.size(), 0);
  std::ranges::fill(fates, Fate::done);
  transfers.clear();
  begun = ended = 0;
}

void Call::plan(const SlotFiles& files, bool unsure_only) {
  const Shape& shape = files.shape();
  pieces.clear();
  transfers.clear();
  begun = ended = 0;
  const std::size_t most = keys.size() * ((shape.record_bytes + kPieceBytes - 1) / kPieceBytes);
  pieces.reserve(most);
  transfers.reserve(most);
  const auto add = [&](std::uint32_t record, std::byte* from, std::uint64_t offset, std::uint64_t bytes) {
    Transfer transfer;
    transfer.file = files.descriptor_of(slots[record]);
    transfer.write = kind == Kind::put;
    transfer.offset = offset;
    transfer.count = 1;
    transfer.bytes = bytes;
    transfer.call = this;
    transfer.first_record = record;
    transfer.records = 1;
    transfers.push_back(transfer);
    pieces.push_back({from, bytes});
  };
  Slot before = kNoSlot;
  for (std::uint32_t record = 0; record < keys.size(); ++record) {
    const Slot slot = slots[record];
    if (slot == kNoSlot || fates[record] != Fate::done || (unsure_only && !unsure[record])) {
      before = kNoSlot;
      continue;
    }
    const std::uint64_t offset = shape.offset_of(slot);
    if (before != kNoSlot && slot == before + 1 && shape.file_of(slot) == shape.file_of(before) && !unsure_only &&
        transfers.back().bytes + shape.record_bytes <= kPieceBytes) {
      Transfer& with = transfers.back();
      iovec& last = pieces.back();
      if (static_cast<std::byte*>(last.iov_base) + last.iov_len == records[record]) {
        last.iov_len += shape.record_bytes;
      } else {
        pieces.push_back({records[record], shape.record_bytes});
        ++with.count;
      }
      with.bytes += shape.record_bytes;
      ++with.records;
    } else {
      for (std::uint64_t at = 0; at < shape.record_bytes; at += kPieceBytes)
        add(record, records[record] + at, offset + at, std::min(kPieceBytes, shape.record_bytes - at));
    }
    before = shape.record_bytes > kPieceBytes || transfers.back().count == kMostPieces ? kNoSlot : slot;
  }
  std::fill(unsure.begin(), unsure.end(), char{0});
  iovec* next = pieces.data();
  for (Transfer& transfer : transfers) {
    transfer.pieces = next;
    next += transfer.count;
  }
}

Slot Call::account(const Transfer& transfer) {
  ++ended;
  if (transfer.result == static_cast<std::int64_t>(transfer.bytes)) return kNoSlot;
  if (transfer.records > 1) {
    std::fill_n(unsure.begin() + transfer.first_record, transfer.records, char{1});
    return kNoSlot;
  }
  const std::uint32_t record = transfer.first_record;
  if (fates[record] != Fate::done) return kNoSlot;
  const auto error = transfer.result < 0 ? static_cast<int>(-transfer.result) : 0;
  const bool no_room = error == ENOSPC || error == EDQUOT || error == EFBIG;
  // A file that ends too early has lost the record.
  fates[record] = transfer.write && no_room ? Fate::full : error || transfer.write ? Fate::failed : Fate::absent;
  return no_room || error == EIO ? slots[record] : kNoSlot;
}

void Call::stop() {
  for (; begun < transfers.size(); ++begun, ++ended)
    for (std::uint32_t i = 0; i < transfers[begun].records; ++i)
      if (Fate& fate = fates[transfers[begun].first_record + i]; fate == Fate::done) fate = Fate::late;
}

bool Call::is_unsure() const { return std::find(unsure.begin(), unsure.end(), char{1}) != unsure.end(); }

}  // namespace canopy::slots
