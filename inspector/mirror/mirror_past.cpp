#include "mirror_past.h"

#include <algorithm>
#include <utility>

namespace canopy::inspector {
namespace {

constexpr std::size_t kSamplesKept = 8192, kMomentsKept = std::size_t{1} << 16, kGhostsKept = std::size_t{1} << 20,
                      kDigestsKept = std::size_t{1} << 25, kLogKept = 4096;

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

bool MirrorPast::bury(const MirrorNode& node, Eviction eviction) {
  const bool room = ghosts_.size() < kGhostsKept && digests_ < kDigestsKept;
  if (!room) ghosts_.clear(), digests_ = 0;
  Ghost& ghost = ghosts_[node.lineage];
  digests_ += node.page_digests.size() - ghost.digests.size();
  static_cast<Eviction&>(ghost) = std::move(eviction);
  ghost.begin = node.begin, ghost.length = node.length, ghost.digests = node.page_digests;
  return room;
}

void MirrorPast::revive(const MirrorNode& node, std::uint64_t above, Units page, std::vector<Returned>& parts) {
  const std::vector<std::uint32_t>& digests = node.page_digests;
  const bool is_known = digests.size() * std::uint64_t{page} >= node.length;
  for (std::size_t at = 0; at < digests.size();) {
    const auto found = ghosts_.find(mix_path(above, digests[at]));
    if (found == ghosts_.end()) return;
    Ghost& ghost = found->second;
    std::size_t same = 0;
    for (; at + same < digests.size() && same < ghost.digests.size(); ++same) {
      if (digests[at + same] != ghost.digests[same]) break;
      above = mix_path(above, digests[at + same]);
    }
    if (same == 0) return;
    const Units begin = node.begin + static_cast<Units>(at) * page, left = node.end() - begin;
    const auto sure = static_cast<Units>(std::min<std::uint64_t>(left, std::uint64_t{same} * page));
    const bool is_ghost_known = ghost.digests.size() * std::uint64_t{page} >= ghost.length;
    Returned& part = parts.emplace_back();
    part.begin = begin, part.length = sure;
    if (!is_known || !is_ghost_known) part.length = std::max(sure, std::min(left, ghost.length));
    digests_ -= ghost.digests.size();
    if (!is_known || !is_ghost_known || same == ghost.digests.size()) {
      static_cast<Eviction&>(part) = std::move(ghost);
      ghosts_.erase(found);
      if (!is_known) return;
    } else {
      static_cast<Eviction&>(part) = ghost;
      Ghost rest = std::move(ghost);
      ghosts_.erase(found);
      rest.begin += sure, rest.length -= sure;
      rest.digests.erase(rest.digests.begin(), rest.digests.begin() + static_cast<std::ptrdiff_t>(same));
      Ghost& place = ghosts_[mix_path(above, rest.digests.front())];
      digests_ += rest.digests.size() - place.digests.size();
      place = std::move(rest);
    }
    at += same;
  }
}

std::vector<NodeMoment> MirrorPast::history(std::uint64_t node) const {
  std::vector<NodeMoment> mine;
  for (const NodeMoment& moment : moments_)
    if (moment.node == node) mine.push_back(moment);
  return mine;
}

const Ghost* MirrorPast::ghost(std::uint64_t node) const {
  for (const auto& [place, ghost] : ghosts_)
    if (ghost.node == node) return &ghost;
  return nullptr;
}

std::size_t MirrorPast::bytes() const {
  constexpr std::size_t kEntry = 64;  // an entry of a hash table, with its key
  return samples_.size() * sizeof(Sample) + log_.size() * sizeof(LogLine) + moments_.size() * sizeof(NodeMoment) +
         ghosts_.size() * (sizeof(Ghost) + kEntry) + digests_ * sizeof(std::uint32_t);
}

}  // namespace canopy::inspector
