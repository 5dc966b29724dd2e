#pragma once

#include <canopy/eviction_strategy.h>

#include <algorithm>
#include <vector>

namespace canopy {

/// Finds how deep the path of a request that ends has been matched `hits` times or more, from what its policy is told.
/// The policy sees the same nodes as without it.
class HotPath {
 public:
  explicit HotPath(std::uint32_t hits) : hits_(hits) {}

  /// Units of the last path, from the root on.
  Units until() const { return until_; }
  void forget() { until_ = 0; }

  /// Reads all of a path, and gives it on to read(path).
  template <class Read>
  void look(Path& path, Read&& read) {
    nodes_.clear();
    until_ = 0;
    for (NodeFacts facts; path.next(facts); nodes_.push_back(facts))
      if (facts.hits >= hits_) until_ = std::max(until_, facts.begin + facts.length);
    Again again(nodes_);
    read(again);
  }

 private:
  class Again final : public Path {
   public:
    explicit Again(const std::vector<NodeFacts>& nodes) : nodes_(nodes) {}
    bool next(NodeFacts& facts) override {
      if (at_ == nodes_.size()) return false;
      facts = nodes_[at_++];
      return true;
    }

   private:
    const std::vector<NodeFacts>& nodes_;
    std::size_t at_ = 0;
  };

  std::uint32_t hits_;
  Units until_ = 0;
  std::vector<NodeFacts> nodes_;
};

}  // namespace canopy
