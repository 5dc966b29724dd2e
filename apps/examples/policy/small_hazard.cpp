#include <canopy/plugin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

// The policy `hazard` without what makes it fast and safe: docs/policies.md explains it by this file. It learns, for
// each class of prefixes and each age, how many are used again, and evicts what is expected to bring the fewest hits
// for its room.
namespace {

// Ages are thousandths of a turnover of the pool. Their bins end at 8, 12, 16, 24 ...; the last one at eight turnovers.
constexpr std::size_t kBins = 21;
const std::array<double, kBins + 1> kEdges = [] {
  std::array<double, kBins + 1> edges{};
  for (std::size_t i = 1; i <= kBins; ++i)
    edges[i] = i % 2 == 0 ? 1.5 * edges[i - 1] : std::ldexp(8, static_cast<int>(i / 2));
  return edges;
}();
double width(std::size_t bin) { return kEdges[bin + 1] - kEdges[bin]; }
std::size_t bin_of(double age) {
  return static_cast<std::size_t>(std::upper_bound(kEdges.begin(), kEdges.end(), age) - kEdges.begin()) - 1;
}

// A class: how often the prefix was used, and if it was not often, how many tokens of the request were new and whether
// its answer was long.
constexpr std::size_t kUses = 6, kClasses = kUses * 5 * 2;
std::size_t class_of(std::uint32_t count, std::uint32_t fresh, std::uint32_t answer) {
  const std::size_t uses = count <= 1 ? 0 : count == 2 ? 1 : count < 6 ? 2 : count < 16 ? 3 : count < 64 ? 4 : 5;
  if (uses > 2) return uses;
  const std::size_t news = fresh < 640 ? 0 : fresh < 1280 ? 1 : fresh < 3072 ? 2 : fresh < 8192 ? 3 : 4;
  return ((answer < 128 ? 0 : 5) + news) * kUses + uses;
}

using Hazards = std::array<double, kBins>;  // probability to be used again in a bin, if not before it
struct Counts {
  std::array<double, kBins> returned{}, survived{};

  /// Leans on other hazards with the weight of `lent` observations. A bin also leans on the bin before it, with a
  /// weight of `most` at most, where few lives grow so old because almost all have returned.
  Hazards hazards(const Hazards& others, double lent, double most) const {
    Hazards all{};
    double own = 0, seen = 0;
    for (std::size_t b = 0; b < kBins; ++b) {
      if (b > 1) own = std::max(own, std::min(most, 0.15 * seen));
      seen = returned[b] + survived[b];
      all[b] = (returned[b] + lent * others[b] + (b > 0 ? own * all[b - 1] : 0)) / (seen + lent + own);
    }
    return all;
  }
  void add(const Counts& more) {
    for (std::size_t b = 0; b < kBins; ++b) returned[b] += more.returned[b], survived[b] += more.survived[b];
  }
};

/// The Gittins index: expected hits per token and turnover, if a token of this age is kept until the best age to stop.
std::array<double, kBins> indexes_of(const Hazards& hazards) {
  std::array<double, kBins> best{};
  for (std::size_t from = 0; from < kBins; ++from) {
    double alive = 1, hits = 0, time = 0;
    for (std::size_t b = from; b < kBins; ++b) {
      hits += alive * hazards[b];
      time += alive * width(b) / 1000 * (1 - 0.5 * hazards[b]);
      alive *= 1 - hazards[b];
      best[from] = std::max(best[from], hits / time);
    }
  }
  return best;
}

/// The time between two uses of some strides of a prompt. All of them together weigh 1.
struct Life {
  double began = 0, share = 0, left = 1;
  std::size_t of_class = 0, counted = 0;  // bins before `counted` are over
  std::array<double, kBins> returned{};
};

class SmallHazard final : public canopy::EvictionStrategy {
 public:
  struct Config {
    void visit(canopy::Options&) {}
  };
  explicit SmallHazard(const Config&) { fit(1); }

  canopy::Volatility volatility() const override { return canopy::Volatility::epoch; }
  canopy::Prints reads_prints() const override { return canopy::Prints::requests; }

  canopy::Rank rank(const canopy::NodeFacts& node) override {
    follow(node.clock);
    if (*node.tag == 0) *node.tag = tag(class_of(1, ~0U, 0));
    const double used = static_cast<double>((*node.tag >> 8) - 1) / 1024, age = std::max(0.0, now_ - used);
    const auto& index = indexes_[*node.tag & 255];
    const std::size_t bin = std::min(bin_of(age), kBins - 1), next = std::min(bin + 1, kBins - 1);
    const double worth = index[bin] + (index[next] - index[bin]) * std::min(1.0, (age - kEdges[bin]) / width(bin));
    return {std::bit_cast<std::uint64_t>(worth), node.last_access};  // positive numbers compare as their bits do
  }

  void ended(const canopy::RequestFacts& request, canopy::Path& path) override {
    follow(request.clock);
    if (now_ - fitted_ >= 20) fit(std::exp2((fitted_ - now_) / 10'000));
    const auto strides = std::min<std::size_t>(request.prefix_prints.size(), request.prompt / canopy::kPrintStride);
    const auto prints = request.prefix_prints.first(request.ending == canopy::Ending::retracted ? 0 : strides);

    // A use of each stride: its life ends, and its count grows.
    std::vector<Seen*> seen;
    std::size_t known = 0;
    for (const std::uint64_t print : prints) {
      Seen& one = remember(print);
      if (known == seen.size() && one.count > 0) ++known;
      end_life(one.life);
      ++one.count;
      seen.push_back(&one);
    }
    const auto fresh = static_cast<std::uint32_t>(request.prompt - known * canopy::kPrintStride);
    for (std::size_t i = 0, begin = 0; i < seen.size(); ++i) {  // and a life begins, for consecutive ones of a class
      const std::size_t of_class = class_of(seen[i]->count, fresh, request.output);
      if (i == 0 || of_class != lives_.back().of_class) {
        begin = i;
        lives_.push_back({.began = now_, .of_class = of_class});
      }
      lives_.back().share = 1 / static_cast<double>(i - begin + 1);
      seen[i]->life = first_ + lives_.size() - 1;
    }
    for (canopy::NodeFacts node; path.next(node);) {
      const std::size_t middle = (node.begin + node.length / 2) / canopy::kPrintStride;
      *node.tag = tag(class_of(middle < seen.size() ? seen[middle]->count : 1, fresh, request.output));
    }
  }

 private:
  struct Seen {
    std::uint32_t count = 0;
    std::uint64_t life = 0;
  };

  std::uint64_t tag(std::size_t of_class) const {
    return (static_cast<std::uint64_t>(now_ * 1024) + 1) << 8 | of_class;
  }

  void follow(const canopy::PolicyClock& clock) {
    if (clock.capacity == canopy::kUnlimited || clock.capacity == 0 || clock.allocated <= allocated_) return;
    now_ += 1000 * static_cast<double>(clock.allocated - allocated_) / static_cast<double>(clock.capacity);
    allocated_ = clock.allocated;
    most_ = std::max<std::size_t>(65536, 8 * clock.capacity / canopy::kPrintStride);
  }

  /// Two generations: when the young one is full, the old one is forgotten. References stay valid during a request.
  Seen& remember(std::uint64_t print) {
    if (const auto at = young_.find(print); at != young_.end()) return at->second;
    Seen& one = young_[print];
    if (const auto at = old_.find(print); at != old_.end()) one = at->second, old_.erase(at);
    return one;
  }

  void end_life(std::uint64_t id) {
    if (id < first_ || id >= first_ + lives_.size()) return;
    Life& life = lives_[id - first_];
    const std::size_t bin = bin_of(now_ - life.began);
    const double weight = std::min(life.share, life.left);
    if (bin < kBins) life.returned[bin] += weight, life.left -= weight;
  }

  /// Counts the bins that are over, and computes all indexes again.
  void fit(double part) {
    for (Counts& counts : counts_)
      for (std::size_t b = 0; b < kBins; ++b) counts.returned[b] *= part, counts.survived[b] *= part;
    for (Life& life : lives_)
      for (; life.counted < kBins && now_ - life.began >= kEdges[life.counted + 1]; ++life.counted) {
        double later = life.left;
        for (std::size_t b = life.counted + 1; b < kBins; ++b) later += life.returned[b];
        counts_[life.of_class].returned[life.counted] += life.returned[life.counted];
        counts_[life.of_class].survived[life.counted] += later;
      }
    for (; !lives_.empty() && lives_.front().counted == kBins; ++first_) lives_.pop_front();
    if (young_.size() > most_) old_ = std::exchange(young_, {});

    Hazards prior{};
    for (std::size_t b = 0; b < kBins; ++b)
      prior[b] = std::min(0.9, 0.3 * std::log((kEdges[b + 1] + 20) / (kEdges[b] + 20)));
    Counts all;
    std::array<Counts, kUses> of_uses{};
    for (std::size_t k = 0; k < kClasses; ++k) of_uses[k % kUses].add(counts_[k]), all.add(counts_[k]);
    const Hazards of_all = all.hazards(prior, 4, 0);
    for (std::size_t k = 0; k < kClasses; ++k)
      indexes_[k] = indexes_of(counts_[k].hazards(of_uses[k % kUses].hazards(of_all, 10, 10), 10, 10));
    fitted_ = now_;
  }

  double now_ = 0, fitted_ = 0;
  std::uint64_t allocated_ = 0, first_ = 1;
  std::size_t most_ = 65536;
  std::unordered_map<std::uint64_t, Seen> young_, old_;
  std::deque<Life> lives_;
  std::array<Counts, kClasses> counts_{};
  std::array<std::array<double, kBins>, kClasses> indexes_{};
};

}  // namespace

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::EvictionStrategy, SmallHazard>(
                           "small_hazard", "what is expected to bring the fewest hits for its room, as learned"));
