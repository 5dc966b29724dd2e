#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <mirror/mirror.h>
#include "palette.h"
#include "tier_shares.h"
#include "tree_index.h"

namespace canopy::inspector {

/// What is selected: at most one of each kind, and every panel shows it.
struct Selection {
  std::uint64_t node = 0, request = 0;  ///< ids; 0 none
  std::size_t group = 0;
  bool tier = false;  ///< the tree, its nodes and pages are those of the tier below; the node is one of its
  ColourBy colour = ColourBy::state;
  bool reveal = false;               ///< the tree brings the node into sight
  bool pause_wanted = false;         ///< space, or its button
  bool help = false;                 ///< the sheet of keys is open
  bool choose_wanted = false;        ///< another feed or recording shall be chosen
  bool reveal_request = false;       ///< the list of requests brings it into sight
  std::uint64_t request_wanted = 0;  ///< selected as soon as the moment that is shown has it

  void select_node(std::uint64_t id, bool bring_into_sight = true) {
    node = id;
    reveal = bring_into_sight && id != 0;
  }
  /// A node's id means another one in the other tier.
  void show_tier(bool below) {
    if (std::exchange(tier, below) != below) node = 0;
  }
  /// The request, and its last node if that is known.
  void select_request(const MirrorRequest& chosen) {
    request = chosen.id;
    show_tier(false);  // it ran in the pools
    reveal_request = true;
    if (chosen.last_node != 0) select_node(chosen.last_node);
  }
};

/// Commands for the engine: the shell takes them from here to the source.
struct Mailbox {
  bool open = false;       ///< the feed takes controls
  bool read_only = false;  ///< a person does not want any to be sent
  bool locked = false;     ///< read_only for good: so it was started
  bool paused = false;     ///< as asked, or as it says
  std::vector<Command> commands;

  bool obeyed() const { return open && !read_only; }

  void send(Command::Kind kind, std::uint64_t amount = 0, std::uint32_t group = 0, const std::string& name = {}) {
    if (!obeyed()) return;
    Command command{kind, group, amount, {}, {}};
    name.copy(command.name, sizeof(command.name) - 1);
    commands.push_back(command);
    if (kind == Command::Kind::pause || kind == Command::Kind::step) paused = true;
    if (kind == Command::Kind::go_on) paused = false;
  }
  /// The engine goes on until the condition is true.
  void run_until(Condition until, std::uint64_t amount, std::uint32_t group) {
    if (!obeyed()) return;
    commands.push_back({Command::Kind::run_until, group, amount, {}, until});
    paused = false;
  }
  /// Takes over why the engine is paused, when that changes: it may pause by itself.
  void hear(const std::string& why_paused) {
    if (std::exchange(heard_, why_paused) != why_paused) paused = !why_paused.empty();
  }

 private:
  std::string heard_;
};

/// Where the events come from, and the state of that source.
struct Session {
  enum class State : std::uint8_t { choosing, attaching, live, stopped, gone, recording };
  State state = State::attaching;
  std::string name;        ///< of the feed or of the file
  std::string source;      ///< in this process, shared memory, recording
  std::string detail;      ///< gone: why; recording: what is odd about it
  std::uint64_t feed = 0;  ///< number of the feed, counted from the start of the program
  /// A recording is being read: what of, and how much of it is done. Empty: all that is wanted is there.
  std::string reading;
  double done = 0;
  bool waits_for_again = false;  ///< gone: it is attached to again as soon as an engine of its name starts
  std::uint64_t again = 0;       ///< times that this happened
  std::uint64_t laps = 0;        ///< times that events were lost because they came faster than they were read
};

/// The moment of a recording that is shown, and the one that is wanted. A live feed has only the present.
struct Timeline {
  static constexpr std::uint64_t kFirst = 1;
  bool seekable = false, playing = false;
  std::uint64_t at = 0, end = 0;  ///< commits
  std::uint64_t wanted = 0;       ///< shown from the next frame on
  std::vector<Sample> whole;      ///< of a recording: Mirror::samples of the latest moment that was ever read
  float speed = 1;                ///< of the recorded time
  std::vector<std::uint64_t> bookmarks;
  std::uint64_t a = 0, b = 0;  ///< commits of the comparison; 0 not set
  Mirror::Moment moment_a, moment_b;
  Difference difference;

  /// The commit with which a request began, in a recording that has it; 0 otherwise.
  std::function<std::uint64_t(std::uint64_t request)> begun;

  /// Before the first commit there is nothing to show.
  void seek(std::uint64_t commit) { wanted = std::clamp(commit, std::min(end, kFirst), end); }
};

/// Everything a panel can see.
struct Scene {
  const Mirror& mirror;
  const TreeIndex& tree;
  Selection& selection;
  Mailbox& mailbox;
  const Session& session;
  Timeline& time;
  const Mirror& pools;       ///< `mirror`, but where that is the tier below
  const TierShares& shares;  ///< of `mirror`'s nodes, while they have the colour of their tier

  /// Whether the moment changes by itself: lists that are read must hold still then.
  bool moves() const { return !time.seekable || time.playing; }
  const MirrorPool& pool() const { return mirror.pool(selection.group); }
  /// Another number: another feed, or the other tier.
  std::uint64_t shown() const { return session.feed * 2 + selection.tier; }
  /// The selected node; null if none is selected or it was evicted.
  const MirrorNode* node() const { return selection.node ? mirror.find(selection.node) : nullptr; }
};

/// Why there is no picture, and what to do next; empty if there is one.
struct Notice {
  std::string what, next;
};
Notice notice_of(const Session& session, const Mirror& mirror);

}  // namespace canopy::inspector
