#include "traffic.h"

namespace canopy::workload {
namespace {

class BatchSweep final : public Traffic {
 public:
  BatchSweep(const BatchSweepConfig& config, std::uint64_t seed)
      : config_(config), seed_(seed), random_(decisions(derive(seed, kDecisions))) {}

  bool next(ClientRequest& request) override {
    if (left_ == 0) {
      left_ = config_.batch;
      prefix_ = random_.remainder(config_.prefixes);
    }
    request.space.clear();
    request.prompt.clear();
    append_text(request.prompt, derive(seed_, kPrefix, prefix_), config_.prefix_tokens);
    append_text(request.prompt, derive(seed_, kSuffix, suffixes_++), 1 + random_.around(config_.suffix_tokens - 1));
    request.output_tokens = static_cast<std::uint32_t>(random_.around(config_.answer_tokens));
    return --left_ > 0;
  }

 private:
  enum : std::uint64_t { kDecisions, kPrefix, kSuffix };

  BatchSweepConfig config_;
  std::uint64_t seed_, left_ = 0, prefix_ = 0, suffixes_ = 0;
  Random random_;
};

}  // namespace

std::unique_ptr<Traffic> make_traffic(const BatchSweepConfig& config, std::uint64_t seed) {
  return std::make_unique<BatchSweep>(config, seed);
}

}  // namespace canopy::workload
