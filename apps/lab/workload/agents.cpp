#include "answer.h"
#include "traffic.h"

#include <vector>

namespace canopy::workload {
namespace {

/// Walks every tree depth first, several trees at a time. So only a tree's current path is kept, and a step back cuts
/// it: memory does not grow with branches^depth.
class Agents final : public Traffic {
 public:
  Agents(const AgentsConfig& config, std::uint64_t seed)
      : config_(config), seed_(seed), random_(decisions(derive(seed, kDecisions))), trees_(config.tasks) {}

  bool next(ClientRequest& request) override {
    Tree& tree = trees_[random_.remainder(trees_.size())];
    step(tree);
    request.space.clear();
    request.output_tokens = static_cast<std::uint32_t>(random_.around(config_.answer_tokens));
    request.prompt = tree.conversation;
    append_answer(tree.conversation, request.output_tokens);
    tree.path.push_back({tree.conversation.size(), tree.path.size() < config_.depth ? config_.branches : 0});
    return false;
  }

 private:
  enum : std::uint64_t { kDecisions, kPreamble, kTask, kTool };
  struct Step {
    std::size_t end;  ///< end of its prompt and answer, where its branches begin
    std::uint64_t branches_left;
  };
  struct Tree {
    std::vector<Token> conversation;
    std::vector<Step> path;
  };

  /// Makes the conversation the prompt of the next step.
  void step(Tree& tree) {
    while (!tree.path.empty() && tree.path.back().branches_left == 0) tree.path.pop_back();
    if (tree.path.empty()) {
      tree.conversation.clear();
      append_text(tree.conversation, derive(seed_, kPreamble), config_.preamble_tokens);
      append_text(tree.conversation, derive(seed_, kTask, texts_++), 1 + random_.around(config_.task_tokens - 1));
      return;
    }
    --tree.path.back().branches_left;
    tree.conversation.resize(tree.path.back().end);
    append_text(tree.conversation, derive(seed_, kTool, texts_++), 1 + random_.around(config_.tool_tokens - 1));
  }

  AgentsConfig config_;
  std::uint64_t seed_, texts_ = 0;
  Random random_;
  std::vector<Tree> trees_;
};

}  // namespace

std::unique_ptr<Traffic> make_traffic(const AgentsConfig& config, std::uint64_t seed) {
  return std::make_unique<Agents>(config, seed);
}

}  // namespace canopy::workload
