#pragma once
/// A recount of a feed from its 32-byte events, which it decodes on its own: it shares no code with the mirror and the
/// history. It could not notice a wrong figure of pages that came back, of single prefixes, or of larger pools.

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace canopy::test {

class RawRecount {
 public:
  static constexpr std::size_t kBytes = 32;
  /// Figures of a namespace, or of all.
  struct Sums {
    std::uint64_t requests = 0, prompt = 0, hit = 0, tries = 0, inserted = 0, evicted = 0, wasted = 0, held = 0,
                  locked_us = 0;
    friend bool operator==(const Sums&, const Sums&) = default;
  };
  Sums all;
  std::map<std::uint32_t, Sums> spaces;
  std::uint64_t room = 0, limit = 0, flush = 0, other = 0;                ///< evicted, by cause
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> paid;  ///< by the namespaces that lost and needed
  std::size_t retractions = 0, keyframes = 0;

  void take(std::span<const std::array<unsigned char, kBytes>> events) {
    for (const auto& event : events) {
      commit_.push_back(event);
      if (event[0] == 26) take_commit(), commit_.clear();
    }
  }
  /// Events were lost: nothing counts until the next keyframe.
  void lost() { commit_.clear(), in_step_ = false; }

 private:
  struct Node {
    std::uint32_t space = 0, length = 0, slot_above = 0, groups = 0;
    bool found = false, late = false;
  };
  struct Run {
    std::uint32_t space = 0, prompt = 0, matched = 0;
    std::uint64_t node = 0;
    bool waits = false, locks = true;
  };

  template <class Number>
  static Number at(const std::array<unsigned char, kBytes>& event, std::size_t place) {
    Number number = 0;
    std::memcpy(&number, event.data() + place, sizeof(number));
    return number;
  }
  static std::uint32_t slot(std::uint64_t node) { return static_cast<std::uint32_t>(node); }

  void both(std::uint32_t space, std::uint64_t Sums::* what, std::uint64_t amount) {
    all.*what += amount, spaces[space].*what += amount;
  }

  void take_commit() {
    const bool keyframe = commit_.front()[0] == 24;
    if (keyframe ? in_step_ : !in_step_) return;
    const auto us = at<std::uint64_t>(commit_.back(), 24), operations = at<std::uint64_t>(commit_.back(), 16);
    operation_ = at<std::uint32_t>(commit_.back(), 4);
    if (keyframe) {
      known_ = !listened_ && operations <= 1;
      nodes_.clear(), before_.swap(runs_), runs_.clear();
      all.held = 0;
      for (auto& [space, sums] : spaces) sums.held = 0;
      in_step_ = listened_ = true;
      ++keyframes;
    } else {
      for (const auto& [id, run] : runs_)
        if (run.locks) both(run.space, &Sums::locked_us, us - us_);
    }
    us_ = us, keyframe_ = keyframe, lock_ = 0, lost_.clear(), taker_ = kNobody, left_for_room_ = 0;
    for (const auto& event : commit_) take_event(event);
    for (const auto& [space, tokens] : lost_)
      if (taker_ != kNobody && taker_ != space) paid[{space, taker_}] += tokens;
    // To lower a limit, the engine first evicts and then resizes.
    if (operation_ == 10) room -= last_room_, limit += last_room_;
    last_room_ = left_for_room_;
    before_.clear();
  }

  void take_event(const std::array<unsigned char, kBytes>& event) {
    if ((event[1] & 0x80) != 0) return;  // it belongs to the tier below
    switch (event[0]) {
      case 1:
        return add(event);
      case 4: {  // pages of a node
        const auto found = nodes_.find(slot(at<std::uint64_t>(event, 8)));
        if (found == nodes_.end() || (found->second.groups >> event[1] & 1) != 0) return;
        found->second.groups |= 1U << event[1];
        if (event[1] == 0 && !keyframe_) both(found->second.space, &Sums::inserted, found->second.length);
        return;
      }
      case 5: {  // a split
        const std::uint32_t below = slot(at<std::uint64_t>(event, 8)), above = slot(at<std::uint64_t>(event, 16));
        Node upper = nodes_.at(below);
        upper.length = at<std::uint32_t>(event, 4);
        nodes_[below].length -= upper.length, nodes_[below].slot_above = above;
        nodes_[above] = upper;
        return;
      }
      case 6: {  // removed
        const auto found = nodes_.find(slot(at<std::uint64_t>(event, 8)));
        if (found == nodes_.end()) return;
        remove(found->second);
        nodes_.erase(found);
        return;
      }
      case 7: {  // pages of a group left
        Node& node = nodes_.at(slot(at<std::uint64_t>(event, 8)));
        if (event[1] == 0) leave(node);
        node.groups &= ~(1U << event[1]);
        return;
      }
      case 8:
      case 13:
        if (event[1] == 0) lock_ = at<std::uint64_t>(event, 8);
        return;
      case 17:  // cleared
        operation_ = 7;
        for (const auto& [number, node] : nodes_) remove(node);
        nodes_.clear();
        return;
      case 18:
        return begin(event);
      case 51: {
        const auto run = runs_.find(at<std::uint64_t>(event, 8));
        if (run == runs_.end() || !run->second.waits) return;
        run->second.matched = at<std::uint32_t>(event, 4);
        return admit(run->second);
      }
      case 20:
        return progress(event);
      case 49:
        taker_ = at<std::uint32_t>(event, 4);
        return;
      default:
        return;
    }
  }

  void add(const std::array<unsigned char, kBytes>& event) {
    Node node;
    node.space = at<std::uint32_t>(event, 4), node.length = at<std::uint32_t>(event, 20);
    node.slot_above = at<std::uint32_t>(event, 16), node.groups = at<std::uint16_t>(event, 2);
    node.late = keyframe_ && !known_;
    both(node.space, &Sums::held, node.length);
    if (!node.late) both(node.space, &Sums::inserted, node.length);
    nodes_[slot(at<std::uint64_t>(event, 8))] = node;
  }

  void leave(const Node& node) {
    if ((node.groups & 1) == 0) return;
    both(node.space, &Sums::evicted, node.length);
    if (operation_ == 4) room += node.length, left_for_room_ += node.length, lost_[node.space] += node.length;
    else (operation_ == 10 ? limit : operation_ == 7 ? flush : other) += node.length;
    if (operation_ != 7 && !node.found && !node.late) both(node.space, &Sums::wasted, node.length);
  }

  void remove(const Node& node) {
    leave(node);
    all.held -= node.length, spaces[node.space].held -= node.length;
  }

  void begin(const std::array<unsigned char, kBytes>& event) {
    if (event[2] == 1) return;  // a fetch
    Run run;
    run.space = at<std::uint32_t>(event, 20), run.prompt = at<std::uint32_t>(event, 4);
    run.matched = at<std::uint32_t>(event, 16), run.waits = event[3] == 1;
    const auto node = at<std::uint64_t>(event, 24);
    run.node = node != 0 ? node : lock_;
    const auto id = at<std::uint64_t>(event, 8);
    Run& kept = runs_[id] = run;
    const bool is_new = !before_.contains(id);
    if (kept.waits || !is_new) return;
    if (!keyframe_ || known_) admit(kept);
  }

  void admit(Run& run) {
    run.waits = false;
    both(run.space, &Sums::requests, 1);
    both(run.space, &Sums::prompt, run.prompt);
    both(run.space, &Sums::hit, run.matched);
    if (run.matched == 0) return;
    for (std::uint32_t up = slot(run.node); nodes_.contains(up); up = nodes_[up].slot_above) nodes_[up].found = true;
  }

  void progress(const std::array<unsigned char, kBytes>& event) {
    const auto found = runs_.find(at<std::uint64_t>(event, 8));
    if (found == runs_.end()) return;
    Run& run = found->second;
    const auto phase = at<std::uint16_t>(event, 2);
    if (phase == 2 || phase == 3) {
      if (run.waits) both(run.space, &Sums::tries, 1);
      runs_.erase(found);
      return;
    }
    if (lock_ != 0) run.node = lock_;
    run.locks = phase != 4;
    retractions += phase == 4;
  }

  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::vector<std::array<unsigned char, kBytes>> commit_;
  std::map<std::uint32_t, Node> nodes_;
  std::map<std::uint64_t, Run> runs_, before_;  ///< before_: those before a keyframe, while it is taken
  std::map<std::uint32_t, std::uint64_t> lost_;
  std::uint64_t us_ = 0, lock_ = 0, left_for_room_ = 0, last_room_ = 0;
  std::uint32_t operation_ = 0, taker_ = kNobody;
  bool keyframe_ = false, known_ = false, listened_ = false, in_step_ = false;
};

}  // namespace canopy::test
