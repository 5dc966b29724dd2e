#include <support/group_model.h>

#include <doctest/doctest.h>
#include <conformance/model/effort.h>
#include <conformance/model/plugins.h>
#include <conformance/model/prng.h>

#include <algorithm>
#include <string>

namespace {

using namespace canopy;
using namespace canopy::test;
using Chain = GroupModel::Chain;

/// What a program reached: one that never met a gap would prove nothing about gaps.
struct Coverage {
  std::uint64_t gaps = 0, refills = 0, short_matches = 0, relaxed = 0, left = 0, held_evictions = 0;
};

/// Random requests through an index with the given reaches, every answer compared with the model.
class Program {
 public:
  Program(std::uint64_t seed, Units page_size, const std::vector<Units>& reaches)
      : random_(seed),
        page_(page_size),
        count_(reaches.size()),
        model_(page_size, reaches),
        lru_(make<EvictionStrategy>("lru", {})) {
    for (const Units reach : reaches) groups_.push_back({"group", reach, kUnlimited, lru_.get()});
    index_ = make<PrefixIndex>("radix", {page_size, 0, groups_});
  }

  Coverage run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      switch (random_.below(16)) {
        case 0:
        case 1:
        case 2:
        case 3:
          match();
          break;
        case 4:
        case 5:
        case 6:
        case 7:
          extend();
          break;
        case 8:
        case 9:
        case 10:
          release();
          break;
        case 11:
        case 12:
        case 13:
          evict();
          break;
        case 14:
          relax();
          break;
        default:
          if (random_.one_in(20)) flush();
      }
      model_.check(*index_);
    }
    while (!live_.empty()) release();
    for (std::size_t g = 0; g < count_; ++g) take_out(index_->evict(g, 1 << 20));
    model_.check(*index_);
    if (index_->use().nodes != 0) disagree("{} nodes are left when everything may leave", index_->use().nodes);
    if (index_->use().refused != 0) disagree("{} calls were refused", index_->use().refused);
    return coverage_;
  }

 private:
  struct Live {
    Lock lock;
    Chain words;  ///< under the lock
  };

  Chain random_words() {
    // Two symbols and short keys, so that everything shares something with everything.
    Chain words;
    if (!history_.empty() && !random_.one_in(3)) {
      const Chain& earlier = history_[random_.below(static_cast<std::uint32_t>(history_.size()))];
      words.assign(earlier.begin(), earlier.begin() + random_.below(static_cast<std::uint32_t>(earlier.size() + 1)));
    }
    for (std::uint32_t more = random_.below(10 * page_); more > 0; --more) words.push_back(random_.below(2));
    if (history_.size() < 64) history_.push_back(words);
    else history_[random_.below(64)] = words;
    return words;
  }

  void match() {
    if (live_.size() > 6) return;
    const Chain words = random_words();
    const Units expected = model_.match(words), peeked = index_->peek({NamespaceId::shared, words}).length;
    const Lock lock = index_->match({NamespaceId::shared, words}, {});
    if (lock.length != expected || peeked != expected)
      disagree("a match of {} words gives {}, a peek {}, the model {}", words.size(), lock.length, peeked, expected);
    coverage_.short_matches += expected < model_.known(words);
    hold(lock, {words.begin(), words.begin() + expected});
    check_pages(lock, live_.rbegin()->first);
  }

  void check_pages(const Lock& lock, int number) {
    const auto pages = index_->pages(lock);
    const GroupModel::Lock& expected = model_.locks.at(number);
    const Chain& words = expected.words;
    for (std::size_t g = 0; g < count_; ++g)
      for (std::size_t i = 0; i < words.size() / page_; ++i) {
        const auto depth = static_cast<Units>(i) * page_;
        const Page there = model_.page(words, depth, g);
        const Page page = depth >= model_.needed_from(expected, g) ? there : 0;
        coverage_.gaps += there == 0;
        if (pages[g][i] != page) disagree("page {} of group {} is {}, the model has {}", i, g, pages[g][i], page);
      }
  }

  void hold(const Lock& lock, Chain words) {
    model_.locks[next_] = {words, {}};
    live_[next_++] = {lock, std::move(words)};
  }

  /// A request goes on: its prefix and what it computed, in the windowed groups perhaps only the end of it.
  void extend() {
    if (live_.empty()) return match();
    const auto at = std::next(live_.begin(), random_.below(static_cast<std::uint32_t>(live_.size())));
    Chain words = at->second.words;
    const auto from = static_cast<Units>(words.size());
    for (std::uint32_t more = random_.below(8 * page_); more > 0; --more) words.push_back(random_.below(2));
    const auto end = static_cast<Units>(words.size() / page_ * page_);
    std::array<std::vector<Page>, kMaxGroups> brought;
    GroupPages spans{};
    for (std::size_t g = 0; g < count_; ++g) {
      const std::uint32_t pages = (end - from) / page_;
      const std::uint32_t missing = groups_[g].reach == kWholePath || !random_.one_in(2) ? 0 : random_.below(pages + 1);
      for (std::uint32_t i = 0; i < pages; ++i) brought[g].push_back(i < missing ? 0 : next_page_++);
      spans[g] = brought[g];
    }
    const Units known = std::max(from, model_.known(words));
    const Inserted inserted = index_->insert(at->second.lock, {NamespaceId::shared, words}, spans, {});
    if (inserted.had != known) disagree("an insert had {}, the model {}", inserted.had, known);
    const auto before = model_;
    const auto spare = model_.insert(words, from, end, brought);
    for (std::size_t g = 0; g < count_; ++g) {
      if (!std::equal(spare[g].begin(), spare[g].end(), inserted.spare[g].begin(), inserted.spare[g].end()))
        disagree("group {}: {} pages are spare, the model gives back {}", g, inserted.spare[g].size(), spare[g].size());
      for (Units depth = from; depth < std::min(known, end); depth += page_)
        coverage_.refills += before.page(words, depth, g) == 0 && model_.page(words, depth, g) != 0;
    }
    words.resize(inserted.lock.length);
    if (model_.known(words) != words.size() || (inserted.lock.length != end && model_.known(words) < words.size()))
      disagree("the lock after an insert is {} long, {} were brought", inserted.lock.length, end);
    at->second = {inserted.lock, words};
    model_.locks[at->first] = {words, {}};
    check_pages(inserted.lock, at->first);
  }

  void release() {
    if (live_.empty()) return;
    const auto at = std::next(live_.begin(), random_.below(static_cast<std::uint32_t>(live_.size())));
    index_->release(at->second.lock);
    model_.locks.erase(at->first);
    live_.erase(at);
  }

  void relax() {
    if (live_.empty()) return;
    const auto at = std::next(live_.begin(), random_.below(static_cast<std::uint32_t>(live_.size())));
    const std::size_t group = random_.below(static_cast<std::uint32_t>(count_));
    const Units from = random_.below(static_cast<std::uint32_t>(at->second.words.size() + 1));
    index_->relax(at->second.lock, group, from);
    if (groups_[group].reach == kWholePath) return;
    model_.relax(at->first, group, from);
    ++coverage_.relaxed;
    if (!at->second.words.empty()) check_pages(at->second.lock, at->first);
  }

  void evict() {
    const std::size_t group = random_.below(static_cast<std::uint32_t>(count_));
    const std::uint64_t wanted = 1 + random_.below(12), could = index_->sizes(group).evictable / page_;
    const auto left = index_->evict(group, wanted);
    if (left[group].size() < std::min(wanted, could))
      disagree("an eviction of {} pages freed {}, {} were evictable", wanted, left[group].size(), could);
    coverage_.held_evictions += !live_.empty() && !left[group].empty();
    take_out(left);
  }

  void flush() {
    take_out(index_->flush(NamespaceId::shared));
    for (std::size_t g = 0; g < count_; ++g)
      if (index_->sizes(g).evictable != 0)
        disagree("a flush left {} evictable units in group {}", index_->sizes(g).evictable, g);
    if (live_.empty() && index_->use().nodes != 0) disagree("a flush without locks left {} nodes", index_->use().nodes);
  }

  void take_out(const GroupPages& left) {
    for (std::size_t g = 0; g < count_; ++g) {
      coverage_.left += left[g].size();
      model_.left(g, left[g]);
    }
    model_.check_shape();
  }

  Prng random_;
  Units page_;
  std::size_t count_;
  GroupModel model_;
  std::shared_ptr<EvictionStrategy> lru_;
  std::vector<Group> groups_;
  std::shared_ptr<PrefixIndex> index_;
  std::map<int, Live> live_;
  std::vector<Chain> history_;
  int next_ = 1;
  Page next_page_ = 1;
  Coverage coverage_;
};

void compare(const std::string& what, Units page_size, const std::vector<Units>& reaches, bool window) {
  constexpr std::uint64_t kWorlds = 60;
  Coverage all;
  for (std::uint64_t seed = 1; seed <= with_effort(kWorlds); ++seed) {
    CAPTURE(what);
    CAPTURE(page_size);
    CAPTURE(seed);
    Coverage reached;
    try {
      reached = Program(seed, page_size, reaches).run(400);
    } catch (const Mismatch& difference) {
      FAIL(std::string(difference.what()));
    }
    all.gaps += reached.gaps, all.refills += reached.refills, all.short_matches += reached.short_matches;
    all.relaxed += reached.relaxed, all.left += reached.left, all.held_evictions += reached.held_evictions;
  }
  if (effort() < 1) return;
  CHECK(all.left > 1000);
  CHECK(all.held_evictions > 500);
  if (!window) return;
  CHECK(all.gaps > 500);
  CHECK(all.refills > 50);
  CHECK(all.short_matches > 100);
  CHECK(all.relaxed > 100);
}

}  // namespace

TEST_CASE("full attention and a sliding window do what their reaches say, on every operation") {
  for (const Units page : {1U, 4U})
    for (const Units reach : {page, 2 * page + page / 2, 6 * page})
      compare("full + window", page, {kWholePath, reach}, true);
}

TEST_CASE("full attention, a window and a recurrent state do") {
  for (const Units page : {1U, 4U}) compare("full + window + state", page, {kWholePath, 3 * page, 1}, true);
}

TEST_CASE("a window alone does") {
  for (const Units page : {1U, 4U}) compare("window", page, {3 * page}, true);
}

TEST_CASE("two whole-path groups are as one") { compare("full + full", 4, {kWholePath, kWholePath}, false); }
