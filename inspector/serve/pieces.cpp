#include "pieces.h"

#include <algorithm>
#include <utility>

#include "protocol.h"

namespace canopy::inspector {
namespace {

constexpr std::size_t kMostEvents = protocol::kMostBytes / sizeof(Event);

}  // namespace

void Pieces::cut(std::vector<Event> events, bool keyframe, std::vector<Piece>& into) {
  if (events.empty()) return;
  if (events.size() <= kMostEvents) {
    into.push_back({std::make_shared<const std::vector<Event>>(std::move(events)), keyframe, keyframe});
    return;
  }
  for (std::size_t at = 0; at < events.size(); at += kMostEvents) {
    const auto from = events.begin() + static_cast<std::ptrdiff_t>(at);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kMostEvents, events.size() - at));
    into.push_back({std::make_shared<const std::vector<Event>>(from, from + count), keyframe, keyframe && at == 0});
  }
}

std::vector<Piece> Pieces::take(std::span<const Event> events) {
  std::vector<Piece> pieces;
  std::vector<Event> whole;  // operations for the next piece
  while (!events.empty()) {
    const auto commit = std::ranges::find_if(events, is<event::Commit>);
    if (commit == events.end()) {
      begun_.insert(begun_.end(), events.begin(), events.end());
      break;
    }
    begun_.insert(begun_.end(), events.begin(), commit + 1);
    events = events.subspan(static_cast<std::size_t>(commit - events.begin()) + 1);
    const bool keyframe = is<event::Keyframe>(begun_.front());
    if (keyframe || whole.size() + begun_.size() > kMostEvents) cut(std::exchange(whole, {}), false, pieces);
    if (keyframe || begun_.size() > kMostEvents) cut(std::move(begun_), keyframe, pieces);
    else whole.insert(whole.end(), begun_.begin(), begun_.end());
    begun_.clear();
  }
  cut(std::move(whole), false, pieces);
  return pieces;
}

}  // namespace canopy::inspector
