#pragma once

#include <canopy/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace canopy {

/// Which pages of a request's row one KV cache group needs as the request goes on: arithmetic, no state. A row
/// is numbered by pages of tokens:
///
///   | gone: nothing can see them ..... | needed .......................... |
///   0                     first_needed(computed)              row_length(tokens)
///
/// What is needed follows from the last boundary at or before `computed` that every group can serve: its reach
/// must be kept, or that boundary, once inserted, could not be matched. A window counted from the last token
/// instead would free the page that is about to be inserted wherever a page is larger than the window.
struct PageNeeds {
  Units page_size = 1;
  Units overlap = 0;         ///< of the engine's keys: the last tokens of a request are no unit yet
  Units reach = kWholePath;  ///< units
  std::uint32_t every = 1;   ///< pages; the group keeps one in so many, the last of each stretch (recurrent states)
  std::uint32_t grid = 1;    ///< pages; boundaries of the engine are multiples of it: all its groups' `every`

  bool whole_path() const { return reach == kWholePath; }
  /// Whether the group has a page at all at this place of the row.
  bool keeps(std::size_t page) const { return (page + 1) % every == 0; }
  /// Pages kept among [first, end), a stretch that is begun counting as whole.
  std::size_t count(std::size_t first, std::size_t end) const { return (end + every - 1) / every - first / every; }
  /// Length of the row that the first `tokens` tokens take, with the state that the last of them work on.
  std::size_t row_length(std::uint64_t tokens) const;
  /// The first page that is needed when `computed` tokens are computed.
  std::size_t first_needed(std::uint64_t computed) const;
  /// The most pages a request takes at once from those that are free or may be evicted: it goes from `matched` to
  /// `prompt` in steps of `chunk` tokens (0: one step), then token by token to `total`. `taken` of the pages it
  /// matched could be evicted before it locked them: they count as long as it needs them.
  std::size_t peak(std::uint64_t matched, std::size_t taken, std::uint64_t prompt, std::uint64_t total,
                   std::uint64_t chunk) const;
  /// No peak is higher for a request that computes at most `step` tokens at a time, whatever it matched. REQUIRES: not
  /// a whole-path group.
  std::uint64_t peak_at_most(std::uint64_t step) const {
    const std::uint64_t period = std::uint64_t{page_size} * grid;
    return (reach + overlap + std::max<std::uint64_t>(step, 1) + 3 * period) / (std::uint64_t{page_size} * every) + 2;
  }
};

}  // namespace canopy
