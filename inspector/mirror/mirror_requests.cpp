#include <algorithm>

#include "mirror_request.h"

namespace canopy::inspector {
namespace {

constexpr std::size_t kRequestsKept = 32768;

}  // namespace

MirrorRequest* MirrorRequests::find(std::uint64_t id) {
  const auto found = places_.find(id);
  return found == places_.end() ? nullptr : &requests_[found->second];
}

const MirrorRequest* MirrorRequests::find(std::uint64_t id) const {
  return const_cast<MirrorRequests*>(this)->find(id);
}

MirrorRequest& MirrorRequests::add(std::uint64_t id) {
  places_[id] = requests_.size();
  MirrorRequest& request = requests_.emplace_back();
  request.id = id;
  return request;
}

void MirrorRequests::forget_old() {
  if (requests_.size() < kRequestsKept) return;
  std::size_t over = kRequestsKept / 2;
  std::erase_if(requests_, [&](const MirrorRequest& one) { return one.ended() && over > 0 && over--; });
  places_.clear();
  for (std::size_t i = 0; i < requests_.size(); ++i) places_[requests_[i].id] = i;
}

void MirrorRequests::clear() {
  requests_.clear();
  places_.clear();
}

void MirrorRequests::recall(MirrorRequest& request) const {
  if (!learned_) return;
  if (const auto known = learned_->find(request.id); known != learned_->end())
    static_cast<Verdict&>(request) = known->second, request.recalled = true;
}

void MirrorRequests::keep_verdict(const MirrorRequest& request) {
  if (learned_) (*learned_)[request.id] = request;
}

}  // namespace canopy::inspector
