#include "mirror_past.h"

#include <algorithm>

namespace canopy::inspector {
namespace {

constexpr std::size_t kSamplesKept = 8192, kMomentsKept = std::size_t{1} << 16, kGhostsKept = std::size_t{1} << 20,
                      kLogKept = 4096;

}  // namespace

void MirrorPast::add(const Sample& sample) {
  samples_.push_back(sample);
  if (samples_.size() < kSamplesKept) return;
  for (std::size_t i = 0; i < kSamplesKept / 2; ++i) samples_[i] = samples_[2 * i + 1];
  samples_.resize(kSamplesKept / 2);
  sample_every_ *= 2;
}

void MirrorPast::add(const LogLine& line) {
  log_.push_back(line);
  if (log_.size() > kLogKept) log_.pop_front();
}

void MirrorPast::remember(const NodeMoment& moment) {
  moments_.push_back(moment);
  if (moments_.size() > kMomentsKept) moments_.pop_front();
}

void MirrorPast::bury(const MirrorNode& node, std::uint64_t above, Tick now, const std::string& policy) {
  if (++ghost_count_ > kGhostsKept) {
    ghosts_.clear();  // too many: start again
    ghost_count_ = 1;
  }
  ghosts_[above].push_back({node.id, node.digest, node.begin, node.length, now, policy});
}

Ghost MirrorPast::revive(const MirrorNode& node, std::uint64_t above) {
  const auto ghosts = ghosts_.find(above);
  if (ghosts == ghosts_.end()) return {};
  const auto same = std::find_if(ghosts->second.begin(), ghosts->second.end(), [&](const Ghost& ghost) {
    return ghost.digest == node.digest && ghost.begin == node.begin;
  });
  if (same == ghosts->second.end()) return {};
  const Ghost ghost = *same;
  ghosts->second.erase(same);
  --ghost_count_;
  // Ghosts below the evicted node hang below the node that came in its place.
  if (auto children = ghosts_.extract(ghost.id)) {
    children.key() = node.id;
    ghosts_.insert(std::move(children));
  }
  return ghost;
}

std::vector<NodeMoment> MirrorPast::history(std::uint64_t node) const {
  std::vector<NodeMoment> mine;
  for (const NodeMoment& moment : moments_)
    if (moment.node == node) mine.push_back(moment);
  return mine;
}

std::size_t MirrorPast::bytes() const {
  constexpr std::size_t kEntry = 64;  // of a hash table, with its key
  return samples_.size() * sizeof(Sample) + log_.size() * sizeof(LogLine) + moments_.size() * sizeof(NodeMoment) +
         ghost_count_ * (sizeof(Ghost) + kEntry);
}

}  // namespace canopy::inspector
