#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

namespace canopy::test {

/// Makes a failing program smaller, as long as the rest fails and time remains. A Program has a vector of `operations`;
/// every subsequence is a program too.
template <class Program>
class Shrinking {
 public:
  /// Returns the number of operations that the failure needs, or nothing if the program does not fail.
  using Fails = std::function<std::optional<std::size_t>(const Program&)>;

  Shrinking(Program program, Fails fails, double seconds)
      : best_(std::move(program)),
        fails_(std::move(fails)),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  const Program& best() const { return best_; }
  bool in_time() const { return Clock::now() < end_; }

  /// Replaces the best program by this one, up to the operation at which it fails. Returns false if it does not fail.
  bool take(Program&& candidate) {
    if (!in_time()) return false;
    const auto needed = fails_(candidate);
    if (!needed) return false;
    candidate.operations.resize(std::min(*needed, candidate.operations.size()));
    best_ = std::move(candidate);
    return true;
  }

  /// Removes ranges of operations, from halves to single ones, the last first.
  bool leave_out_parts() {
    bool any = false;
    for (std::size_t width = std::max<std::size_t>(best_.operations.size() / 2, 1); in_time(); width /= 2) {
      for (std::size_t end = best_.operations.size(); end > 0 && in_time();) {
        const std::size_t first = end - std::min(end, width);
        Program without = best_;
        without.operations.erase(without.operations.begin() + static_cast<std::ptrdiff_t>(first),
                                 without.operations.begin() + static_cast<std::ptrdiff_t>(end));
        any |= take(std::move(without));
        end = std::min(first, best_.operations.size());
      }
      if (width <= 1) break;
    }
    return any;
  }

  /// Shortens a list of numbers of each operation from its end, to at least `least` numbers.
  template <class List>
  bool shorten(List list, std::size_t least) {
    bool any = false;
    for (std::size_t i = 0; i < best_.operations.size(); ++i)
      for (std::size_t cut = (best_.operations[i].*list).size(); cut > 0 && in_time(); cut /= 2)
        while (i < best_.operations.size() && (best_.operations[i].*list).size() >= cut + least &&
               change(i, [&](auto& one) { (one.*list).resize((one.*list).size() - cut); }))
          any = true;
    return any;
  }

  /// Changes one operation.
  template <class Change>
  bool change(std::size_t i, Change&& how) {
    Program other = best_;
    how(other.operations[i]);
    return take(std::move(other));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Program best_;
  Fails fails_;
  Clock::time_point end_;
};

}  // namespace canopy::test
