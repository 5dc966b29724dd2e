#pragma once

#include <canopy/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace canopy {

/// Computes which pages of a request's row one KV cache group needs as the request continues. Pure arithmetic, no
/// state. Places in a row are counted in pages of tokens:
///
///   | gone: nothing can see them ..... | needed .......................... |
///   0                     first_needed(computed)              row_length(tokens)
///
/// The needed pages are counted from the last boundary at or before `computed` that every group can serve. The reach
/// before it is kept; otherwise that boundary could not be matched after its insert. If a page is larger than the
/// window, a window counted from the last token would free the page that is about to be inserted.
struct PageNeeds {
  Units page_size = 1;
  Units overlap = 0;         ///< last tokens of a request that form no unit yet (KeyCodec::overlap)
  Units reach = kWholePath;  ///< units
  std::uint32_t every = 1;   ///< pages per kept page: the group keeps the last page of each stretch (recurrent states)
  std::uint32_t grid = 1;    ///< pages between boundaries of the engine: a common multiple of all groups' `every`

  bool whole_path() const { return reach == kWholePath; }
  /// Returns true if the group has a page at this place of the row.
  bool keeps(std::size_t page) const { return (page + 1) % every == 0; }
  /// Returns the number of kept pages in [first, end). A partial stretch at the end counts as whole.
  std::size_t count(std::size_t first, std::size_t end) const { return (end + every - 1) / every - first / every; }
  /// Returns the length of the row for the first `tokens` tokens, in pages, including the page of the state that the
  /// last of these tokens update.
  std::size_t row_length(std::uint64_t tokens) const;
  /// Returns the place of the first page that is needed when `computed` tokens are computed.
  std::size_t first_needed(std::uint64_t computed) const;
  /// Returns the largest number of free and evictable pages that a request uses at one time. The request goes from
  /// `matched` to `prompt` in steps of `chunk` tokens (0: one step), then token by token to `total`. `taken`: matched
  /// pages that were evictable before the request locked them; they count while the request needs them.
  std::size_t peak(std::uint64_t matched, std::size_t taken, std::uint64_t prompt, std::uint64_t total,
                   std::uint64_t chunk) const;
  /// Returns an upper bound of peak() for any request that computes at most `step` tokens at a time. REQUIRES: not a
  /// whole-path group.
  std::uint64_t peak_at_most(std::uint64_t step) const {
    const std::uint64_t period = std::uint64_t{page_size} * grid;
    return (reach + overlap + std::max<std::uint64_t>(step, 1) + 3 * period) / (std::uint64_t{page_size} * every) + 2;
  }
};

}  // namespace canopy
