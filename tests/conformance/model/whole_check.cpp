#include "whole_check.h"

#include <program/mismatch.h>
#include "index_walk.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace canopy::test {

namespace {

struct Waiters final : QueueVisitor {
  std::vector<std::pair<NodeFacts, Rank>> all;
  void waiting(const NodeFacts& node, Rank rank) override { all.emplace_back(node, rank); }
};

std::string title(const WalkedNode& node) {
  return fmt::format("node at slot {} (depth {}, {} units)", slot_of(node.facts.id), node.facts.begin,
                     node.facts.length);
}

std::string text_of(Rank rank) { return fmt::format("{{{}, {}}}", rank.major, rank.minor); }

/// Checks that ticks have the same order in the models and in the index, which have different clocks.
void check_same_order(const char* what, std::vector<std::pair<Tick, Tick>> model_and_index) {
  std::ranges::sort(model_and_index);
  for (std::size_t i = 1; i < model_and_index.size(); ++i) {
    const auto& [model, index] = model_and_index[i];
    const auto& [earlier_model, earlier_index] = model_and_index[i - 1];
    if ((model == earlier_model) != (index == earlier_index) || index < earlier_index)
      disagree("{}: in the model tick {} comes {} tick {}", what, index,
               model == earlier_model ? "together with" : "after", earlier_index);
  }
}

class WholeCheck {
 public:
  WholeCheck(const PrefixIndex& index, const TenantIndex* tenants, const std::vector<Part>& parts,
             const FlatIndex& flat, const VictimOrder* order, const WorldConfig& config)
      : index_(index),
        tenants_(tenants),
        parts_(parts),
        flat_(flat),
        order_(order),
        config_(config),
        nodes_(walk(index)) {}

  void run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const WalkedNode& node = nodes_[i];
      if (!by_id_.emplace(node.facts.id, i).second) disagree("{} is visited twice", title(node));
      if (!slots_.insert(slot_of(node.facts.id)).second) disagree("two nodes share slot {}", slot_of(node.facts.id));
      check_shape(node);
      for (std::size_t g = 0; g < parts_.size(); ++g) check_group(node, g);
      check_names(node);
      check_kept(node);
    }
    check_counts();
    for (std::size_t g = 0; g < parts_.size(); ++g) check_waiting(g);
    check_same_order("created", std::move(created_));
    check_same_order("last access of nodes that may be evicted", std::move(accessed_));
  }

 private:
  void check_shape(const WalkedNode& node) {
    const NodeFacts& facts = node.facts;
    if (facts.length == 0 || facts.length % config_.page_size != 0) disagree("{} is not whole pages", title(node));
    if (node.words.size() != facts.length + config_.overlap)
      disagree("{} has {} words", title(node), node.words.size());
    if (node.parent == NodeId::none) {
      if (facts.begin != 0) disagree("{} is a child of the root", title(node));
    } else {
      const auto found = by_id_.find(node.parent);
      if (found == by_id_.end()) disagree("{} comes before its parent", title(node));
      const WalkedNode& parent = nodes_[found->second];
      if (parent.facts.begin + parent.facts.length != facts.begin || parent.facts.space != facts.space)
        disagree("{} does not continue its parent, {}", title(node), title(parent));
      if (!std::equal(parent.words.end() - config_.overlap, parent.words.end(), node.words.begin()))
        disagree("{} and its parent disagree about the words they share", title(node));
    }
    // Siblings come in the order in which they were made. The upper half of a split keeps its place and, except in
    // RadixCache's accounting, its age.
    Tick& youngest = youngest_child_[{node.parent, facts.space}];
    if (facts.created <= youngest && youngest != 0 && config_.options.find("sglang") == std::string::npos)
      disagree("{} came after a younger sibling", title(node));
    youngest = facts.created;
    if (node.parent != NodeId::none) ++children_[node.parent];
  }

  void check_group(const WalkedNode& node, std::size_t g) {
    if (!node.pages[g].empty() && node.pages[g].size() * config_.page_size != node.facts.length)
      disagree("{} has {} pages of group {}", title(node), node.pages[g].size(), g);
    for (const Page page : node.pages[g]) {
      if (!owned_[g].insert(page).second) disagree("page {} of group {} has two owners", page, g);
      if (!parts_[g].allocator->is_out(page)) disagree("page {} of {} is free", page, title(node));
    }
    if (!node.pages[g].empty())
      (node.locks[g] == 0 ? walked_[g].evictable : walked_[g].protected_) += node.facts.length;
    if (node.parent == NodeId::none || parts_[g].reach != kWholePath) return;
    const WalkedNode& parent = nodes_[by_id_.at(node.parent)];
    if (parent.locks[g] < node.locks[g]) disagree("{} has more locks than its parent", title(node));
    if (parent.pages[g].empty()) disagree("{} is below a gap of group {}, which needs whole paths", title(node), g);
  }

  void check_names(const WalkedNode& node) {
    const std::size_t pages = node.facts.length / config_.page_size;
    PrefixName name = node.parent == NodeId::none ? name_of(node.facts.space) : last_name_.at(node.parent);
    for (std::size_t i = 0; i < pages; ++i) {
      const std::span<const std::uint32_t> words(node.words);
      name = name_of(name, words.subspan(i * config_.page_size, config_.page_size + config_.overlap));
      if (!names_.insert(name).second) disagree("{}: its page {} is in the tree twice", title(node), i);
      const FlatIndex::Entry* entry = flat_.find(name);
      if (!entry) disagree("{}: its page {} should have left", title(node), i);
      for (std::size_t g = 0; g < parts_.size(); ++g) {
        const Page page = node.pages[g].empty() ? 0 : node.pages[g][i];
        if (entry->pages[g] != page)
          disagree("{}: page {} of group {} should be {}", title(node), page, g, entry->pages[g]);
        if (entry->locks[g] != node.locks[g])
          disagree("{} counts {} locks in group {}, not {}", title(node), node.locks[g], g, entry->locks[g]);
      }
      if (order_ && order_->ends_segment(name) != (i + 1 == pages))
        disagree("{}: there should be {} boundary after its page {}", title(node),
                 order_->ends_segment(name) ? "a" : "no", i);
    }
    last_name_.emplace(node.facts.id, name);
    if (!order_) return;
    const PageHistory& history = order_->history(name);
    if (node.facts.hits != history.hits)
      disagree("{} counts {} hits, not {}", title(node), node.facts.hits, history.hits);
    created_.emplace_back(history.created, node.facts.created);
  }

  void check_kept(const WalkedNode& node) {
    if (!tenants_) return;
    const std::size_t pages = node.facts.length / config_.page_size;
    std::size_t unkept = node.parent == NodeId::none ? 0 : unkept_.at(node.parent);
    const PrefixName last = last_name_.at(node.facts.id);
    PrefixName name = last;
    for (std::size_t i = 0; i < pages; ++i) {
      const FlatIndex::Entry& entry = *flat_.find(name);
      if ((entry.kept > 0) != (flat_.find(last)->kept > 0)) disagree("{} is kept in part", title(node));
      unkept += entry.kept == 0;
      name = entry.before;
    }
    unkept_.emplace(node.facts.id, unkept);
    if (const Units came = tenants_->unkept(node.facts.id); came != unkept * config_.page_size)
      disagree("{}: {} units of its path are not kept, not {}", title(node), unkept * config_.page_size, came);
  }

  void check_counts() {
    if (names_.size() != flat_.entries())
      disagree("the index has nodes for {} pages, not {}", names_.size(), flat_.entries());
    expect_equal("nodes that visit() reports and use() counts", index_.use().nodes, nodes_.size());
    for (const WalkedNode& node : nodes_) {
      const auto found = children_.find(node.facts.id);
      const std::uint32_t children = found == children_.end() ? 0 : found->second;
      if (node.facts.children != children)
        disagree("{} counts {} children, not {}", title(node), node.facts.children, children);
    }
    for (std::size_t g = 0; g < parts_.size(); ++g) {
      expect_equal("evictable units, summed over nodes", walked_[g].evictable, index_.sizes(g).evictable);
      expect_equal("protected units, summed over nodes", walked_[g].protected_, index_.sizes(g).protected_);
    }
  }

  void check_waiting(std::size_t g) {
    Waiters waiters;
    index_.waiting(g, waiters);
    std::unordered_set<NodeId> met;
    std::set<PrefixName> expected;
    if (order_)
      for (const PrefixName name : order_->leaves()) expected.insert(name);
    for (const auto& [facts, rank] : waiters.all) {
      const auto found = by_id_.find(facts.id);
      if (found == by_id_.end()) disagree("slot {} is in the queue but is not a node", slot_of(facts.id));
      const WalkedNode& node = nodes_[found->second];
      if (!met.insert(facts.id).second || node.pages[g].empty() || node.locks[g] > 0)
        disagree("{} is in the queue of group {} twice, or may not be evicted from it", title(node), g);
      // Each group has its own recency, and visit() reports that of the first one.
      if ((g == 0 && facts.last_access != node.facts.last_access) || facts.hits != node.facts.hits)
        disagree("waiting() and visit() report different facts of {}", title(node));
      EvictionStrategy& policy = parts_[g].policy_of(flat_.tenant_of(facts.space));
      if (policy.volatility() == Volatility::none && policy.rank(facts) != rank)
        disagree(
            "{} is in the queue with rank {}, but its facts give another rank now: its rank drifts; declare "
            "Volatility::epoch",
            title(node), text_of(rank));
      if (!order_) continue;
      const PrefixName name = last_name_.at(facts.id);
      if (expected.erase(name) == 0) disagree("{} may not be evicted", title(node));
      const PageHistory& history = order_->history(name);
      accessed_.emplace_back(history.last_access, facts.last_access);
      if (facts.priority != history.priority)
        disagree("{} has priority {}, not {}", title(node), facts.priority, history.priority);
      if (facts.inserts != history.inserts)
        disagree("{} counts {} inserts, not {}", title(node), facts.inserts, history.inserts);
    }
    if (!expected.empty()) disagree("{} leaves may be evicted but are not in the queue", expected.size());
  }

  const PrefixIndex& index_;
  const TenantIndex* tenants_;
  const std::vector<Part>& parts_;
  const FlatIndex& flat_;
  const VictimOrder* order_;
  const WorldConfig& config_;
  std::vector<WalkedNode> nodes_;
  std::unordered_map<NodeId, std::size_t> by_id_;
  std::unordered_set<std::uint32_t> slots_;
  std::map<std::pair<NodeId, NamespaceId>, Tick> youngest_child_;
  std::unordered_map<NodeId, std::uint32_t> children_;
  std::unordered_map<NodeId, PrefixName> last_name_;
  std::unordered_map<NodeId, std::size_t> unkept_;  ///< pages of the path
  std::unordered_set<PrefixName> names_;
  std::array<std::unordered_set<Page>, kMaxGroups> owned_;
  std::array<Sizes, kMaxGroups> walked_{};
  std::vector<std::pair<Tick, Tick>> created_, accessed_;  ///< by the model, by the index
};

}  // namespace

void check_whole(const PrefixIndex& index, const TenantIndex* tenants, const std::vector<Part>& parts,
                 const FlatIndex& flat, const VictimOrder* order, const WorldConfig& config) {
  WholeCheck(index, tenants, parts, flat, order, config).run();
}

}  // namespace canopy::test
