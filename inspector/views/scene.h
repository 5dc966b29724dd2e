#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <account/history.h>
#include <account/notes.h>
#include <account/time_axis.h>
#include <account/two_pasts.h>
#include <mirror/mirror.h>
#include "figured.h"
#include "palette.h"
#include "tier_shares.h"
#include "tree_index.h"

namespace canopy::inspector {

/// Files that the user wants to have. The shell writes them.
struct Exports {
  bool possible = false;  ///< true if the shell can write files
  struct File {
    std::string name, text;
  };
  std::vector<File> wanted;
  /// A file that a panel on the screen can write: its name, and its content in words.
  struct Offer {
    std::string name, help;
  };
  std::vector<Offer> offers;  ///< those of the current frame
  std::string chosen;         ///< name of an offer that was chosen in the list of commands
  bool picture = false;       ///< the next frame is wanted as a PNG picture
  std::string result;         ///< message about the last one; empty: none
  double until = 0;           ///< time of ImGui's clock until which `result` is shown
};

/// The selection: at most one item of each kind, shown by every panel.
struct Selection {
  std::uint64_t node = 0, request = 0;  ///< ids; 0: none
  std::size_t group = 0;
  bool tier = false;  ///< the tree, its nodes and its pages are those of the tier below, and so is `node`
  ColourBy colour = ColourBy::state;
  /// Namespace to which lists, charts and figures are restricted; empty: all namespaces.
  std::optional<NamespaceId> space;
  Exports exports;
  bool reveal = false;               ///< the tree must bring the node into sight
  bool pause_wanted = false;         ///< space, or its button, was pressed
  bool copy = false;                 ///< the text of the panel under the mouse is wanted in the clipboard
  bool help = false;                 ///< the sheet of keys is open
  std::uint64_t naming = 0;          ///< commit whose note is being named; 0: none
  bool choose_wanted = false;        ///< the user wants another feed or recording
  bool reveal_request = false;       ///< the list of requests must bring the request into sight
  std::uint64_t request_wanted = 0;  ///< request to select as soon as the shown moment contains it

  void select_node(std::uint64_t id, bool bring_into_sight = true) {
    node = id;
    reveal = bring_into_sight && id != 0;
  }
  /// Switches the tier. Clears the node, because its id means a different node in the other tier.
  void show_tier(bool below) {
    if (std::exchange(tier, below) != below) node = 0;
  }
  /// Selects a request and, if known, its last node.
  void select_request(const MirrorRequest& chosen) {
    request = chosen.id;
    show_tier(false);  // requests run in the pools
    reveal_request = true;
    if (chosen.last_node != 0) select_node(chosen.last_node);
  }
};

/// Commands for the engine. The shell passes them on to the source.
struct Mailbox {
  bool open = false;       ///< the feed takes controls
  bool read_only = false;  ///< the user wants no commands to be sent
  bool in_past = false;    ///< an earlier moment is shown: what is seen is not what a command would change
  bool locked = false;     ///< read_only cannot be switched off (--read-only)
  bool paused = false;     ///< the engine is paused, as requested or as it reports
  std::vector<Command> commands;

  bool obeyed() const { return open && !read_only && !in_past; }

  void send(Command::Kind kind, std::uint64_t amount = 0, std::uint32_t group = 0, const std::string& name = {}) {
    if (!obeyed()) return;
    Command command{kind, group, amount, {}, {}};
    name.copy(command.name, sizeof(command.name) - 1);
    commands.push_back(command);
    if (kind == Command::Kind::pause || kind == Command::Kind::step) paused = true;
    if (kind == Command::Kind::go_on) paused = false;
  }
  /// Lets the engine continue until the condition is true.
  void run_until(Condition until, std::uint64_t amount, std::uint32_t group) {
    if (!obeyed()) return;
    commands.push_back({Command::Kind::run_until, group, amount, {}, until});
    paused = false;
  }
  /// Updates `paused` when the engine's reason for its pause changes, because it may pause by itself.
  void follow_pause(const std::string& why_paused) {
    if (std::exchange(why_paused_, why_paused) != why_paused) paused = !why_paused.empty();
  }

 private:
  std::string why_paused_;
};

/// Source of the events, and its state.
struct Session {
  enum class State : std::uint8_t { choosing, attaching, live, gone, recording };
  State state = State::attaching;
  std::string name;        ///< name of the feed or file
  std::string source;      ///< "in this process", "shared memory", "from a server" or "recording"
  std::string detail;      ///< gone: the reason; recording: what is unusual about it
  std::uint64_t feed = 0;  ///< number of the feed, counted from the start of the program
  /// Stage of reading a recording, in words; `done` is the part that was read, 0..1. Empty: everything needed is read.
  std::string reading;
  double done = 0;
  bool server_gone = false;      ///< gone: the server that sent the feed; of the engine nothing is known
  bool waits_for_again = false;  ///< gone: the inspector attaches again as soon as an engine with this name starts
  std::uint64_t again = 0;       ///< times that it attached again
  std::uint64_t laps = 0;        ///< times that events were lost because they came faster than they were read
  Doubts doubts;                 ///< doubts of a recording's file; the mirror has those of its events
};

/// Time as the user sees it: the past, the selected range of it, and the moment that is shown. A recording can show any
/// moment; a live feed the present and what is kept of its past.
struct Timeline {
  bool seekable = false, playing = false;           ///< seekable: any moment from `first` on can be shown
  bool live = false;                                ///< the feed goes on: `end` moves by itself
  bool held = false;                                ///< live: the moment that is shown does not follow the end
  std::uint64_t first = 1;                          ///< earliest commit that can be shown
  std::size_t kept_bytes = 0, most_kept_bytes = 0;  ///< live: memory for going back, in use and at most
  std::uint64_t at = 0, end = 0;                    ///< commits
  std::uint64_t wanted = 0;                         ///< commit to show from the next frame on
  History history;                                  ///< everything that was ever read, wherever the playhead is
  std::shared_ptr<const OtherPast> other;           ///< May be null (there is no second recording).
  CommitRange range;                                ///< selected range; empty: the whole time
  AxisBy axis_by = AxisBy::clock;                   ///< unit of every axis of time
  double from = 0, to = 0;  ///< window of the time axis that is in sight (TimeAxis); to <= from: all of it
  /// Range to read again commit by commit, because the history merges commits; empty: none. The result is `detail`.
  CommitRange detail_wanted;
  std::shared_ptr<const History> detail;  ///< May be null (not read yet, or a live feed).
  float speed = 1;                        ///< playback speed relative to the recorded time
  Notes notes;
  std::string notes_place;      ///< place where they are kept, in words; empty: nowhere
  std::string notes_complaint;  ///< reason why they are not kept; empty: they are
  std::uint64_t a = 0, b = 0;   ///< commits of the comparison; 0: not set
  Mirror::Moment moment_a, moment_b;
  Difference difference;

  /// Returns the commit with which a request began; 0 if the recording does not contain it. Empty for a live feed.
  std::function<std::uint64_t(std::uint64_t request)> begun;

  TimeAxis axis() const { return TimeAxis(history, axis_by); }
  /// Enlarges the range to the steps that the history keeps, so that lists and figures agree. A range that was read
  /// again commit by commit stays as it is.
  void snap_range() {
    const bool exact = detail && detail->all().first <= range.first && detail->all().last >= range.last;
    if (!range.empty() && !exact) range = history.snapped(range);
  }
  /// Returns true if a commit can be shown.
  bool has(std::uint64_t commit) const { return seekable && commit >= first && commit <= end; }
  bool follows() const { return live && !held; }
  /// Returns true if the moment that is shown changes by itself.
  bool moves() const { return playing || follows(); }
  /// Remembers the mirror's moment for the comparison, as A or B.
  void remember(const Mirror& mirror, bool as_a) {
    (as_a ? a : b) = mirror.commits();
    (as_a ? moment_a : moment_b) = mirror.moment();
    if (a != 0 && b != 0) difference = Mirror::difference(moment_a, moment_b);
  }
  /// Sets the wanted commit, at least the first. The last one of a live feed is its present, which is then followed.
  void seek(std::uint64_t commit) {
    wanted = std::clamp(commit, std::min(end, first), end);
    held = live && wanted < end;
  }
};

/// All inputs of a panel.
struct Scene {
  const Mirror& mirror;
  const TreeIndex& tree;
  Selection& selection;
  Mailbox& mailbox;
  const Session& session;
  Timeline& time;
  const Mirror& pools;       ///< mirror of the pools: `mirror`, unless that is the tier below
  const Figured& figures;    ///< figures of the whole time and of the selected range
  const TierShares& shares;  ///< shares of `mirror`'s nodes; valid while nodes are coloured by tier

  /// Returns true if the moment changes by itself: lists must then hold still while they are read.
  bool moves() const { return time.moves(); }
  const MirrorPool& pool() const { return mirror.pool(selection.group); }
  /// Returns the doubts of the figures.
  Doubts doubts() const {
    Doubts all = session.doubts;
    add_doubts(all, mirror.doubts());
    return all;
  }
  /// Returns a number that differs for each feed and tier.
  std::uint64_t shown() const { return session.feed * 2 + selection.tier; }
  /// Returns the selected node; null if none is selected or it was evicted.
  const MirrorNode* node() const { return selection.node ? mirror.find(selection.node) : nullptr; }
};

/// Reason why there is no picture, and the next step for the user. Both are empty if there is a picture.
struct Notice {
  std::string what, next;
};
Notice notice_of(const Session& session, const Mirror& mirror);

}  // namespace canopy::inspector
