#include "traffic.h"

#include <algorithm>
#include <vector>

namespace canopy::workload {
namespace {

class Rag final : public Traffic {
 public:
  Rag(const RagConfig& config, std::uint64_t seed)
      : config_(config), seed_(seed), random_(decisions(derive(seed, kDecisions))) {
    std::uint64_t sum = 0;
    for (std::uint64_t rank = 1; rank <= config.documents; ++rank) {
      std::uint64_t weight = kFirstWeight;
      for (std::uint64_t i = 0; i < config.skew; ++i) weight /= rank;
      sum += std::max<std::uint64_t>(weight, 1);
      weights_up_to_.push_back(sum);
    }
  }

  bool next(ClientRequest& request) override {
    chosen_.clear();
    while (chosen_.size() < config_.per_request) choose();
    if (config_.sorted) std::sort(chosen_.begin(), chosen_.end());

    request.space.clear();
    request.prompt.clear();
    append_text(request.prompt, derive(seed_, kSystem), config_.system_tokens);
    for (const std::uint64_t document : chosen_) {
      const std::uint64_t text = derive(seed_, kDocument, document);
      append_text(request.prompt, text, 1 + decisions(text).around(config_.document_tokens - 1));
    }
    append_text(request.prompt, derive(seed_, kQuestion, questions_++),
                1 + random_.around(config_.question_tokens - 1));
    request.output_tokens = static_cast<std::uint32_t>(random_.around(config_.answer_tokens));
    return false;
  }

 private:
  enum : std::uint64_t { kDecisions, kSystem, kDocument, kQuestion };
  static constexpr std::uint64_t kFirstWeight = std::uint64_t{1} << 40;  ///< a million times this fits into 64 bits

  /// Adds one more document. If it is already there, takes the next most popular one instead: drawing again could take
  /// forever when nearly all documents are wanted.
  void choose() {
    const std::uint64_t draw = random_.remainder(weights_up_to_.back());
    const auto at = std::upper_bound(weights_up_to_.begin(), weights_up_to_.end(), draw);
    auto document = static_cast<std::uint64_t>(at - weights_up_to_.begin());
    while (std::find(chosen_.begin(), chosen_.end(), document) != chosen_.end()) {
      document = (document + 1) % config_.documents;
    }
    chosen_.push_back(document);
  }

  RagConfig config_;
  std::uint64_t seed_, questions_ = 0;
  Random random_;
  std::vector<std::uint64_t> weights_up_to_;  ///< by rank, including the rank itself
  std::vector<std::uint64_t> chosen_;
};

}  // namespace

std::unique_ptr<Traffic> make_traffic(const RagConfig& config, std::uint64_t seed) {
  return std::make_unique<Rag>(config, seed);
}

}  // namespace canopy::workload
