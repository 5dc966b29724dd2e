#include <canopy/base/figures.h>
#include <canopy/feed/events.h>
#include <fmt/format.h>
#include <mirror/names.h>
#include <mirror/rank_text.h>

#include <algorithm>

#include "draw.h"
#include "inputs.h"
#include "panels.h"
#include "range_summary.h"

namespace canopy::inspector {
namespace {

/// Most steps towards the root for one picture, for a path and for the search for requests that lock a node.
constexpr std::size_t kMostSteps = 100'000;

const char* moment_word(std::uint8_t kind) {
  switch (kind) {
    case event::NodeAdded::kKind:
      return "added";
    case event::NodeSplit::kKind:
      return "split";
    case event::NodeRemoved::kKind:
      return "removed";
    case event::NodeTombstoned::kKind:
      return "became a tombstone";
    case event::NodePages::kKind:
      return "got pages";
    case event::NodeUsed::kKind:
      return "hit";
    case event::Locked::kKind:
      return "locked";
    case event::Unlocked::kKind:
      return "unlocked";
    case event::Relaxed::kKind:
      return "relaxed";
    default:
      return "touched";
  }
}

std::string ago(std::uint64_t commits) { return commits == 0 ? "just now" : plural(commits, "commit") + " ago"; }

void draw_runs(Scene& scene, const MirrorNode& node) {
  std::uint64_t pages = 0;
  std::size_t runs = 0;
  for (const PageRun& run : node.pages)
    if (run.group == scene.selection.group) pages += run.count, ++runs;
  fact("pages", runs == 0 ? "none in this group" : fmt::format("{} in {}", grouped(pages), plural(runs, "run")));
  if (runs == 0) return;
  constexpr std::size_t kShown = 64;
  std::string words;
  std::size_t shown = 0;
  for (const PageRun& run : node.pages) {
    if (run.group != scene.selection.group) continue;
    if (shown++ == kShown) {
      words += fmt::format("and {} more", plural(runs - kShown, "run"));
      break;
    }
    words += run.count == 1 ? fmt::format("[{}] ", run.first)
                            : fmt::format("[{}-{}] ", run.first, std::uint64_t{run.first} + run.count - 1);
  }
  ImGui::SetCursorPosX(em() * 7);
  wrapped(words, palette().dim);
}

/// Draws a second fact on the line of the last one, or on its own line if there is no room.
void second_fact(const char* label, std::string_view value) {
  const float window = ImGui::GetWindowWidth();
  const float at = std::max(em() * 17, std::min(em() * 20, window - em() * 11));
  if (window < em() * 26) return fact(label, value);
  ImGui::SameLine(at);
  dim(label);
  ImGui::SameLine(at + em() * 4);
  text(value);
}

std::string state_words(const Mirror& mirror, const MirrorNode& node, std::size_t group) {
  switch (mirror.state(node, group)) {
    case NodeState::protected_:
      return "protected";
    case NodeState::tombstone:
      if (mirror.is_from_events()) return "removed from this group, while blocks below it stay";
      return "a tombstone (gap): its pages of this group were evicted";
    case NodeState::without:
      return node.reported_late ? "no pages of this group; its state before attaching is not known"
                                : "no pages of this group were kept here";
    case NodeState::evictable:
      break;
  }
  if (mirror.is_from_events()) return "cached; whether it is in use is not known";
  return mirror.waits(node, group) ? "evictable now" : "evictable, after its children";
}

void draw_state(const Scene& scene, const MirrorNode& node) {
  const std::string words = state_words(scene.mirror, node, scene.selection.group);
  ImGui::SameLine(0, em() * 1.5F);
  swatch(scene.mirror.state(node, scene.selection.group), fitted(words, ImGui::GetContentRegionAvail().x - em()));
  explain(words);
}

void draw_facts(const Scene& scene, const MirrorNode& node, const TreeIndex::Node* in_tree) {
  const Mirror& mirror = scene.mirror;
  const auto ticks_ago = [&](Tick tick) { return fmt::format("{} ticks ago", grouped(mirror.tick() - tick)); };
  fact("depth", fmt::format("{} to {}", grouped(node.begin), grouped(node.end())));
  second_fact("tokens", grouped(node.length));
  fact("namespace", space_name(mirror, node.space));
  if (mirror.is_from_events()) {
    fact("not known", "hits, last use, locks, rank, pages");
  } else {
    second_fact("hits", grouped(node.uses()));
    fact("last used", ticks_ago(node.last_access));
    second_fact("inserts", grouped(node.inserts));
    fact("created", ticks_ago(node.created));
    second_fact("priority", std::to_string(node.priority));
  }
  if (!in_tree) return;
  fact("below it", node.children == 0
                       ? "nothing: a leaf"
                       : fmt::format("{}, {} tokens in {} with its own",
                                     node.children == 1 ? "1 child" : grouped(node.children) + " children",
                                     grouped(in_tree->tokens), plural(in_tree->nodes, "node")));
}

void draw_pin(Scene& scene, const MirrorNode& node) {
  const bool pinned = scene.mirror.pins().contains(node.id);
  if (!pinned && !scene.mailbox.obeyed()) return;
  ImGui::SameLine(0, em() * 0.5F);
  if (!scene.mailbox.obeyed()) text("pinned", palette().accent);
  else if (choice(pinned ? "unpin" : "pin", pinned))
    scene.mailbox.send(pinned ? Command::Kind::unpin : Command::Kind::pin, node.id);
  explain(pinned ? "This node and its path were pinned by hand (p unpins them)."
                 : "Locks this node and its path until it is unpinned (p).");
}

void draw_contents(const MirrorNode& node) {
  if (node.digest != 0) fact("first page", fmt::format("{:016x}", node.digest));
  if (node.words.empty()) return;
  constexpr std::size_t kShown = 24;
  std::string words;
  for (std::size_t i = 0; i < node.words.size() && i < kShown; ++i) words += fmt::format("{} ", node.words[i]);
  fact("tokens are", words + (node.words.size() > kShown ? "…" : ""));
}

/// Returns a node's history in words. Repeated events are listed once, with their number; a long history is cut to its
/// latest part.
std::string history_words(const std::vector<NodeMoment>& history, std::uint64_t commits) {
  constexpr std::size_t kTurns = 12;
  std::vector<std::string> turns;
  std::size_t end = history.size();
  while (end > 0 && turns.size() < kTurns) {
    std::size_t first = end - 1;
    while (first > 0 && history[first - 1].kind == history[end - 1].kind) --first;
    turns.push_back(fmt::format("{}{} {}", moment_word(history[first].kind),
                                end - first > 1 ? fmt::format(" x{}, last", end - first) : "",
                                ago(commits - history[end - 1].commit)));
    end = first;
  }
  std::string words = end > 0 ? fmt::format("{} before, first: {} {}", grouped(end), moment_word(history.front().kind),
                                            ago(commits - history.front().commit))
                              : "";
  for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn) words += (words.empty() ? "" : "\u00a0· ") + *turn;
  return words;
}

/// All known facts about the selected node.
class NodePanel final : public Panel {
 public:
  std::string note(const Scene& scene) const override {
    const MirrorNode* node = scene.node();
    if (node) return "node " + node_name(node->id);
    return scene.selection.node != 0 ? "" : "nothing";
  }

  void draw(Scene& scene) override {
    const MirrorNode* node = scene.node();
    if (!node && scene.selection.node != 0) return draw_evicted(scene);
    if (!node) return summary_.draw(scene);
    update(scene, *node);
    const std::uint32_t place = scene.tree.place_of(slot_of(static_cast<NodeId>(node->id)));
    const TreeIndex::Node* in_tree = place == TreeIndex::kNowhere ? nullptr : &scene.tree[place];
    draw_state(scene, *node);
    ImGui::BeginChild("facts");
    draw_facts(scene, *node, in_tree);
    draw_path(scene, node->id);
    if (!scene.mirror.is_from_events())
      draw_locks(scene, *node, in_tree ? in_tree->locks : scene.mirror.locks(*node, scene.selection.group));
    if (!scene.mirror.is_from_events() && scene.mirror.waits(*node, scene.selection.group))
      fact("rank",
           rank_words(scene.pool().policy_rank, scene.pool().rank[slot_of(NodeId{node->id})], scene.mirror.tick()));
    draw_contents(*node);
    if (!history_.empty()) {
      dim("history");
      ImGui::SameLine(em() * 7);
      wrapped(history_words(history_, scene.mirror.commits()), palette().text);
    }
    if (!scene.mirror.is_from_events()) draw_runs(scene, *node);
    ImGui::EndChild();
  }

 private:
  /// Draws what is remembered of a node that does not exist at this moment.
  void draw_evicted(Scene& scene) {
    const Mirror& mirror = scene.mirror;
    const std::uint64_t id = scene.selection.node;
    if (computed_.changed(scene.shown(), mirror.commits(), id)) {
      history_ = mirror.history(id);
      const Ghost* const ghost = mirror.ghost(id);
      ghost_ = ghost ? *ghost : Ghost{};
    }
    ImGui::BeginChild("evicted");
    const auto removed = std::find_if(history_.rbegin(), history_.rend(), [](const NodeMoment& moment) {
      return moment.kind == event::NodeRemoved::kKind;
    });
    const bool then = removed != history_.rend();
    std::string words = fmt::format("Node {} ", node_name(id));
    if (ghost_.node != 0)
      words += fmt::format("was evicted by {} at tick {}, {} ticks ago. It was {}, depth {} to {}.", ghost_.policy,
                           grouped(ghost_.tick), grouped(mirror.tick() - ghost_.tick), plural(ghost_.length, "token"),
                           grouped(ghost_.begin), grouped(std::uint64_t{ghost_.begin} + ghost_.length));
    else words += then ? "was evicted." : "does not exist at this moment, and nothing is remembered about it.";
    if (then)
      words +=
          fmt::format(" This was commit {}; type {} in EVENTS to find it.", grouped(removed->commit), node_name(id));
    wrapped(words, palette().text);
    if (!history_.empty()) wrapped(history_words(history_, mirror.commits()), palette().dim);
    if (then && scene.time.has(removed->commit - 1) && button("to the moment before"))
      scene.time.seek(removed->commit - 1);
    ImGui::EndChild();
  }

  void update(const Scene& scene, const MirrorNode& node) {
    const Mirror& mirror = scene.mirror;
    if (!computed_.changed(scene.shown(), mirror.commits(), node.id)) return;
    path_.clear(), lockers_.clear();
    for (std::uint32_t slot = slot_of(static_cast<NodeId>(node.id)); slot != 0 && path_.size() < kMostSteps;
         slot = mirror.node(slot).parent)
      path_.push_back(mirror.node(slot).id);
    std::reverse(path_.begin(), path_.end());
    std::size_t steps = 0;
    for (const MirrorRequest& request : mirror.requests()) {
      if (request.ended() || request.last_node == 0) continue;
      const MirrorNode* at = mirror.find(request.last_node);
      while (at && at->begin > node.begin && ++steps < kMostSteps) at = at->parent ? &mirror.node(at->parent) : nullptr;
      if (at == &node) lockers_.push_back(request.id);
    }
    history_ = mirror.history(node.id);
  }

  void draw_path(Scene& scene, std::uint64_t node) const {
    dim("path");
    ImGui::SameLine(em() * 7);
    text("root", palette().dim);
    constexpr std::size_t kShown = 8;
    for (std::size_t i = path_.size() > kShown ? path_.size() - kShown : 0; i < path_.size(); ++i) {
      const std::string name = node_name(path_[i]);
      const std::string step = i != 0 && i + kShown == path_.size() ? fmt::format("> {} more >", i) : ">";
      flow(ImGui::CalcTextSize((step + name).c_str()).x + em() * 1.5F, em() * 7);
      dim(step);
      ImGui::SameLine(0, em() * 0.4F);
      if (path_[i] == node) text(name);
      else if (button(name.c_str())) scene.selection.select_node(path_[i]);
    }
  }

  /// Draws the locks. In a group of whole paths, the requests whose path goes through the node are those that lock it.
  /// Other groups lock the end of a path: the feed counts such locks, but does not report their owners.
  void draw_locks(Scene& scene, const MirrorNode& node, std::uint64_t locks) const {
    const bool whole_path = scene.pool().reach == kWholePath;
    dim("locked by");
    ImGui::SameLine(em() * 7);
    text(whole_path   ? locks == 0 ? "no request" : plural(locks, "lock")
           : locks == 0 ? "no lock of this group"
                      : plural(locks, "lock") + " of this group");
    draw_pin(scene, node);
    if (lockers_.empty()) return;
    if (!whole_path) {
      dim("path of");
      ImGui::SameLine(em() * 7);
      text(plural(lockers_.size(), "running request"));
    }
    constexpr std::size_t kShown = 12;
    for (std::size_t i = 0; i < lockers_.size() && i < kShown; ++i) {
      const MirrorRequest* request = scene.mirror.request(lockers_[i]);
      if (!request) continue;
      const std::string name = fmt::format("req {}", request->id);
      flow(ImGui::CalcTextSize(name.c_str()).x + ImGui::GetStyle().FramePadding.x * 2, em() * 7);
      if (choice(name.c_str(), request->id == scene.selection.request)) scene.selection.request = request->id;
      explain(fmt::format("Request {}, {}: {} of its path {} in the tree.", request->id, phase_word(*request),
                          plural(request->committed, "token"), request->committed == 1 ? "is" : "are"));
    }
    if (lockers_.size() <= kShown) return;
    const std::string more = fmt::format("and {} more", grouped(lockers_.size() - kShown));
    flow(ImGui::CalcTextSize(more.c_str()).x, em() * 7);
    dim(more);
  }

  Inputs<std::uint64_t, std::uint64_t, std::uint64_t>
      computed_;                        ///< inputs of the members below: what is shown, commit, node
  std::vector<std::uint64_t> path_;     ///< ids, root first
  std::vector<std::uint64_t> lockers_;  ///< running requests that end in the node or below it
  std::vector<NodeMoment> history_;
  Ghost ghost_{};
  RangeSummary summary_;
};

}  // namespace

PanelInfo node_panel() {
  return {
      .title = "SELECTED",
      .row = Row::top,
      .share = 38,
      .key = 'S',
      .help = "All about one node: depth, use, path, locks, rank, history, pages",
      .make = make_panel<NodePanel>,
      .figures = FiguresOf::selected,
      .needs_nodes = true,
      .shows_tier = true,
  };
}

}  // namespace canopy::inspector
