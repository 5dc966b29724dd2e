#include "traffic.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace canopy::workload {
namespace {

class FewShot final : public Traffic {
 public:
  FewShot(const FewShotConfig& config, std::uint64_t seed)
      : config_(config), seed_(seed), random_(decisions(derive(seed, kDecisions))), order_(config.examples) {
    std::iota(order_.begin(), order_.end(), std::uint64_t{0});
  }

  bool next(ClientRequest& request) override {
    const std::uint64_t task = random_.remainder(config_.tasks);
    if (config_.shuffled) {
      for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_.remainder(i)]);
    }
    request.space.clear();
    request.prompt.clear();
    for (const std::uint64_t example : order_) {
      const std::uint64_t text = derive(seed_, kExample, task * config_.examples + example);
      append_text(request.prompt, text, 1 + decisions(text).around(config_.example_tokens - 1));
    }
    append_text(request.prompt, derive(seed_, kQuestion, questions_++),
                1 + random_.around(config_.question_tokens - 1));
    request.output_tokens = static_cast<std::uint32_t>(random_.around(config_.answer_tokens));
    return false;
  }

 private:
  enum : std::uint64_t { kDecisions, kExample, kQuestion };

  FewShotConfig config_;
  std::uint64_t seed_, questions_ = 0;
  Random random_;
  std::vector<std::uint64_t> order_;
};

}  // namespace

std::unique_ptr<Traffic> make_traffic(const FewShotConfig& config, std::uint64_t seed) {
  return std::make_unique<FewShot>(config, seed);
}

}  // namespace canopy::workload
