#include <cstring>

#include "copies.h"

// Alone in its file: libfake_cuda_old.so is the fake without it, as a driver before 12.8.
namespace canopy::cuda {

using namespace canopy::fake_cuda;

extern "C" Result cuMemcpyBatchAsync(DevicePtr* to, DevicePtr* from, std::size_t* sizes, std::size_t count,
                                     MemcpyAttributes* attributes, std::size_t* first, std::size_t attribute_count,
                                     std::size_t* failed, StreamHandle stream) {
  FAKE_ENTER(kContext);
  if (failed) *failed = SIZE_MAX;
  if (reinterpret_cast<std::uintptr_t>(stream) <= 1) return Result::invalid_value;
  if (!to || !from || !sizes || !attributes || !first || count == 0 || attribute_count == 0 ||
      attribute_count > count || first[0] != 0)
    return Result::invalid_value;
  for (std::size_t a = 0; a < attribute_count; ++a)
    if (attributes[a].source_order <= SourceOrder::invalid || attributes[a].source_order > SourceOrder::any ||
        first[a] >= count || (a != 0 && first[a] <= first[a - 1]))
      return Result::invalid_value;

  struct Piece {
    Side to, from;
    std::shared_ptr<std::vector<std::byte>> early;
  };
  std::vector<Piece> pieces;
  for (std::size_t i = 0, a = 0; i < count; ++i) {
    if (a + 1 < attribute_count && first[a + 1] == i) ++a;
    if (to[i] == 0 || from[i] == 0 || sizes[i] == 0) {
      if (failed) *failed = i;
      return Result::invalid_value;
    }
    Piece piece{any_side(to[i], sizes[i]), any_side(from[i], sizes[i]), nullptr};
    // Anything but stream order may be read at once, so it is: what queued work still has to write there is missed.
    if (attributes[a].source_order != SourceOrder::stream) {
      piece.early = std::make_shared<std::vector<std::byte>>(sizes[i]);
      const Side there{piece.early->data(), sizes[i], false, 0};
      if (const Result result = copy(there, piece.from); result != Result::success) return result;
    }
    pieces.push_back(std::move(piece));
  }
  return enqueue(stream, [pieces = std::move(pieces)] {
    for (std::size_t i = pieces.size(); i-- != 0;) {  // in an order that no caller would expect
      const Piece& piece = pieces[i];
      const Side read_early{piece.early ? piece.early->data() : nullptr, piece.to.bytes, false, 0};
      const Result result = copy(piece.to, piece.early ? read_early : piece.from);
      if (result != Result::success) return result;
    }
    return Result::success;
  });
}

}  // namespace canopy::cuda
