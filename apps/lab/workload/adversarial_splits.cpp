#include "traffic.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace canopy::workload {
namespace {

class AdversarialSplits final : public Traffic {
 public:
  AdversarialSplits(const AdversarialSplitsConfig& config, std::uint64_t seed)
      : config_(config), seed_(seed), random_(decisions(derive(seed, kDecisions))) {
    // A key that diverges after the last page splits nothing.
    pages_.resize((config.key_tokens - 1) / config.page_size);
    std::iota(pages_.begin(), pages_.end(), std::uint32_t{1});
    if (config.order == AdversarialSplitsConfig::Order::descending) std::reverse(pages_.begin(), pages_.end());
  }

  bool next(ClientRequest& request) override {
    request.space.clear();
    request.prompt.clear();
    request.output_tokens = static_cast<std::uint32_t>(random_.around(config_.answer_tokens));
    if (turn_ == 0) {
      if (config_.order == AdversarialSplitsConfig::Order::shuffled) shuffle();
      append_text(request.prompt, derive(seed_, kKey, keys_++), config_.key_tokens);
    } else {
      diverge(request.prompt, pages_[turn_ - 1] * config_.page_size);
    }
    turn_ = (turn_ + 1) % (pages_.size() + 1);
    return false;
  }

 private:
  enum : std::uint64_t { kDecisions, kKey, kTail };

  void diverge(std::vector<Token>& prompt, std::uint64_t shared) {
    const std::uint64_t key = derive(seed_, kKey, keys_ - 1);
    append_text(prompt, key, shared);
    append_text(prompt, derive(seed_, kTail, tails_++), config_.tail_tokens);
    // A tail that happens to begin like the rest of the key would diverge one page later, or not at all.
    if (Token& first = prompt[shared]; first == token_at(key + shared)) {
      first = static_cast<Token>((first + 1) % kVocabulary);
    }
  }

  void shuffle() {
    for (std::size_t i = pages_.size(); i > 1; --i) std::swap(pages_[i - 1], pages_[random_.remainder(i)]);
  }

  AdversarialSplitsConfig config_;
  std::uint64_t seed_, keys_ = 0, tails_ = 0;
  Random random_;
  std::vector<std::uint32_t> pages_;  ///< pages after which requests diverge from the key, in the order of the requests
  std::size_t turn_ = 0;              ///< 0: the key itself
};

}  // namespace

std::unique_ptr<Traffic> make_traffic(const AdversarialSplitsConfig& config, std::uint64_t seed) {
  return std::make_unique<AdversarialSplits>(config, seed);
}

}  // namespace canopy::workload
