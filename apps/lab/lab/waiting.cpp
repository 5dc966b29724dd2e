#include "waiting.h"

#include <mirror/rank_text.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace canopy::lab {
namespace {

constexpr std::string_view kBetween = "; ";

/// Splits a rank's words, which consist of clauses: the first has the numbers, the second is the kind of node, if there
/// is one. Returns the kind, and the other clauses.
std::pair<std::string, std::string> kind_in(const std::string& words) {
  const std::size_t at = words.find(kBetween);
  if (at == words.npos) return {"", words};
  const std::size_t kind = at + kBetween.size(), end = words.find(kBetween, kind);
  if (end == words.npos) return {words.substr(kind), words.substr(0, at)};
  return {words.substr(kind, end - kind), words.substr(0, at) + words.substr(end)};
}

struct Queue final : QueueVisitor {
  struct Entry {
    Rank rank;
    NodeId id;
    Units length;
  };
  std::vector<Entry> entries;
  void waiting(const NodeFacts& node, Rank rank) override { entries.push_back({rank, node.id, node.length}); }
};

}  // namespace

Waiting waiting_in(const Engine& engine, Units unit) {
  const PolicyText text = engine.policy_text(0);
  Queue queue;
  engine.index().waiting(0, queue);
  std::sort(queue.entries.begin(), queue.entries.end(), [](const Queue::Entry& a, const Queue::Entry& b) {
    return a.rank != b.rank ? a.rank < b.rank : slot_of(a.id) < slot_of(b.id);
  });

  Waiting all{text.rule, {}};
  const bool has_kinds = std::string_view(text.rank).find(kBetween) != std::string_view::npos;
  std::map<std::string, std::size_t> at;
  for (const Queue::Entry& entry : queue.entries) {
    const bool known = !has_kinds && !all.kinds.empty();
    const auto [kind, first] = known ? std::pair<std::string, std::string>()
                                     : kind_in(inspector::rank_words(text.rank, entry.rank, engine.index().now()));
    const auto [place, made] = at.emplace(kind, all.kinds.size());
    if (made) all.kinds.push_back({kind, first});
    ++all.kinds[place->second].nodes;
    all.kinds[place->second].tokens += std::uint64_t{entry.length} * unit;
  }
  return all;
}

}  // namespace canopy::lab
