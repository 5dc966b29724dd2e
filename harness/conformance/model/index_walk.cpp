#include "index_walk.h"

#include "mismatch.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace canopy::test {

namespace {

struct Collector final : NodeVisitor {
  std::vector<WalkedNode> nodes;
  void node(const NodeView& view) override {
    nodes.push_back({view.facts,
                     view.parent,
                     {view.words.begin(), view.words.end()},
                     {view.pages[0].begin(), view.pages[0].end()},
                     view.locks[0]});
  }
};

struct Waiters final : QueueVisitor {
  std::vector<std::pair<NodeFacts, Rank>> all;
  void waiting(const NodeFacts& node, Rank rank) override { all.emplace_back(node, rank); }
};

std::string title(const WalkedNode& node) {
  return fmt::format("node at slot {} (depth {}, {} units)", slot_of(node.facts.id), node.facts.begin,
                     node.facts.length);
}

/// Models and index have clocks of their own: what must agree is who came before whom.
void check_same_order(const char* what, std::vector<std::pair<Tick, Tick>> model_and_index) {
  std::ranges::sort(model_and_index);
  for (std::size_t i = 1; i < model_and_index.size(); ++i) {
    const auto& [model, index] = model_and_index[i];
    const auto& [earlier_model, earlier_index] = model_and_index[i - 1];
    if ((model == earlier_model) != (index == earlier_index) || index < earlier_index)
      disagree("{}: by the model tick {} comes {} tick {}", what, index,
               model == earlier_model ? "together with" : "after", earlier_index);
  }
}

class WholeCheck {
 public:
  WholeCheck(const PrefixIndex& index, const SlotAllocator& allocator, const FlatIndex& flat, const VictimOrder& order,
             const WorldConfig& config)
      : index_(index), allocator_(allocator), flat_(flat), order_(order), config_(config), nodes_(walk(index)) {}

  void run(EvictionStrategy& policy) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const WalkedNode& node = nodes_[i];
      if (!by_id_.emplace(node.facts.id, i).second) disagree("{} is visited twice", title(node));
      if (!slots_.insert(slot_of(node.facts.id)).second) disagree("two nodes share slot {}", slot_of(node.facts.id));
      check_shape(node);
      check_pages(node);
    }
    check_counts();
    check_waiting(policy);
    check_same_order("created", std::move(created_));
    check_same_order("last access of those who may leave", std::move(accessed_));
  }

 private:
  void check_shape(const WalkedNode& node) {
    const NodeFacts& facts = node.facts;
    if (facts.length == 0 || facts.length % config_.page_size != 0) disagree("{} is not whole pages", title(node));
    if (node.words.size() != facts.length + config_.overlap)
      disagree("{} shows {} words", title(node), node.words.size());
    if (node.pages.size() * config_.page_size != facts.length)
      disagree("{} has {} pages", title(node), node.pages.size());
    if (node.parent == NodeId::none) {
      if (facts.begin != 0) disagree("{} hangs on the root", title(node));
    } else {
      const auto found = by_id_.find(node.parent);
      if (found == by_id_.end()) disagree("{} comes before its parent", title(node));
      const WalkedNode& parent = nodes_[found->second];
      if (parent.facts.begin + parent.facts.length != facts.begin || parent.facts.space != facts.space)
        disagree("{} does not continue its parent, {}", title(node), title(parent));
      if (!std::equal(parent.words.end() - config_.overlap, parent.words.end(), node.words.begin()))
        disagree("{} and its parent disagree about the words they share", title(node));
      if (parent.locks < node.locks) disagree("{} has more locks than its parent", title(node));
    }
    // Siblings come in the order they were made; the upper half of a split keeps its place and its age.
    Tick& youngest = youngest_child_[{node.parent, facts.space}];
    if (facts.created <= youngest && youngest != 0) disagree("{} came after a younger sibling", title(node));
    youngest = facts.created;
    if (node.parent != NodeId::none) ++children_[node.parent];
  }

  void check_pages(const WalkedNode& node) {
    PrefixName name = node.parent == NodeId::none ? name_of(node.facts.space) : last_name_.at(node.parent);
    for (std::size_t i = 0; i < node.pages.size(); ++i) {
      const std::span<const std::uint32_t> words(node.words);
      name = name_of(name, words.subspan(i * config_.page_size, config_.page_size + config_.overlap));
      if (!names_.insert(name).second) disagree("{}: its page {} is in the tree twice", title(node), i);
      if (!owned_.insert(node.pages[i]).second) disagree("page {} has two owners", node.pages[i]);
      if (!allocator_.is_out(node.pages[i])) disagree("page {} of {} is free", node.pages[i], title(node));
      const FlatIndex::Entry* entry = flat_.find(name);
      if (!entry) disagree("{}: its page {} should have left", title(node), i);
      if (entry->page != node.pages[i]) disagree("{}: page {} should be {}", title(node), node.pages[i], entry->page);
      if (entry->locks != node.locks) disagree("{} counts {} locks, not {}", title(node), node.locks, entry->locks);
      if (order_.ends_segment(name) != (i + 1 == node.pages.size()))
        disagree("{}: there should be {} boundary after its page {}", title(node),
                 order_.ends_segment(name) ? "a" : "no", i);
    }
    last_name_.emplace(node.facts.id, name);
    const PageHistory& history = order_.history(name);
    if (node.facts.hits != history.hits)
      disagree("{} counts {} hits, not {}", title(node), node.facts.hits, history.hits);
    created_.emplace_back(history.created, node.facts.created);
  }

  void check_counts() {
    if (names_.size() != flat_.all().size())
      disagree("the index holds {} pages, not {}", names_.size(), flat_.all().size());
    expect_equal("nodes that visit() shows and use() counts", index_.use().nodes, nodes_.size());
    Sizes walked;
    for (const WalkedNode& node : nodes_) {
      (node.locks == 0 ? walked.evictable : walked.protected_) += node.facts.length;
      const auto found = children_.find(node.facts.id);
      const std::uint32_t children = found == children_.end() ? 0 : found->second;
      if (node.facts.children != children)
        disagree("{} counts {} children, not {}", title(node), node.facts.children, children);
    }
    expect_equal("evictable units, summed over nodes", walked.evictable, index_.sizes(0).evictable);
    expect_equal("protected units, summed over nodes", walked.protected_, index_.sizes(0).protected_);
  }

  void check_waiting(EvictionStrategy& policy) {
    Waiters waiters;
    index_.waiting(0, waiters);
    std::set<PrefixName> expected;
    for (const PrefixName name : order_.leaves()) expected.insert(name);
    for (const auto& [facts, rank] : waiters.all) {
      const auto found = by_id_.find(facts.id);
      if (found == by_id_.end()) disagree("slot {} waits to leave but is no node", slot_of(facts.id));
      const WalkedNode& node = nodes_[found->second];
      const PrefixName name = last_name_.at(facts.id);
      if (expected.erase(name) == 0) disagree("{} waits to leave twice, or may not leave", title(node));
      if (facts.last_access != node.facts.last_access || facts.hits != node.facts.hits)
        disagree("waiting() and visit() tell different facts of {}", title(node));
      if (policy.volatility() == Volatility::none && policy.rank(facts) != rank)
        disagree("{} waits with a rank that its facts do not give", title(node));
      const PageHistory& history = order_.history(name);
      accessed_.emplace_back(history.last_access, facts.last_access);
      if (facts.priority != history.priority)
        disagree("{} has priority {}, not {}", title(node), facts.priority, history.priority);
      if (facts.inserts != history.inserts)
        disagree("{} counts {} inserts, not {}", title(node), facts.inserts, history.inserts);
    }
    if (!expected.empty()) disagree("{} leaves may leave but do not wait", expected.size());
  }

  const PrefixIndex& index_;
  const SlotAllocator& allocator_;
  const FlatIndex& flat_;
  const VictimOrder& order_;
  const WorldConfig& config_;
  std::vector<WalkedNode> nodes_;
  std::unordered_map<NodeId, std::size_t> by_id_;
  std::unordered_set<std::uint32_t> slots_;
  std::map<std::pair<NodeId, NamespaceId>, Tick> youngest_child_;
  std::unordered_map<NodeId, std::uint32_t> children_;
  std::unordered_map<NodeId, PrefixName> last_name_;
  std::unordered_set<PrefixName> names_;
  std::unordered_set<Page> owned_;
  std::vector<std::pair<Tick, Tick>> created_, accessed_;  ///< by the model, by the index
};

}  // namespace

std::vector<WalkedNode> walk(const PrefixIndex& index) {
  Collector collector;
  index.visit(collector);
  return std::move(collector.nodes);
}

void check_whole(const PrefixIndex& index, const SlotAllocator& allocator, EvictionStrategy& policy,
                 const FlatIndex& flat, const VictimOrder& order, const WorldConfig& config) {
  WholeCheck(index, allocator, flat, order, config).run(policy);
}

std::string shape_of(const PrefixIndex& index, const std::vector<std::string>& groups, Units scale) {
  struct Shape final : NodeVisitor {
    const std::vector<std::string>& groups;
    Units scale;
    std::vector<std::string> nodes;
    Shape(const std::vector<std::string>& names, Units units) : groups(names), scale(units) {}
    void node(const NodeView& node) override {
      std::vector<std::string> resident;
      for (std::size_t g = 0; g < groups.size(); ++g)
        if (!node.pages[g].empty()) resident.push_back(groups[g]);
      std::string text =
          fmt::format("{}..{}", node.facts.begin / scale, (node.facts.begin + node.facts.length) / scale);
      if (resident.empty()) text += ":-";
      else if (resident.size() < groups.size()) text += fmt::format(":{}", fmt::join(resident, "+"));
      nodes.push_back(std::move(text));
    }
  } shape(groups, scale);
  index.visit(shape);
  return shape.nodes.empty() ? "none" : fmt::format("{}", fmt::join(shape.nodes, " "));
}

}  // namespace canopy::test
