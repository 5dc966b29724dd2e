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
using inspector::Mirror;
using inspector::MirrorNode;
using inspector::MirrorPool;
using inspector::Sample;
using listing::Unit;

std::string share(std::uint64_t part, std::uint64_t whole) {
  return percent(whole ? static_cast<double>(part) / static_cast<double>(whole) : 0);
}

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

/// Prints the rest of the screen for a feed made from KV events: what they report, and what is unknown.
void print_from_events(const Mirror& mirror, const Sample& now, const Sample& before, std::size_t width,
                       const Terminal& terminal) {
  Table table;
  table.row("from", printable(mirror.origin()));
  table.row("evicted", plural(now.evicted_tokens, "token") +
                           fmt::format(", {} lately", grouped(now.evicted_tokens - before.evicted_tokens)));
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

/// Prints the tenants with the most cached tokens, if tenants have shares. Requests are counted since it attached.
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

/// Prints one screen. `before` is the sample of the last screen, for rates.
void print(const Mirror& mirror, const FeedShape& header, const Sample& before, std::size_t width,
           const Terminal& terminal) {
  const Sample now = mirror.samples().empty() ? Sample{} : mirror.samples().back();
  const std::string title = fmt::format("canopy top: {}", name_of(header));
  const std::string facts = fmt::format("process {}, page {}, tick {}, {} operations, drift {}", header.pid,
                                        header.page_size, grouped(mirror.tick()), grouped(mirror.commits()),
                                        mirror.no_nodes().empty() ? std::to_string(mirror.drift()) : "not known");
  const bool fits = !terminal.moves || title.size() + 2 + facts.size() <= width;
  fmt::print("{}{}{}\n", terminal.bold(title), fits ? "  " : "\n  ", terminal.dim(facts));
  print_doubts(mirror.doubts(), stdout, terminal);
  if (mirror.is_from_events()) return print_from_events(mirror, now, before, width, terminal);
  Table table;
  table.row("hit rate", fmt::format("{} since attached, {} lately, {} requests seen, {} running",
                                    share(now.hit_tokens, now.prompt_tokens),
                                    share(now.hit_tokens - before.hit_tokens, now.prompt_tokens - before.prompt_tokens),
                                    grouped(now.requests), now.running));
  if (mirror.tries() > 0) table.row("tries", plural(mirror.tries(), "request") + " ended before admission");
  const bool known = mirror.no_nodes().empty();
  if (known)
    table.row("evicted", plural(now.evicted_tokens, "token") +
                             fmt::format(", {} lately", grouped(now.evicted_tokens - before.evicted_tokens)));
  const std::vector<inspector::MissGroup> misses = mirror.misses();
  std::uint64_t missed = 0;
  for (const inspector::MissGroup& group : misses) missed += group.tokens;
  std::string reasons;
  for (const inspector::MissGroup& group : misses)
    reasons += fmt::format(", {} {}", share(group.tokens, missed), printable(reason_words(group)));
  if (missed != 0) table.row("missed", plural(missed, "token") + reasons);
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

}  // namespace

bool Watched::take() {
  std::vector<Event> events(4096);
  bool any = false;
  for (;;) {
    std::size_t count = 0;
    switch (attachment->reader().read(events.data(), events.size(), count)) {
      case FeedReader::Outcome::nothing:
        return any;
      case FeedReader::Outcome::lapped:
        mirror.lost();
        came = true;
        break;
      case FeedReader::Outcome::events:
        mirror.take({events.data(), count});
        any = came = true;
    }
  }
}

std::string no_state_of(const std::string& feed, bool came, const char* time) {
  return fmt::format(
      "the feed '{}': {}", feed,
      came ? fmt::format("its events came faster than they were read for {}, so its state is not known; a "
                         "larger ring (`events` in the engine's feed) helps",
                         time)
           : fmt::format("no events came for {}; its engine serves no request and is not polled", time));
}

Result<std::unique_ptr<Watched>> watch(const std::string& wanted) {
  using namespace std::chrono_literals;
  std::string name = wanted;
  if (name.empty()) {
    const auto names = Attachment::names();
    if (names.empty())
      return Error{
          "no process publishes a feed now; `canopy replay ... --feed NAME` does, or feed: { shm: { name: NAME } } in "
          "an engine's file"};
    if (names.size() > 1) return Error{fmt::format("expected --feed NAME; there are {}", fmt::join(names, ", "))};
    name = names[0];
  }
  auto attachment = Attachment::attach(name);
  if (!attachment) return attachment.error();
  Mirror mirror((*attachment)->header());
  auto watched = std::make_unique<Watched>(Watched{name, std::move(*attachment), std::move(mirror)});
  for (auto waited = 0ms;; waited += 100ms) {
    watched->take();
    if (watched->mirror.in_step()) return watched;
    if (const std::string gone = watched->attachment->gone(); !gone.empty())
      return Error{"the feed '" + name + "': " + gone};
    if (Interrupt::came())
      return Error{fmt::format("the feed '{}': {} came before any event", name, Interrupt::name())};
    if (waited > 10s) return Error{no_state_of(name, watched->came, "10 s")};
    std::this_thread::sleep_for(100ms);
  }
}

int top(const std::string& name, bool once) {
  using namespace std::chrono_literals;
  const Terminal terminal = Terminal::of_stdout();
  const Interrupt interrupt;
  auto watched = watch(name);
  if (!watched) return Interrupt::came() ? Interrupt::exit_code() : unusable(watched.error().text);
  Attachment& attachment = *(*watched)->attachment;
  const Mirror& mirror = (*watched)->mirror;
  Sample before;
  for (;;) {
    if (terminal.moves && !once) fmt::print("\x1b[H\x1b[2J");
    print(mirror, attachment.header(), before, terminal_width(), terminal);
    std::fflush(stdout);
    if (once) return mirror.doubts().empty() ? kFine : kViolations;
    if (!mirror.samples().empty()) before = mirror.samples().back();
    for (auto slept = 0ms; slept < 1s && !Interrupt::came(); slept += 20ms) std::this_thread::sleep_for(20ms);
    if (Interrupt::came()) {
      fmt::print("\n");
      return Interrupt::exit_code();
    }
    const bool came = (*watched)->take();
    if (const std::string gone = attachment.gone(); !gone.empty() && !came) {
      fmt::print("\n{}\n", terminal.bold("The feed has ended: " + gone + "."));
      return mirror.doubts().empty() ? kFine : kViolations;
    }
    if (!terminal.moves) fmt::print("\n");
  }
}

}  // namespace canopy::app
