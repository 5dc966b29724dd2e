#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

namespace canopy::replay {

/// The steps in which requests committed their tokens. They separate a token that two running requests computed from
/// one that was there before the second of them began. A request is forgotten when no running one began before its end.
class CommitSteps {
 private:
  /// Returns the commit of a token: the first one that ends behind it.
  template <class Commits>
  static auto first_after(Commits& commits, std::uint32_t token) {
    return std::partition_point(commits.begin(), commits.end(),
                                [&](const auto& commit) { return commit.first <= token; });
  }

 public:
  /// Records that a request has committed its tokens before `until`. REQUIRES: the steps of a request do not decrease.
  void committed(std::uint64_t request, std::uint32_t until, std::uint64_t step) {
    commits_[request].emplace_back(until, step);
  }
  /// Records that a request was retracted, came back, and found only its tokens before `until`.
  void came_back(std::uint64_t request, std::uint32_t until) {
    const auto found = commits_.find(request);
    if (found == commits_.end()) return;
    const auto gone = first_after(found->second, until);
    if (gone == found->second.end()) return;
    gone->first = until;
    found->second.erase(std::next(gone), found->second.end());
  }
  /// Returns true if a request committed a token in this step or later.
  bool committed_since(std::uint64_t request, std::uint32_t token, std::uint64_t step) const {
    const auto found = commits_.find(request);
    if (found == commits_.end()) return false;
    const auto commit = first_after(found->second, token);
    return commit != found->second.end() && commit->second >= step;
  }
  /// Records the end of a request, and forgets those that ended before `oldest`, the first step of the oldest request
  /// that still runs.
  void ended(std::uint64_t request, std::uint64_t step, std::uint64_t oldest) {
    ended_.emplace_back(request, step);
    for (; !ended_.empty() && ended_.front().second < oldest; ended_.pop_front()) commits_.erase(ended_.front().first);
  }

 private:
  /// By request: the end of each commit and its step.
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::uint32_t, std::uint64_t>>> commits_;
  std::deque<std::pair<std::uint64_t, std::uint64_t>> ended_;  ///< request and step, oldest first
};

}  // namespace canopy::replay
