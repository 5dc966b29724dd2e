#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>
#include <mirror/listings.h>
#include <mirror/mirror.h>
#include <sources/attachment.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>

#include <mirror/rank_text.h>
#include <mirror/tier_words.h>

#include "commands.h"
#include "interrupt.h"
#include "listing_print.h"
#include "tenant_tables.h"
#include "terminal.h"

namespace canopy::app {
namespace {

using inspector::Attachment;
using inspector::Bucket;
using inspector::Count;
using inspector::Mirror;
using inspector::MirrorNode;
using inspector::MirrorPool;
using listing::Unit;

constexpr const char* kNotKnown = "-";

std::string share(std::uint64_t part, std::uint64_t whole) {
  return whole ? percent(static_cast<double>(part) / static_cast<double>(whole)) : kNotKnown;
}

/// The counts of a feed at the time of a screen.
struct Seen {
  inspector::Counts counts;
  std::uint64_t laps = 0;
};
Seen seen(const Watched& feed) { return {feed.sums.buckets().front().counts, feed.laps}; }

/// Counts since the last screen. Nothing: there was none, or events were lost since then.
class Lately {
 public:
  Lately(const Watched& feed, const std::optional<Seen>& last) : now_(seen(feed)) {
    if (last && last->laps == now_.laps) last_ = last;
  }
  std::uint64_t operator[](Count count) const { return last_ ? now_.counts[count] - last_->counts[count] : 0; }
  std::string words(Count count) const { return last_ ? grouped((*this)[count]) : kNotKnown; }

 private:
  Seen now_;
  std::optional<Seen> last_;
};

/// Returns a bar: ▓ evictable, █ protected, ▒ owned by requests, · free; letters if the locale is not UTF-8.
std::string bar(const MirrorPool& pool, std::size_t width, const Terminal& terminal) {
  const MirrorPool::Sums& sums = pool.counted;
  const char* const kMarks[] = {terminal.unicode ? "█" : "P", terminal.unicode ? "▓" : "e",
                                terminal.unicode ? "▒" : "o", terminal.unicode ? "·" : "."};
  const char* const kColours[] = {"33", "36", "35", "2"};
  const std::uint64_t parts[] = {sums.protected_, sums.evictable, sums.owned, sums.free};
  std::string text;
  std::uint64_t before = 0;
  std::size_t drawn = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    before += parts[i];
    const std::size_t until =
        pool.all_pages() ? std::min(width, static_cast<std::size_t>(before * width / pool.all_pages())) : 0;
    std::string cells;
    for (; drawn < until; ++drawn) cells += kMarks[i];
    text += terminal.wrap(kColours[i], cells);
  }
  return text;
}

/// Returns the place of a node: "acme, depth 48 to 1,072".
std::string where(const Mirror& mirror, const MirrorNode& node) {
  return fmt::format("{}, depth {} to {}", printable(mirror.space_name(node.space)), grouped(node.begin),
                     grouped(node.end()));
}

/// Returns the nodes with the most worth, at most `most` of them.
template <class Worth>
std::vector<const MirrorNode*> largest(const Mirror& mirror, std::size_t most, Worth&& worth_of) {
  std::vector<const MirrorNode*> nodes;
  mirror.each_node([&](const MirrorNode& node) { nodes.push_back(&node); });
  const auto worth = [&](const MirrorNode* node) { return worth_of(*node); };
  const std::size_t shown = std::min(most, nodes.size());
  std::partial_sort(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(shown), nodes.end(),
                    [&](const MirrorNode* a, const MirrorNode* b) {
                      return worth(a) != worth(b) ? worth(a) > worth(b) : a->id < b->id;
                    });
  nodes.resize(shown);
  return nodes;
}

using Nodes = listing::Listing<const MirrorNode*>;

/// Returns the first columns of a list of nodes: the place and the length.
Nodes place_columns(const Mirror& mirror) {
  Nodes list;
  list.add("namespace and depth", Unit::text, [&mirror](const MirrorNode* node) { return where(mirror, *node); });
  list.add("tokens", Unit::count, [](const MirrorNode* node) { return node->length; });
  return list;
}

/// Adds what left the pool of the first group, for any cause.
void add_evicted(const Watched& feed, const Lately& lately, Table& table) {
  const Bucket& all = feed.sums.buckets().front();
  std::string causes;
  if (feed.sums.has_requests())  // KV events do not report causes
    for (std::size_t cause = 0; cause < all.evicted.size(); ++cause)
      if (all.evicted[cause] != 0)
        causes += fmt::format("{}{} {}", causes.empty() ? ": " : ", ", grouped(all.evicted[cause]),
                              inspector::kEvictionCauseNames[cause]);
  table.row("evicted", fmt::format("{} of {} since attached, {} lately{}", plural(all.counts[Count::evicted], "token"),
                                   printable(feed.mirror.pool(0).name), lately.words(Count::evicted), causes));
}

/// Adds what requests found and missed since the feed was attached.
void add_requests(const Watched& feed, const Lately& lately, Table& table) {
  const Bucket& all = feed.sums.buckets().front();
  const bool known = feed.mirror.in_step();
  table.row("hit rate",
            fmt::format("{} since attached, {} lately, {} requests seen, {} running",
                        share(all.counts[Count::hit], all.counts[Count::prompt]),
                        share(lately[Count::hit], lately[Count::prompt]), grouped(all.counts[Count::requests]),
                        known ? grouped(feed.mirror.running()) : kNotKnown));
  if (const std::uint64_t tries = all.counts[Count::tries])
    table.row("tries", plural(tries, "request") + " ended before admission");
  if (feed.sums.has_nodes()) add_evicted(feed, lately, table);
  std::uint64_t missed = 0;
  std::vector<std::size_t> reasons;
  for (std::size_t reason = 0; reason < all.missed.size(); ++reason)
    if (all.missed[reason] != 0) missed += all.missed[reason], reasons.push_back(reason);
  if (missed == 0) return;
  std::sort(reasons.begin(), reasons.end(), [&](std::size_t a, std::size_t b) {
    return all.missed[a] != all.missed[b] ? all.missed[a] > all.missed[b] : a < b;
  });
  std::string words = plural(missed, "token");
  for (const std::size_t reason : reasons)
    words += fmt::format(", {} {}", share(all.missed[reason], missed), inspector::reason_name(reason));
  table.row("missed", words);
}

/// Prints the rest of the screen while the state is not known: events were lost, and no keyframe has come since.
void print_lost(const Watched& feed, const Lately& lately, std::size_t width, const Terminal& terminal) {
  const Mirror& mirror = feed.mirror;
  Table table;
  if (feed.sums.has_requests()) add_requests(feed, lately, table);
  else add_evicted(feed, lately, table);
  for (std::size_t g = 0; g < mirror.groups(); ++g) table.row(printable(mirror.pool(g).name), kNotKnown);
  table.row("tree", kNotKnown);
  table.print(terminal, terminal.moves ? width : 0);
  fmt::print("\n{}\n", terminal.dim("  -: not known until the engine sends its whole state again"));
}

/// Prints the rest of the screen for a feed made from KV events: what they report, and what is unknown.
void print_from_events(const Watched& feed, const Lately& lately, std::size_t width, const Terminal& terminal) {
  const Mirror& mirror = feed.mirror;
  Table table;
  table.row("from", printable(mirror.origin()));
  add_evicted(feed, lately, table);
  for (std::size_t g = 0; g < mirror.groups(); ++g) {
    const MirrorPool& pool = mirror.pool(g);
    if (pool.name.empty()) continue;
    const std::uint64_t pages = pool.counted.evictable + pool.counted.protected_;
    table.row(printable(pool.name),
              fmt::format("{} in {} cached", plural(pages * mirror.page_size(), "token"), plural(pages, "block")));
  }
  table.row("tree", plural(mirror.node_count(), "node"));
  table.row("not known", "hit rate, requests, locks, free pages: KV events do not report them");
  table.print(terminal, terminal.moves ? width : 0);

  fmt::print("\n{}\n", terminal.bold("Servers"));
  print_list(inspector::servers_listing(), inspector::servers_of(mirror), terminal);

  fmt::print("\n{}\n", terminal.bold("Longest prefixes"));
  Nodes nodes = place_columns(mirror);
  nodes.add("children", Unit::count, [](const MirrorNode* node) { return node->children; });
  print_list(nodes, largest(mirror, 8, [](const MirrorNode& each) { return std::uint64_t{each.length}; }), terminal);
  fmt::print("\n{}\n{}\n", terminal.bold("Next to be evicted"),
             terminal.dim("  not known: KV events do not report it"));
}

std::string_view name_of(const FeedShape& header) { return {header.name, ::strnlen(header.name, sizeof(header.name))}; }

/// Adds rows for the tiers below the pools, if there are any.
void add_tiers(const Mirror& mirror, Table& table) {
  if (!mirror.has_host()) return;
  std::vector<std::string> groups;
  for (std::size_t g = 0; g < mirror.groups(); ++g) groups.push_back(printable(mirror.pool(g).name));
  const auto add = [&](std::string_view tier) {
    for (const inspector::TierLine& line : inspector::tier_lines(mirror.counters(), tier, groups))
      table.row(line.label, line.text.empty() ? "nothing yet" : line.text);
  };
  add("host");
  if (mirror.storage().empty()) return;
  table.row("storage", printable(mirror.storage()) + ": " +
                           inspector::breaker_words(mirror.storage_health(), mirror.counters()[Counter::turn_us]));
  add("storage");
}

/// Prints the tenants with the most cached tokens, if tenants have shares.
void print_tenants(const Mirror& mirror, const Terminal& terminal) {
  const inspector::MirrorTenants& tenants = mirror.tenants();
  if (tenants.all.empty()) return;
  const std::vector<std::uint64_t> cached = mirror.tenant_tokens();
  std::vector<TenantUse> all;
  for (std::size_t i = 0; i < tenants.all.size(); ++i) {
    const inspector::MirrorTenant& tenant = tenants.all[i];
    TenantUse use;
    use.name = tenant.name;
    use.share = {.floor = tenant.floor, .weight = tenant.weight, .ceiling = tenant.ceiling};
    use.requests = tenant.requests, use.prompt_tokens = tenant.prompt_tokens, use.hit_tokens = tenant.hit_tokens;
    use.cached = cached[i], use.evicted = tenant.evicted, use.paid = tenant.paid, use.taken = tenant.taken;
    use.below_floor = tenant.below_floor;
    all.push_back(std::move(use));
  }
  std::vector<TenantPayment> payments;
  for (const auto& [pair, tokens] : tenants.payments)
    payments.push_back({tenants.all[pair.first].name, tenants.all[pair.second].name, tokens});
  if (tenants.other_payments > 0) payments.push_back({"*", "*", tenants.other_payments});
  const MirrorPool& pool = mirror.pool(0);
  const std::uint64_t limit =
      pool.limit == 0 || pool.limit == kUnlimited ? kUnlimited : pool.limit * mirror.page_size();
  fmt::print("\n{}  {}\n", terminal.bold("Tenants"),
             terminal.dim("requests and hit rate since attached, what was evicted since the engine began"));
  print_tenants(std::move(all), payments, limit, 8, terminal);
}

/// Prints one screen.
void print(const Watched& feed, const Lately& lately, std::size_t width, const Terminal& terminal) {
  const Mirror& mirror = feed.mirror;
  const FeedShape& header = feed.attachment->header();
  const bool known = mirror.no_nodes().empty();
  const std::string title = fmt::format("canopy top: {}", name_of(header));
  const std::string facts =
      fmt::format("process {}, page {}, tick {}, {} operations seen, drift {}", header.pid, header.page_size,
                  mirror.in_step() ? grouped(mirror.tick()) : kNotKnown, grouped(mirror.commits()),
                  !known             ? "not known"
                  : mirror.in_step() ? std::to_string(mirror.drift())
                                     : kNotKnown);
  const bool fits = !terminal.moves || title.size() + 2 + facts.size() <= width;
  fmt::print("{}{}{}\n", terminal.bold(title), fits ? "  " : "\n  ", terminal.dim(facts));
  print_doubts(mirror.doubts(), stdout, terminal);
  if (!mirror.in_step()) return print_lost(feed, lately, width, terminal);
  if (mirror.is_from_events()) return print_from_events(feed, lately, width, terminal);
  Table table;
  add_requests(feed, lately, table);
  if (!mirror.paused().empty()) table.row("paused", printable(mirror.paused()));
  for (std::size_t g = 0; g < mirror.groups(); ++g) {
    const MirrorPool& pool = mirror.pool(g);
    table.row(printable(pool.name),
              fmt::format("{}  {}", bar(pool, std::clamp<std::size_t>(width, 60, 160) - 30, terminal),
                          terminal.dim(pool.policy)));
    const std::string in_tree =
        fmt::format("{} protected, {} evictable", grouped(pool.counted.protected_), grouped(pool.counted.evictable));
    table.row("", pool.all_pages() == 0
                      ? in_tree + "; the feed reports only the tree's pages"
                      : fmt::format("{}, {} owned, {} free of {}", in_tree, grouped(pool.counted.owned),
                                    grouped(pool.counted.free), plural(pool.all_pages(), "page")));
  }
  add_tiers(mirror, table);
  table.row("tree", known ? plural(mirror.node_count(), "node") : "not known: " + printable(mirror.no_nodes()));
  table.print(terminal, terminal.moves ? width : 0);
  print_tenants(mirror, terminal);
  if (!known) return;

  fmt::print("\n{}\n", terminal.bold("Hottest prefixes"));
  Nodes nodes = place_columns(mirror);
  nodes.add("hits", Unit::count, [](const MirrorNode* node) { return node->uses(); });
  Nodes hot = nodes;
  hot.add("locks", Unit::count, [&](const MirrorNode* node) { return mirror.locks(*node, 0); });
  hot.add("last use", Unit::text, [&](const MirrorNode* node) {
    return fmt::format("{} ticks ago", grouped(mirror.tick() - node->last_access));
  });
  const auto hottest = [](const MirrorNode& node) { return std::uint64_t{node.uses()} * node.length; };
  print_list(hot, largest(mirror, 8, hottest), terminal);
  for (std::size_t g = 0; g < mirror.groups(); ++g) {
    fmt::print("\n{}\n", terminal.bold(fmt::format("Next to be evicted from {}, policy {}", mirror.pool(g).name,
                                                   mirror.pool(g).policy)));
    if (!mirror.pool(g).policy_rule.empty()) fmt::print("{}\n", terminal.dim("  " + mirror.pool(g).policy_rule));
    Nodes next = nodes;
    next.add("because", Unit::text, [&mirror, &pool = mirror.pool(g)](const MirrorNode* node) {
      return inspector::rank_words(pool.policy_rank, pool.rank[slot_of(NodeId{node->id})], mirror.tick());
    });
    std::vector<const MirrorNode*> rows;
    for (const std::uint32_t slot : mirror.next_to_evict(g, 5)) rows.push_back(&mirror.node(slot));
    print_list(next, rows, terminal);
  }
}

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

/// Reads the feed for this long, or until it ends. Returns the reason why it has ended; empty while it goes on.
std::string follow(Watched& feed, std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  for (bool last = false; !last && !Interrupt::came();) {
    last = std::chrono::steady_clock::now() >= until;  // before reading: what is shown then is new after a long sleep
    std::string gone = feed.attachment->gone();        // before reading: what was written before the end is then read
    if (feed.take()) continue;
    if (!gone.empty()) return gone;
    std::this_thread::sleep_for(Watched::kLookEvery);
  }
  return {};
}

}  // namespace

int top(const std::string& name, bool once) {
  using namespace std::chrono_literals;
  const Terminal terminal = Terminal::of_stdout();
  const Interrupt interrupt;
  auto watched = watch(name);
  if (!watched) return Interrupt::came() ? Interrupt::exit_code() : unusable(watched.error().text);
  Watched& feed = **watched;
  std::optional<Seen> last;
  std::string gone;
  const auto follow_on = [&] {
    last = seen(feed);
    gone = follow(feed, 1s);
  };
  if (once) follow_on();  // else nothing would have happened since it attached
  while (!Interrupt::came()) {
    if (terminal.moves && !once) fmt::print("\x1b[H\x1b[2J");
    print(feed, {feed, last}, terminal_width(), terminal);
    if (!gone.empty()) fmt::print("\n{}\n", terminal.bold("The feed has ended: " + gone + "."));
    std::fflush(stdout);
    if (once || !gone.empty()) return feed.mirror.doubts().empty() ? kFine : kViolations;
    follow_on();
    if (!terminal.moves) fmt::print("\n");
  }
  if (terminal.moves) fmt::print("\n");
  return Interrupt::exit_code();
}

}  // namespace canopy::app
