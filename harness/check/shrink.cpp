#include "shrink.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace canopy::check {
namespace {

using Clock = std::chrono::steady_clock;

class Shrinking {
 public:
  Shrinking(Program program, const Fails& fails, double seconds)
      : best_(std::move(program)),
        fails_(fails),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  Program run() {
    for (bool fewer = true; fewer && in_time();) {
      fewer = leave_out_requests();
      fewer |= leave_out_parts();
      fewer |= make_smaller();
    }
    return std::move(best_);
  }

 private:
  bool in_time() const { return Clock::now() < end_; }
  bool take(Program&& candidate) {
    if (!in_time() || !fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  /// Everything that a request does at once: what is left is about a few of them.
  bool leave_out_requests() {
    std::set<std::uint64_t> names;
    for (const Operation& operation : best_.operations)
      if (operation.verb == Verb::begin) names.insert(operation.request);
    bool any = false;
    for (const std::uint64_t name : names) {
      Program without = best_;
      std::erase_if(without.operations, [&](const Operation& one) { return one.request == name; });
      any |= take(std::move(without));
    }
    return any;
  }

  /// Stretches of operations, from halves to single ones, the last first.
  bool leave_out_parts() {
    bool any = false;
    for (std::size_t width = std::max<std::size_t>(best_.operations.size() / 2, 1); in_time(); width /= 2) {
      for (std::size_t end = best_.operations.size(); end > 0 && in_time();) {
        const std::size_t first = end - std::min(end, width);
        Program without = best_;
        without.operations.erase(without.operations.begin() + static_cast<std::ptrdiff_t>(first),
                                 without.operations.begin() + static_cast<std::ptrdiff_t>(end));
        any |= take(std::move(without));
        end = first;
      }
      if (width <= 1) break;
    }
    return any;
  }

  /// Shorter prompts, and numbers nearer to nothing.
  bool make_smaller() {
    bool any = false;
    for (std::size_t i = 0; i < best_.operations.size() && in_time(); ++i) {
      for (std::size_t cut = best_.operations[i].tokens.size() / 2; cut > 0 && in_time(); cut /= 2)
        any |= change(
            i, [&](Operation& one) { one.tokens.resize(one.tokens.size() - std::min(cut, one.tokens.size() - 1)); });
      const auto smaller = [&](auto field) { any |= change(i, [&](Operation& one) { one.*field = 0; }); };
      smaller(&Operation::space), smaller(&Operation::priority), smaller(&Operation::leave);
      smaller(&Operation::output), smaller(&Operation::chunk), smaller(&Operation::soon);
      any |= change(i, [&](Operation& one) { one.commits = false; });
      if (best_.operations[i].count != kUnlimited) any |= change(i, [&](Operation& one) { one.count /= 2; });
    }
    return any;
  }

  template <class Change>
  bool change(std::size_t i, Change&& how) {
    Program other = best_;
    how(other.operations[i]);
    if (text_of(other.operations[i], other.groups) == text_of(best_.operations[i], best_.groups)) return false;
    return take(std::move(other));
  }

  Program best_;
  const Fails& fails_;
  Clock::time_point end_;
};

}  // namespace

Program shrunk(Program program, const Fails& fails, double seconds) {
  return Shrinking(std::move(program), fails, seconds).run();
}

}  // namespace canopy::check
