#include "shrink.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

namespace canopy::program {
namespace {

using Clock = std::chrono::steady_clock;
using Operations = std::vector<Operation>;

class Shrinking {
 public:
  Shrinking(Operations operations, const Fails& fails, double seconds)
      : best_(std::move(operations)),
        fails_(fails),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  const Operations& best() const { return best_; }
  bool in_time() const { return Clock::now() < end_; }

  /// Replaces the best program by this one, up to the operation at which it fails. Returns false if it does not fail.
  bool take(Operations&& candidate) {
    if (!in_time()) return false;
    const auto needed = fails_(candidate);
    if (!needed) return false;
    candidate.resize(std::min(*needed, candidate.size()));
    best_ = std::move(candidate);
    return true;
  }

  /// Leaves out all operations with a name together, so that only a few requests or locks remain.
  bool leave_out_names() {
    std::set<std::string> names;
    for (const Operation& one : best_) names.insert({one.name, one.as});
    names.erase("");
    bool any = false;
    for (const std::string& name : names) {
      Operations without = best_;
      if (std::erase_if(without, [&](const Operation& one) { return one.name == name || one.as == name; }) > 0)
        any |= take(std::move(without));
    }
    return any;
  }

  /// Leaves out ranges of operations, from halves to single ones, the last first.
  bool leave_out_parts() {
    bool any = false;
    for (std::size_t width = std::max<std::size_t>(best_.size() / 2, 1); in_time(); width /= 2) {
      for (std::size_t end = best_.size(); end > 0 && in_time();) {
        const std::size_t first = end - std::min(end, width);
        Operations without = best_;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(first),
                      without.begin() + static_cast<std::ptrdiff_t>(end));
        any |= take(std::move(without));
        end = std::min(first, best_.size());
      }
      if (width <= 1) break;
    }
    return any;
  }

  /// Shortens the words of each operation from their end.
  bool shorten() {
    bool any = false;
    for (std::size_t i = 0; i < best_.size(); ++i)
      for (std::size_t cut = best_[i].words.size(); cut > 0 && in_time(); cut /= 2)
        while (i < best_.size() && best_[i].words.size() >= cut + least_words(best_[i].verb)) {
          Operation shorter = best_[i];
          shorter.words.resize(shorter.words.size() - cut);
          if (!change(i, std::move(shorter))) break;
          any = true;
        }
    return any;
  }

  /// Leaves out settings, and makes numbers smaller.
  bool simplify() {
    bool any = false;
    for (std::size_t i = 0; i < best_.size() && in_time(); ++i)
      for (bool more = true; more && i < best_.size();) {
        more = false;
        for (Operation& other : smaller(best_[i]))
          if (more = change(i, std::move(other)); more) break;
        any |= more;
      }
    return any;
  }

 private:
  bool change(std::size_t i, Operation other) {
    Operations changed = best_;
    changed[i] = std::move(other);
    return take(std::move(changed));
  }

  Operations best_;
  const Fails& fails_;
  Clock::time_point end_;
};

}  // namespace

std::vector<Operation> shrunk(std::vector<Operation> operations, const Fails& fails, double seconds) {
  Shrinking shrinking(std::move(operations), fails, seconds);
  for (bool fewer = true; fewer && shrinking.in_time();) {
    fewer = shrinking.leave_out_names();
    fewer |= shrinking.leave_out_parts();
    fewer |= shrinking.shorten();
    fewer |= shrinking.simplify();
  }
  return shrinking.best();
}

}  // namespace canopy::program
