#include "checkpoints.h"

#include <algorithm>

namespace canopy::inspector {

void Checkpoints::pass(std::uint64_t commit, const Mirror& mirror) {
  if (commit == wanted_) {
    near_.clear();
    near_.emplace(commit, mirror);
    wanted_ = 0;
  }
  if (commit == 0 || commit % distance_ != 0 || kept_.contains(commit)) return;
  bytes_ += mirror.bytes();
  kept_.emplace(commit, mirror);
  while (bytes_ > most_bytes_ && !kept_.empty()) {
    distance_ *= 2;
    std::erase_if(kept_, [&](const auto& one) {
      if (one.first % distance_ == 0) return false;
      bytes_ -= one.second.bytes();
      return true;
    });
  }
}

std::uint64_t Checkpoints::next(std::uint64_t commit) const {
  const std::uint64_t due = (commit / distance_ + 1) * distance_;
  return wanted_ > commit ? std::min(due, wanted_) : due;
}

void Checkpoints::expect(std::uint64_t from, std::uint64_t target) {
  wanted_ = target - from > 2 * kNear ? target - kNear : 0;
}

std::uint64_t Checkpoints::go_back(std::uint64_t commit, Mirror& mirror) {
  const auto before = [&](const std::map<std::uint64_t, Mirror>& moments) {
    const auto after = moments.upper_bound(commit);
    return after == moments.begin() ? moments.end() : std::prev(after);
  };
  const auto far = before(kept_), near = before(near_);
  const bool nearer = near != near_.end() && (far == kept_.end() || near->first > far->first);
  const bool none = !nearer && far == kept_.end();
  const std::uint64_t at = none ? 0 : nearer ? near->first : far->first;
  expect(at, commit);
  if (none) mirror.reset();
  else mirror = nearer ? near->second : far->second;
  if (!nearer) near_.clear();  // with the other copies it would share no memory that is read again
  return at;
}

std::uint64_t Checkpoints::copy_before(std::uint64_t commit, Mirror& mirror) const {
  const auto after = kept_.upper_bound(commit);
  if (after == kept_.begin()) return 0;
  mirror = std::prev(after)->second;
  return std::prev(after)->first;
}

}  // namespace canopy::inspector
