#include "duel.h"

#include <canopy/policy_facts.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace canopy::hazard {
namespace {

constexpr int kLooks = 16;  ///< lives that an eviction by the index looks at
constexpr double kDeviations = 1.5, kOfCapacity = 0.2, kOfHits = 0.003, kMostPatience = 16, kStakes = 0.0002;

}  // namespace

void Duel::look_up(Lives::Id id, double now) {
  const bool known = lives_.knows(id);
  lru_has_ = lru_has_ && known && id >= oldest_;
  index_has_ = index_has_ && known && lives_[id].place != Life::kNowhere;
  if (!known) return;
  const Life& life = lives_[id];
  const double tokens = double{lives_.stride_returned(id, now)};
  if (lru_has_) lru_hit_ += double{life.worth} * tokens;
  if (index_has_) index_hit_ += double{life.worth} * tokens;
  if (!lru_has_) lru_missed_ += double{life.worth} * tokens;
  if (id >= oldest_) lru_tokens_ -= tokens;
  if (life.place != Life::kNowhere) index_tokens_ -= tokens;
  if (life.place != Life::kNowhere && life.tokens <= 0) leave(id);
}

void Duel::put(Lives::Id id) {
  lives_[id].place = static_cast<std::uint32_t>(held_.size());
  held_.push_back(id);
  lru_tokens_ += double{lives_[id].tokens}, index_tokens_ += double{lives_[id].tokens};
}

void Duel::leave(Lives::Id id) {
  const std::uint32_t place = std::exchange(lives_[id].place, Life::kNowhere);
  held_[place] = held_.back();
  held_.pop_back();
  if (place < held_.size()) lives_[held_[place]].place = place;
  index_tokens_ -= double{lives_[id].tokens};
}

/// Evicts the lowest of some lives. Of a request the deepest life goes first, as a leaf does.
void Duel::evict_by_index(double now) {
  Lives::Id lowest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kLooks; ++i) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    Lives::Id id = held_[(random_ >> 33) * held_.size() >> 31];
    while (lives_[id].goes_on && lives_[id + 1].place != Life::kNowhere) ++id;
    const Life& life = lives_[id];
    const double worth = double{life.worth} * tree_.index(life.group, std::max(0.0, now - life.began));
    if (worth < least || (worth == least && id < lowest)) least = worth, lowest = id;
  }
  leave(lowest);
}

void Duel::end_request(double capacity, double now) {
  for (; lru_tokens_ > capacity && oldest_ < lives_.next(); ++oldest_) lru_tokens_ -= double{lives_[oldest_].tokens};
  while (index_tokens_ > capacity && !held_.empty()) evict_by_index(now);

  const double more = index_hit_ - lru_hit_;
  squares_ += more * more;
  const double limit = std::min(kDeviations * std::sqrt(squares_), kOfCapacity * capacity + kOfHits * lru_hits_);
  against_ = std::max(0.0, against_ + (lru_rules_ ? more : -more));
  if (against_ > (lru_rules_ ? patience_ * limit : limit)) {
    if (lru_rules_) patience_ = std::min(kMostPatience, 2 * patience_);
    lru_rules_ = !lru_rules_;
    against_ = 0;
  }
  lru_hits_ += lru_hit_;
  lru_hit_ = index_hit_ = 0, lru_has_ = index_has_ = true;
}

void Duel::fade(double part) {
  lru_hits_ *= part, lru_missed_ *= part, squares_ *= part;
  for (; oldest_ < lives_.first(); ++oldest_) lru_tokens_ -= double{lives_[oldest_].tokens};
  for (std::size_t i = held_.size(); i-- > 0;)
    if (!lives_.knows(held_[i])) leave(held_[i]);
}

bool Duel::lru_rules() const { return lru_rules_ || lru_missed_ <= kStakes * lru_hits_; }

void Duel::clear() {
  while (!held_.empty()) leave(held_.back());
  oldest_ = lives_.next();
  lru_tokens_ = index_tokens_ = 0;
}

}  // namespace canopy::hazard
