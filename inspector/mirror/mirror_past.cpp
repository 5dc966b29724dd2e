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

bool MirrorPast::bury(const MirrorNode& node, std::uint64_t above, Tick now, std::uint64_t before,
                      const std::string& policy) {
  const bool room = ghosts_.size() < kGhostsKept;
  if (!room) ghosts_.clear();
  ghosts_.insert_or_assign({above, node.digest, node.begin},
                           Ghost{node.id, node.lineage, node.begin, node.length, now, before, policy});
  return room;
}

Ghost MirrorPast::revive(const MirrorNode& node, std::uint64_t above) {
  const auto found = ghosts_.extract({above, node.digest, node.begin});
  return found ? found.mapped() : Ghost{};
}

std::vector<NodeMoment> MirrorPast::history(std::uint64_t node) const {
  std::vector<NodeMoment> mine;
  for (const NodeMoment& moment : moments_)
    if (moment.node == node) mine.push_back(moment);
  return mine;
}

const Ghost* MirrorPast::ghost(std::uint64_t node) const {
  for (const auto& [place, ghost] : ghosts_)
    if (ghost.id == node) return &ghost;
  return nullptr;
}

std::size_t MirrorPast::bytes() const {
  constexpr std::size_t kEntry = 64;  // an entry of a hash table, with its key
  return samples_.size() * sizeof(Sample) + log_.size() * sizeof(LogLine) + moments_.size() * sizeof(NodeMoment) +
         ghosts_.size() * (sizeof(Ghost) + kEntry);
}

}  // namespace canopy::inspector
