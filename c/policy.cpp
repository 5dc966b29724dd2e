#include "policy.h"

#include <algorithm>
#include <array>

struct canopy_path {
  canopy::Path& nodes;
};

namespace canopy::c {
namespace {

canopy_node_facts facts_of(const NodeFacts& node) {
  return {.size = sizeof(canopy_node_facts),
          .id = static_cast<std::uint64_t>(node.id),
          .space = static_cast<std::uint32_t>(node.space),
          .begin = node.begin,
          .length = node.length,
          .hits = node.hits,
          .inserts = node.inserts,
          .children = node.children,
          .priority = node.priority,
          .reserved = 0,
          .created = node.created,
          .last_access = node.last_access,
          .spared = node.spared,
          .now = node.clock.now,
          .allocated = node.clock.allocated,
          .used = node.clock.used,
          .capacity = node.clock.capacity,
          .tag = node.tag,
          .parent_tag = node.parent_tag};
}

canopy_arrival arrival_of(const RequestFacts& request) {
  return {.size = sizeof(canopy_arrival),
          .id = request.id,
          .hints = request.hints,
          .space = static_cast<std::uint32_t>(request.space),
          .priority = request.priority,
          .prompt = request.prompt,
          .matched = request.matched,
          .output = request.output,
          .ending = static_cast<std::uint32_t>(request.ending),
          .prints = request.prefix_prints.data(),
          .print_count = request.prefix_prints.size(),
          .now = request.clock.now,
          .allocated = request.clock.allocated,
          .used = request.clock.used,
          .capacity = request.clock.capacity};
}

}  // namespace

std::shared_ptr<const PolicyTable> read_policy(const char* function, const canopy_policy* given, canopy_code& code) {
  auto table = std::make_shared<PolicyTable>();
  canopy_policy& own = table->functions;
  const auto refuse = [&](const char* why) {
    code = fail(CANOPY_BAD_ARGUMENT, function, "{}", why);
    return nullptr;
  };
  code = take(function, "policy", given, own);
  if (code != CANOPY_OK) return nullptr;
  if (!own.name || !*own.name) return refuse("policy->name is NULL or empty");
  if (!own.summary) return refuse("policy->summary is NULL");
  if (!own.rank) return refuse("policy->rank is NULL");
  if (own.destroy && !own.create) return refuse("policy->destroy without policy->create");
  if (own.prints < CANOPY_PRINTS_NONE || own.prints > CANOPY_PRINTS_ALL)
    return refuse("policy->prints is not CANOPY_PRINTS_NONE, _REQUESTS or _ALL");
  table->name = own.name;
  table->summary = own.summary;
  if (own.rule) table->rule = own.rule;
  if (own.rank_text) table->rank_text = own.rank_text;
  return table;
}

std::shared_ptr<EvictionStrategy> CPolicy::create(std::shared_ptr<const PolicyTable> table) {
  void* const self =
      table->functions.create ? table->functions.create(table->functions.context) : table->functions.context;
  if (table->functions.create && !self) return nullptr;
  return std::make_shared<CPolicy>(std::move(table), self);
}

CPolicy::~CPolicy() {
  if (of().destroy) of().destroy(self_);
}

Rank CPolicy::rank(const NodeFacts& node) {
  const canopy_node_facts facts = facts_of(node);
  const canopy_rank rank = of().rank(self_, &facts);
  return {rank.major, rank.minor};
}

void CPolicy::rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) {
  if (!of().rank_many) return EvictionStrategy::rank_many(nodes, ranks);
  constexpr std::size_t kPiece = 64;
  std::array<canopy_node_facts, kPiece> facts;
  std::array<canopy_rank, kPiece> answers;
  for (std::size_t from = 0; from < nodes.size(); from += kPiece) {
    const std::size_t count = std::min(kPiece, nodes.size() - from);
    for (std::size_t i = 0; i < count; ++i) facts[i] = facts_of(nodes[from + i]);
    answers.fill({});
    of().rank_many(self_, facts.data(), count, answers.data());
    for (std::size_t i = 0; i < count; ++i) ranks[from + i] = {answers[i].major, answers[i].minor};
  }
}

bool CPolicy::spare(const NodeFacts& node) {
  if (!of().spare) return false;
  const canopy_node_facts facts = facts_of(node);
  return of().spare(self_, &facts) != 0;
}

void CPolicy::evicted(const NodeFacts& node, const Eviction& eviction) {
  if (!of().evicted) return;
  const canopy_node_facts facts = facts_of(node);
  const canopy_eviction why = {.size = sizeof(canopy_eviction),
                               .cause = static_cast<std::uint32_t>(eviction.cause),
                               .reserved = 0,
                               .prints = eviction.prefix_prints.data(),
                               .print_count = eviction.prefix_prints.size()};
  of().evicted(self_, &facts, &why);
}

void CPolicy::arrived(const RequestFacts& request) {
  if (!of().arrived) return;
  const canopy_arrival facts = arrival_of(request);
  of().arrived(self_, &facts);
}

void CPolicy::ended(const RequestFacts& request, Path& path) {
  if (!of().ended) return;
  const canopy_arrival facts = arrival_of(request);
  canopy_path nodes{path};
  of().ended(self_, &facts, &nodes);
}

}  // namespace canopy::c

using namespace canopy::c;

int32_t canopy_path_next(canopy_path* path, canopy_node_facts* facts) {
  constexpr const char* kName = "canopy_path_next";
  if (!path || check_result(kName, "facts", facts)) return 0;
  canopy::NodeFacts node;
  if (!path->nodes.next(node)) return 0;
  give(facts_of(node), facts);
  return 1;
}
