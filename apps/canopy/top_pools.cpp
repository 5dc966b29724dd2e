/// The pools of an engine in another process: shows them, and sets a limit.
#include <canopy/base/figures.h>
#include <canopy/base/nearest_name.h>
#include <canopy/base/printable.h>
#include <canopy/base/yaml_options.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "commands.h"
#include "interrupt.h"
#include "terminal.h"

namespace canopy::app {
namespace {

using inspector::Mirror;
using inspector::MirrorPool;

std::string limit_words(const MirrorPool& pool, Units page_size) {
  if (pool.limit == kUnlimited) return "unlimited";
  return fmt::format("{} of {}", plural(pool.limit, "page"), plural(pool.limit * page_size, "token"));
}

/// Prints the segments. Consecutive segments with the same state share a line.
void print_segments(const MirrorPool& pool, const Terminal& terminal) {
  Grid grid({"segments", "pages", "state", "offered", "in use", "to drain"});
  for (std::size_t i = 0; i < pool.segments.size();) {
    const SegmentState state = pool.segments[i].state;
    std::uint64_t offered = 0, out = 0, draining = 0;
    std::size_t end = i;
    for (; end < pool.segments.size() && pool.segments[end].state == state; ++end) {
      offered += pool.segments[end].offered;
      draining += pool.segments[end].draining;
      for (std::size_t page = end * pool.segment_pages;
           page < std::min((end + 1) * pool.segment_pages, pool.owner.size()); ++page)
        out += pool.owner[page] != 0;
    }
    grid.row({{end - i == 1 ? grouped(i) : fmt::format("{} to {}", grouped(i), grouped(end - 1))},
              {grouped((end - i) * pool.segment_pages)},
              {name_of(state)},
              {grouped(offered)},
              {grouped(out)},
              {grouped(draining)}});
    i = end;
  }
  grid.print(terminal);
}

/// Returns what keeps draining segments in use: running requests, and nodes under a lock.
std::string waits_for(const Mirror& mirror, std::size_t group) {
  const MirrorPool& pool = mirror.pool(group);
  if (pool.segment_pages == 0) return {};  // a damaged feed
  const auto drains = [&](std::size_t page) {
    const std::size_t i = page / pool.segment_pages;
    return i < pool.segments.size() && page % pool.segment_pages >= pool.segments[i].offered;
  };
  std::vector<std::uint64_t> requests;
  std::uint64_t locked = 0;
  for (std::size_t page = 0; page < pool.owner.size(); ++page)
    if (const std::int64_t owner = pool.owner[page]; owner != 0 && drains(page)) {
      if (owner < 0) requests.push_back(static_cast<std::uint64_t>(~owner));
      else ++locked;
    }
  std::sort(requests.begin(), requests.end());
  requests.erase(std::unique(requests.begin(), requests.end()), requests.end());
  std::string words;
  constexpr std::size_t kNamed = 6;
  for (std::size_t i = 0; i < std::min(kNamed, requests.size()); ++i)
    words += fmt::format("{}{}", i ? ", " : "request ", requests[i]);
  if (requests.size() > kNamed) words += fmt::format(" and {} more", grouped(requests.size() - kNamed));
  if (locked > 0) words += fmt::format("{}{} under a lock", words.empty() ? "" : "; ", plural(locked, "cached page"));
  return words;
}

std::string state_text(const MirrorPool& pool, Units page_size, const char* when) {
  return fmt::format("{}: {}{}, {} in use", printable(pool.name), limit_words(pool, page_size), when,
                     plural(pool.counted.protected_ + pool.counted.evictable + pool.counted.owned, "page"));
}

/// Returns the number of a group. An empty name means the only group.
Result<std::size_t> group_of(const Mirror& mirror, const std::string& name, const std::string& group) {
  std::vector<std::string> groups;
  for (std::size_t g = 0; g < mirror.groups(); ++g) groups.push_back(mirror.pool(g).name);
  if (group.empty() && groups.size() == 1) return std::size_t{0};
  if (group.empty())
    return Error{fmt::format("--resize: expected GROUP=TOKENS; the groups of the engine behind '{}' are {}", name,
                             fmt::join(groups, ", "))};
  const auto found = std::find(groups.begin(), groups.end(), group);
  if (found == groups.end())
    return Error{fmt::format("the engine behind '{}' has no group '{}'{}", name, group, did_you_mean(group, groups))};
  return static_cast<std::size_t>(found - groups.begin());
}

Result<std::uint64_t> tokens_of(const std::string& text, Units page_size) {
  Complaints complaints;
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.scalar = text;
  node.mark.source = "--resize";
  const auto tokens = read_number(node, "tokens", page_size, kUnlimited, "the pool's limit", complaints);
  if (!tokens) return Error{complaints.front()};
  return *tokens;
}

/// Shows progress until the pool has the limit and has drained. Requests end and locks are released at any time, so
/// there is no time limit once the engine has answered.
Result<std::monostate> await_limit(Watched& watched, const std::string& name, std::size_t group, std::uint64_t limit) {
  using namespace std::chrono_literals;
  const MirrorPool& pool = watched.mirror.pool(group);
  std::string printed;
  for (auto waited = 0ms;; waited += 50ms) {
    watched.take();
    const std::uint64_t to_drain = pool.draining();
    if (pool.limit == limit && to_drain == 0) return std::monostate{};
    if (const std::string gone = watched.attachment->gone(); !gone.empty())
      return Error{"the feed '" + name + "': " + gone};
    if (pool.limit == limit) {
      std::string words =
          fmt::format("  {} to drain, waiting for {}", plural(to_drain, "page"), waits_for(watched.mirror, group));
      if (words != printed && waited.count() % 500 == 0) fmt::print("{}\n", printed = std::move(words));
    } else if (waited > 10s) {
      return Error{
          fmt::format("the engine behind '{}' has not responded for 10 s; does its loop call Engine::poll()?", name)};
    }
    std::fflush(stdout);
    if (Interrupt::came()) return Error{"interrupted; the engine continues towards its new limit"};
    std::this_thread::sleep_for(50ms);
  }
}

}  // namespace

int show_pools(const std::string& name) {
  const Terminal terminal = Terminal::of_stdout();
  auto watched = watch(name);
  if (!watched) return unusable(watched.error().text);
  const Mirror& mirror = (*watched)->mirror;
  for (std::size_t g = 0; g < mirror.groups(); ++g) {
    const MirrorPool& pool = mirror.pool(g);
    const MirrorPool::Sums& sums = pool.counted;
    fmt::print("{}{}\n", g ? "\n" : "", terminal.bold("pool " + pool.name));
    Table table;
    table.row("limit", limit_words(pool, mirror.page_size()));
    table.row("pages", fmt::format("{} protected, {} evictable, {} owned, {} free", grouped(sums.protected_),
                                   grouped(sums.evictable), grouped(sums.owned), grouped(sums.free)));
    if (const std::string words = waits_for(mirror, g); !words.empty()) table.row("waits for", words);
    table.print(terminal);
    fmt::print("\n");
    print_segments(pool, terminal);
  }
  return print_doubts(mirror.doubts(), stdout, terminal);
}

int resize_pool(const std::string& feed, const std::string& limit) {
  const Terminal terminal = Terminal::of_stdout();
  const Interrupt interrupt;
  auto watched = watch(feed);
  if (!watched) return unusable(watched.error().text);
  const std::string& name = (*watched)->name;
  const std::size_t equals = limit.find('=');
  const Mirror& mirror = (*watched)->mirror;
  const auto g = group_of(mirror, name, equals == std::string::npos ? "" : limit.substr(0, equals));
  if (!g) return unusable(g.error().text);
  const auto wanted = tokens_of(limit.substr(equals + 1), mirror.page_size());
  if (!wanted) return unusable(wanted.error().text);
  if (!(*watched)->attachment->header().controls)
    return unusable(
        fmt::format("the engine behind '{}' takes no controls; feed: {{ shm: {{ name: {}, controls: true }} }} in its "
                    "file allows them",
                    name, name));
  const MirrorPool& pool = mirror.pool(*g);
  fmt::print("{}\n", state_text(pool, mirror.page_size(), " now"));
  Command command;
  command.kind = Command::Kind::resize;
  command.group = static_cast<std::uint32_t>(*g);
  command.amount = *wanted;
  if (!(*watched)->attachment->send(command))
    return unusable(fmt::format("the engine behind '{}' has not read the last commands yet; is it running?", name));
  if (auto done = await_limit(**watched, name, *g, *wanted / mirror.page_size()); !done) {
    unusable(done.error().text);
    return Interrupt::came() ? Interrupt::exit_code() : kUnusable;
  }
  fmt::print("{}\n", terminal.green(state_text(pool, mirror.page_size(), "")));
  return print_doubts(mirror.doubts(), stdout, terminal);
}

}  // namespace canopy::app
