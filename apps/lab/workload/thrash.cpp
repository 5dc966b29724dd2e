#include "traffic.h"

namespace canopy::workload {
namespace {

class Thrash final : public Traffic {
 public:
  Thrash(const ThrashConfig& config, std::uint64_t seed)
      : config_(config),
        seed_(seed),
        random_(decisions(derive(seed, kDecisions))),
        prompts_((config.working_set_tokens + config.prompt_tokens - 1) / config.prompt_tokens) {}

  bool next(ClientRequest& request) override {
    request.space.clear();
    request.prompt.resize(config_.prompt_tokens);
    write_text(derive(seed_, kPrompt, turn_), request.prompt.data(), request.prompt.size());
    request.output_tokens = static_cast<std::uint32_t>(random_.around(config_.answer_tokens));
    turn_ = (turn_ + 1) % prompts_;
    return false;
  }

 private:
  enum : std::uint64_t { kDecisions, kPrompt };

  ThrashConfig config_;
  std::uint64_t seed_, turn_ = 0;
  Random random_;
  std::uint64_t prompts_;
};

}  // namespace

std::unique_ptr<Traffic> make_traffic(const ThrashConfig& config, std::uint64_t seed) {
  return std::make_unique<Thrash>(config, seed);
}

}  // namespace canopy::workload
