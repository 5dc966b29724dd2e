#pragma once

#include <canopy/base/random.h>

#include <vector>

#include "operation.h"

namespace canopy::program {

/// Words of earlier operations of a random program, so that its keys and prompts share beginnings.
class History {
 public:
  /// `most`: lists that are remembered; a later one replaces any of them.
  explicit History(std::uint32_t most) : most_(most) {}

  /// Gives an operation the words of an earlier one, or their beginning, and mostly its namespace. Returns false, and
  /// does nothing, where its words are to be new.
  bool begin(Random& random, Operation& operation) const {
    if (written_.empty() || random.below(3) == 0) return false;
    const Written& earlier = written_[random.below(static_cast<std::uint32_t>(written_.size()))];
    if (!random.one_in(8)) operation.space = earlier.space;
    const auto whole = static_cast<std::uint32_t>(earlier.words.size());
    const std::uint32_t kept = random.one_in(4) ? whole : random.below(whole + 1);
    operation.words.assign(earlier.words.begin(), earlier.words.begin() + kept);
    return true;
  }

  void remember(Random& random, NamespaceId space, std::vector<std::uint32_t> words) {
    if (written_.size() < most_) written_.push_back({space, std::move(words)});
    else written_[random.below(most_)] = {space, std::move(words)};
  }

 private:
  struct Written {
    NamespaceId space{};
    std::vector<std::uint32_t> words;
  };
  std::uint32_t most_;
  std::vector<Written> written_;
};

}  // namespace canopy::program
