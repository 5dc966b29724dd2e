#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "draw.h"
#include "icicle_view.h"
#include "node_link_view.h"
#include "scene.h"
#include "tree_search.h"

namespace canopy::inspector {

/// One panel, one file. A panel draws what the mirror says, writes what was clicked into the selection and what was
/// asked for into the mailbox; what it keeps itself is how it is scrolled and what it computed for this moment.

void draw_header(Scene& scene, const Area& area);
void draw_health(Scene& scene, const Area& area);
void draw_plugins(Scene& scene);
void draw_config(Scene& scene);
void draw_compare(Scene& scene);
void draw_time_bar(Scene& scene, const Area& area);

/// The tree, as an icicle or as nodes and links: its bar, its search, what is folded, and its legend.
class TreePanel {
 public:
  void draw(Scene& scene, const Area& area);
  TreeView view() const { return view_; }
  void show(TreeView view) { view_ = view; }

  void focus_search() { search_wanted_ = true; }
  /// Shows the next thing that was found, or the previous one; false if nothing else was.
  bool step_search(Scene& scene, bool back = false);
  const TreeSearch& search() const { return search_; }

  /// One step back: forgets what was found, then shows all of the tree again; false if there is nothing to go back
  /// from.
  bool back();
  void zoom_to(const Scene& scene, std::uint32_t place);
  void fold(const Mirror& mirror, std::uint64_t node_id);
  const std::unordered_set<std::uint64_t>& folded() const { return folded_; }

  const IcicleView& icicle() const { return icicle_; }
  const NodeLinkView& nodes() const { return nodes_; }
  /// Middle of a node's box on the screen, if it has one of its own.
  bool middle_of(const TreeIndex& tree, std::uint64_t node_id, ImVec2& at) const;

 private:
  void draw_bar(Scene& scene);
  void find(Scene& scene);
  void draw_found();
  void show_hit(Scene& scene);
  bool unfold_selected(const Scene& scene);
  void draw_foot(const Scene& scene);

  TreeView view_ = TreeView::icicle;
  IcicleView icicle_;
  NodeLinkView nodes_;
  std::unordered_set<std::uint64_t> folded_;
  std::array<char, 1 << 14> wanted_{};  ///< what is being typed; a pasted prompt may be long
  TreeSearch search_;
  bool search_wanted_ = false;
};

/// All that is known of the selected node.
class NodePanel {
 public:
  void draw(Scene& scene, const Area& area);

 private:
  std::uint64_t at_ = 0, node_ = 0;     ///< the moment of what follows
  std::vector<std::uint64_t> path_;     ///< ids, root first
  std::vector<std::uint64_t> lockers_;  ///< running requests that end in or below it
  std::vector<NodeMoment> history_;
};

/// Free, evictable, protected and held pages over time, up to the capacity; hit rate and evictions below.
class SizesPanel {
 public:
  /// A column of the chart.
  struct Column {
    MirrorPool::Sums pages;
    double hit_share = -1;  ///< of the prompts since the column before; < 0: there were none
    double evicted = 0;     ///< tokens since the column before
    std::uint64_t commit = 0, us = 0;
  };
  static std::vector<Column> columns(const std::vector<Sample>& samples, std::size_t group, std::size_t most);
  void draw(Scene& scene, const Area& area);

 private:
  std::uint64_t at_ = ~std::uint64_t{0};
  std::size_t group_ = 0, most_ = 0;
  std::vector<Column> columns_;
};

/// A pool's pages by who owns them.
class PoolPanel {
 public:
  enum class Owner : std::uint8_t { free, evictable, protected_, gap, held, absent };
  /// Pages [first, first + pages) of the map, as one cell.
  struct Cell {
    Page first = 0;
    std::uint32_t pages = 0;
    std::array<std::uint32_t, 6> by_owner{};
    std::int64_t sample = 0;  ///< an owner among them (MirrorPool::owner), to colour and to click on
    bool selected = false;    ///< some are the selected node's or request's
    Owner most() const;
  };
  struct Map {
    std::vector<Cell> cells;
    std::uint32_t pages_per_cell = 1;
    std::uint64_t free = 0, free_runs = 0, longest_run = 0;
    /// Share of the free pages that are not in the longest run.
    double fragmentation() const { return free ? 1 - static_cast<double>(longest_run) / static_cast<double>(free) : 0; }
  };
  static Map map(const MirrorPool& pool, const TreeIndex& tree, std::size_t most_cells, std::uint32_t node_slot,
                 std::uint64_t request);
  void draw(Scene& scene, const Area& area);

 private:
  std::uint64_t at_ = ~std::uint64_t{0}, node_ = 0, request_ = 0;
  std::size_t group_ = 0, most_ = 0;
  Map map_;
};

/// Who leaves next, and by which rank.
class LeavePanel {
 public:
  void draw(Scene& scene, const Area& area);
  /// What a policy of this name compares, and a rank of its as words.
  static std::string rule_of(const std::string& policy);
  static std::string rank_words(const std::string& policy, const Rank& rank, Tick now);

 private:
  static constexpr std::size_t kMost = 200;
  std::uint64_t at_ = ~std::uint64_t{0};
  std::size_t group_ = 0;
  std::vector<std::uint32_t> slots_;
};

/// Requests, the newest first, and what they did not find by why.
class RequestsPanel {
 public:
  void draw(Scene& scene, const Area& area);
  const std::vector<MissGroup>& groups() const { return groups_; }
  const std::vector<std::size_t>& rows() const { return rows_; }  ///< places in Mirror::requests
  /// Middle of the chip of a reason on the screen, if it is drawn.
  bool middle_of(Miss miss, ImVec2& at) const;

 private:
  /// What decides which rows there are.
  struct Filter {
    bool running_only = false, by_reason = false;
    Miss miss{};
    std::string policy;
    std::optional<NamespaceId> space;
    friend bool operator==(const Filter&, const Filter&) = default;
  };
  void list(const Mirror& mirror);
  void draw_reasons(Scene& scene);
  void draw_verdict(const Scene& scene);
  void draw_table(Scene& scene);

  Filter filter_, listed_;
  std::uint64_t at_ = ~std::uint64_t{0};
  std::vector<std::size_t> rows_;
  std::vector<MissGroup> groups_;
  std::vector<ImVec2> chips_;  ///< middles, by group
};

/// What may be asked of the engine, or a sentence why nothing may.
class ControlsTab {
 public:
  void draw(Scene& scene);
  /// Middle of the button of this name on the screen, if it was drawn last time.
  bool middle_of(const std::string& name, ImVec2& at) const;
  /// The lines that are scrolled out of sight, by name, as the foot of the tab says.
  const std::string& above() const { return above_; }
  const std::string& below() const { return below_; }

 private:
  void line(const char* what);
  bool button(const std::string& name);
  bool number_and_button(const char* name, std::uint64_t& number, const char* after);
  void draw_until(Scene& scene);
  void draw_pins(Scene& scene);
  void draw_limit(Scene& scene);

  std::uint64_t request_ = 0, pages_ = 64;
  std::uint64_t per_cent_ = 30;
  std::uint64_t limit_ = 0;  ///< tokens, of the group `limit_of_`
  std::size_t limit_of_ = 0;
  float tall_ = 0;  ///< all lines, in the frame before
  std::string above_, below_;
  std::unordered_map<std::string, ImVec2> buttons_;
};

/// What happened, the newest first.
class EventsTab {
 public:
  void draw(Scene& scene);

 private:
  bool all_ = false, listed_all_ = false;
  std::uint64_t at_ = ~std::uint64_t{0};
  std::vector<std::size_t> rows_;
};

/// What a commit did, in a line.
std::string sentence_of(const LogLine& line);

/// The figures of the health line.
struct Health {
  std::uint64_t hit_tokens = 0, prompt_tokens = 0;  ///< of the last minute
  double evicted_per_second = 0;                    ///< tokens
  double requests_per_second = 0;
  double p50_us = -1, p99_us = -1;  ///< from begin to end of a request; < 0 none has ended
  std::uint64_t span_us = 0;        ///< that the rates are over
};
Health health_of(const Mirror& mirror);

}  // namespace canopy::inspector
