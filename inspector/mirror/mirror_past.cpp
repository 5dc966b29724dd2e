#include "mirror.h"

#include <algorithm>

namespace canopy::inspector {
namespace {

constexpr std::size_t kSamplesKept = 8192, kMomentsKept = std::size_t{1} << 16, kGhostsKept = std::size_t{1} << 20;

}  // namespace

void Mirror::sample() {
  Sample sample;
  sample.commit = commits_, sample.us = us_, sample.tick = tick_;
  for (std::size_t g = 0; g < pools_.size(); ++g) sample.pools[g] = pools_[g].counted;
  sample.prompt_tokens = prompt_tokens_, sample.hit_tokens = hit_tokens_, sample.evicted_tokens = evicted_tokens_;
  sample.requests = request_count_, sample.running = running_;
  samples_.push_back(sample);
  if (samples_.size() < kSamplesKept) return;
  for (std::size_t i = 0; i < kSamplesKept / 2; ++i) samples_[i] = samples_[2 * i + 1];
  samples_.resize(kSamplesKept / 2);
  sample_every_ *= 2;
}

void Mirror::bury(const MirrorNode& node) {
  if (++ghost_count_ > kGhostsKept) {
    ghosts_.clear();  // the past begins anew
    ghost_count_ = 1;
  }
  ghosts_[above(node)].push_back({node.id, node.digest, node.begin, node.length, tick_, pools_[0].policy});
}

/// What hung below a ghost hangs below the node that came in its place.
void Mirror::revive(const MirrorNode& node) {
  const auto ghosts = ghosts_.find(above(node));
  if (ghosts == ghosts_.end()) return;
  const auto same = std::find_if(ghosts->second.begin(), ghosts->second.end(), [&](const Ghost& ghost) {
    return ghost.digest == node.digest && ghost.begin == node.begin;
  });
  if (same == ghosts->second.end()) return;
  const Ghost ghost = *same;
  if (revived_.id == 0) revived_ = ghost;
  ghosts->second.erase(same);
  --ghost_count_;
  if (auto children = ghosts_.extract(ghost.id)) {
    children.key() = node.id;
    ghosts_.insert(std::move(children));
  }
}

/// By which a node's ghost is kept: the id of its parent, or for a namespace's first nodes what no node has as id.
std::uint64_t Mirror::above(const MirrorNode& node) const {
  return node.parent ? nodes_[node.parent].id : ~static_cast<std::uint64_t>(node.space);
}

void Mirror::remember(std::uint64_t node, EventKind kind) {
  moments_.push_back({node, commits_ + 1, kind});
  if (moments_.size() > kMomentsKept) moments_.pop_front();
}

std::vector<NodeMoment> Mirror::history(std::uint64_t node) const {
  std::vector<NodeMoment> mine;
  for (const NodeMoment& moment : moments_)
    if (moment.node == node) mine.push_back(moment);
  return mine;
}

std::size_t Mirror::bytes() const {
  constexpr std::size_t kEntry = 64;  // of a hash table, with its key
  std::size_t bytes = nodes_.size() * sizeof(MirrorNode) + node_count_ * 2 * sizeof(PageRun);
  for (const MirrorPool& pool : pools_) bytes += pool.owner.size() * sizeof(pool.owner[0]);
  bytes += requests_.size() * (sizeof(MirrorRequest) + kEntry) + samples_.size() * sizeof(Sample);
  bytes += log_.size() * sizeof(LogLine) + moments_.size() * sizeof(NodeMoment);
  return bytes + ghost_count_ * (sizeof(Ghost) + kEntry) + first_pages_.size() * kEntry;
}

Mirror::Moment Mirror::moment() const {
  Moment moment;
  each_node([&](const MirrorNode& node) {
    NodeThen then{node.length, 0, node.hold[0] > 0};
    for (const PageRun& run : node.pages)
      if (run.group == 0 && run.place == 0) then.first_page = run.first;
    moment.emplace(node.id, then);
  });
  return moment;
}

Difference Mirror::difference(const Moment& before, const Moment& after) {
  Difference difference;
  for (const auto& [id, now] : after) {
    const auto then = before.find(id);
    if (then == before.end()) difference.appeared.push_back(id), difference.appeared_tokens += now.length;
    else if (then->second != now) difference.moved.push_back(id), difference.moved_tokens += now.length;
  }
  for (const auto& [id, then] : before)
    if (!after.contains(id)) difference.left.push_back(id), difference.left_tokens += then.length;
  for (auto* ids : {&difference.appeared, &difference.left, &difference.moved}) std::sort(ids->begin(), ids->end());
  return difference;
}

}  // namespace canopy::inspector
