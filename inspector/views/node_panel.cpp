#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>

#include "names.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

/// Steps towards the root that a path, or the search for who locks a node, takes at most for one picture.
constexpr std::size_t kMostSteps = 100'000;

const char* moment_word(EventKind kind) {
  switch (kind) {
    case EventKind::node_added:
      return "added";
    case EventKind::node_split:
      return "split";
    case EventKind::node_removed:
      return "removed";
    case EventKind::node_emptied:
      return "became a gap";
    case EventKind::node_pages:
      return "got pages";
    case EventKind::node_used:
      return "hit";
    case EventKind::locked:
      return "locked";
    case EventKind::unlocked:
      return "unlocked";
    case EventKind::relaxed:
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

}  // namespace

void NodePanel::draw(Scene& scene, const Area& area) {
  const MirrorNode* node = scene.node();
  begin_panel("SELECTED", area, node ? "node " + node_name(node->id) : "");
  if (!node) {
    nothing_here(
        scene.selection.node != 0
            ? fmt::format("Node {} has left the tree. EVENTS says when; another click selects another node.",
                          node_name(scene.selection.node))
            : "Click a node in the tree, a page in the pool or a request, to see all that is known of it here.");
    end_panel();
    return;
  }
  const Mirror& mirror = scene.mirror;
  if (at_ != mirror.commits() || node_ != node->id) {
    at_ = mirror.commits(), node_ = node->id;
    path_.clear(), lockers_.clear();
    for (std::uint32_t slot = slot_of(static_cast<NodeId>(node->id)); slot != 0 && path_.size() < kMostSteps;
         slot = mirror.node(slot).parent)
      path_.push_back(mirror.node(slot).id);
    std::reverse(path_.begin(), path_.end());
    std::size_t steps = 0;
    for (const MirrorRequest& request : mirror.requests()) {
      if (request.ended() || request.last_node == 0) continue;
      const MirrorNode* at = mirror.find(request.last_node);
      while (at && at->begin > node->begin && ++steps < kMostSteps)
        at = at->parent ? &mirror.node(at->parent) : nullptr;
      if (at == node) lockers_.push_back(request.id);
    }
    history_ = mirror.history(node->id);
  }

  const NodeState state = mirror.state(*node, scene.selection.group);
  const std::size_t place = scene.tree.place_of(slot_of(static_cast<NodeId>(node->id)));
  ImGui::SameLine(0, em() * 1.5F);
  swatch(state, state == NodeState::evictable
                    ? (mirror.waits(*node, scene.selection.group) ? "evictable, waits to leave"
                                                                  : "evictable, after its children")
                : state == NodeState::protected_ ? "protected"
                                                 : "a gap: its pages of this group have left");
  ImGui::BeginChild("facts");
  fact("depth", fmt::format("{} to {}", grouped(node->begin), grouped(node->end())));
  ImGui::SameLine(em() * 20);
  dim("tokens");
  ImGui::SameLine(em() * 24);
  text(grouped(node->length));
  fact("namespace", space_name(mirror, node->space));
  ImGui::SameLine(em() * 20);
  dim("hits");
  ImGui::SameLine(em() * 24);
  text(grouped(node->hits));
  fact("last used", fmt::format("{} ticks ago", grouped(mirror.tick() - node->last_access)));
  ImGui::SameLine(em() * 20);
  dim("inserts");
  ImGui::SameLine(em() * 24);
  text(grouped(node->inserts));
  fact("created", fmt::format("{} ticks ago", grouped(mirror.tick() - node->created)));
  ImGui::SameLine(em() * 20);
  dim("priority");
  ImGui::SameLine(em() * 24);
  text(std::to_string(node->priority));
  if (place != TreeIndex::kNowhere)
    fact("below it", node->children == 0
                         ? "nothing: a leaf"
                         : fmt::format("{}, {} tokens in {} with its own",
                                       node->children == 1 ? "1 child" : grouped(node->children) + " children",
                                       grouped(scene.tree[place].tokens), plural(scene.tree[place].nodes, "node")));

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
    if (path_[i] == node->id) text(name);
    else if (button(name.c_str())) scene.selection.select_node(path_[i]);
  }

  dim("locked by");
  ImGui::SameLine(em() * 7);
  const std::uint32_t locks = place == TreeIndex::kNowhere ? 0 : scene.tree[place].locks;
  const bool pinned = mirror.pins().contains(node->id);
  text(locks == 0 ? "nobody" : plural(locks, "lock"));
  if (pinned || scene.mailbox.open) {
    ImGui::SameLine(0, em() * 0.5F);
    if (!scene.mailbox.open) text("pinned", palette().accent);
    else if (choice(pinned ? "unpin" : "pin", pinned))
      scene.mailbox.send(pinned ? Command::Kind::unpin : Command::Kind::pin, node->id);
    explain(pinned ? "A person keeps this node and its path (p lets go)."
                   : "Locks this node and its path until it is unpinned (p).");
  }
  for (std::size_t i = 0; i < lockers_.size() && i < 6; ++i) {
    ImGui::SameLine(0, em() * 0.5F);
    const MirrorRequest* request = mirror.request(lockers_[i]);
    if (!request || ImGui::GetContentRegionAvail().x < em() * 6) break;
    if (choice(fmt::format("req {}", request->id).c_str(), request->id == scene.selection.request))
      scene.selection.request = request->id;
    explain(fmt::format("Request {}, {}: it holds {} from the root on.", request->id, phase_word(*request),
                        plural(request->committed, "token")));
  }
  if (mirror.waits(*node, scene.selection.group))
    fact("rank", LeavePanel::rank_words(scene.pool().policy, node->rank[scene.selection.group], mirror.tick()));
  if (node->digest != 0) fact("first page", fmt::format("{:016x}", node->digest));
  if (!node->words.empty()) {
    std::string words;
    for (std::size_t i = 0; i < node->words.size() && i < 24; ++i) words += fmt::format("{} ", node->words[i]);
    fact("tokens are", words + (node->words.size() > 24 ? "…" : ""));
  }
  if (!history_.empty()) {
    // What repeats is said once, with how often; of a node that everybody uses, the last of it.
    constexpr std::size_t kTurns = 12;
    std::vector<std::string> turns;
    std::size_t end = history_.size();
    for (; end > 0 && turns.size() < kTurns;) {
      std::size_t first = end - 1;
      while (first > 0 && history_[first - 1].kind == history_[end - 1].kind) --first;
      turns.push_back(fmt::format("{}{} {}", moment_word(history_[first].kind),
                                  end - first > 1 ? fmt::format(" x{}, last", end - first) : "",
                                  ago(mirror.commits() - history_[end - 1].commit)));
      end = first;
    }
    std::string words =
        end > 0 ? fmt::format("{} before, of which the first {}, {}", grouped(end), moment_word(history_.front().kind),
                              ago(mirror.commits() - history_.front().commit))
                : "";
    for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn) words += (words.empty() ? "" : "\u00a0· ") + *turn;
    dim("history");
    ImGui::SameLine(em() * 7);
    wrapped(words, palette().text);
  }
  draw_runs(scene, *node);
  ImGui::EndChild();
  end_panel();
}

}  // namespace canopy::inspector
