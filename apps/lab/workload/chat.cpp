#include "answer.h"
#include "traffic.h"

#include <vector>

namespace canopy::workload {
namespace {

class Chat final : public Traffic {
 public:
  Chat(const ChatConfig& config, std::uint64_t seed)
      : config_(config),
        seed_(seed),
        random_(decisions(derive(seed, kDecisions))),
        talks_(config.tenants * config.conversations) {}

  bool next(ClientRequest& request) override {
    const std::uint64_t which = random_.remainder(talks_.size());
    const std::uint64_t tenant = which / config_.conversations;
    Talk& talk = talks_[which];
    if (talk.turns_left == 0) {
      talk.turns_left = 1 + random_.remainder(2 * config_.turns - 1);
      talk.conversation.clear();
      append_text(talk.conversation, derive(seed_, kSystem, tenant), config_.system_tokens);
    }
    append_text(talk.conversation, derive(seed_, kUser, messages_++), 1 + random_.around(config_.user_tokens - 1));

    request.space = config_.tenants > 1 ? "tenant-" + std::to_string(tenant) : "";
    request.output_tokens = static_cast<std::uint32_t>(random_.around(config_.answer_tokens));
    request.prompt = talk.conversation;
    if (--talk.turns_left > 0) append_answer(talk.conversation, request.output_tokens);
    return false;
  }

 private:
  enum : std::uint64_t { kDecisions, kSystem, kUser };
  struct Talk {
    std::vector<Token> conversation;  ///< tokens of all turns, including the last answer
    std::uint64_t turns_left = 0;
  };

  ChatConfig config_;
  std::uint64_t seed_, messages_ = 0;
  Random random_;
  std::vector<Talk> talks_;  ///< grouped by tenant
};

}  // namespace

std::unique_ptr<Traffic> make_traffic(const ChatConfig& config, std::uint64_t seed) {
  return std::make_unique<Chat>(config, seed);
}

}  // namespace canopy::workload
