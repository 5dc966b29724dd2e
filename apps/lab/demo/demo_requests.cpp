#include "demo.h"

#include <workload/mixer.h>
#include <workload/traffic.h>

#include <utility>

namespace canopy::demo {

using namespace workload;

std::unique_ptr<RequestSource> requests(std::uint64_t seed) {
  MixConfig mix;
  mix.seed = seed;
  mix.requests = 1200;
  mix.arrivals_per_second = 20;

  ChatConfig chat;
  chat.tenants = 4;
  chat.conversations = 60;
  chat.turns = 5;
  chat.system_tokens = 400;
  chat.user_tokens = 200;
  chat.answer_tokens = 200;
  AgentsConfig agents;
  agents.tasks = 24;
  agents.branches = 2;
  agents.depth = 4;
  agents.preamble_tokens = 500;
  agents.tool_tokens = 300;
  BatchSweepConfig sweep;
  sweep.prefixes = 3;
  sweep.batch = 24;
  sweep.prefix_tokens = 2000;
  RagConfig rag;
  rag.documents = 400;
  rag.per_request = 3;
  rag.document_tokens = 500;

  std::vector<MixItem> items;
  const auto add = [&](const auto& config, std::uint64_t share, std::int32_t priority, const char* space) {
    MixItem item;
    item.traffic = make_traffic(config, derive(seed, 1, items.size()));
    item.share = share;
    item.priority = priority;
    item.space = space;
    items.push_back(std::move(item));
  };
  add(chat, 5, 1, "");
  add(agents, 4, 0, "agents");
  add(sweep, 1, 0, "nightly");
  add(rag, 3, 0, "search");
  return std::make_unique<Mixer>(mix, std::move(items));
}

}  // namespace canopy::demo
