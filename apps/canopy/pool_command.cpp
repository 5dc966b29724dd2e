/// The pools of an engine in another process: how they stand, and another limit for one of them.
#include <canopy/config/nearest_name.h>
#include <canopy/config/yaml_options.h>
#include <canopy/engine/pool.h>
#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "commands.h"
#include "terminal.h"

namespace canopy::app {
namespace {

using inspector::Mirror;
using inspector::MirrorPool;

std::string limit_words(const MirrorPool& pool, Units page_size) {
  if (pool.limit == kUnlimited) return "unlimited";
  return fmt::format("{} of {}", plural(pool.limit, "page"), plural(pool.limit * page_size, "token"));
}

/// Consecutive segments in one state, as one line.
void print_segments(const MirrorPool& pool, const Terminal& terminal) {
  constexpr const char* kStates[] = {"no memory", "offered", "draining", "idle"};
  Grid grid({"segments", "pages", "state", "offered", "in use", "draining"});
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
              {kStates[static_cast<std::size_t>(state)]},
              {grouped(offered)},
              {grouped(out)},
              {grouped(draining)}});
    i = end;
  }
  grid.print(terminal);
}

/// What keeps pages of draining segments: running requests, and nodes under a lock.
std::string waits_for(const Mirror& mirror, std::size_t group) {
  const MirrorPool& pool = mirror.pool(group);
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
    if (const std::string kept_by = waits_for(mirror, g); !kept_by.empty()) table.row("waits for", kept_by);
    table.print(terminal);
    fmt::print("\n");
    print_segments(pool, terminal);
  }
  return kFine;
}

int resize_pool(const std::string& name, const std::string& group, const std::string& tokens) {
  using namespace std::chrono_literals;
  const Terminal terminal = Terminal::of_stdout();
  auto watched = watch(name);
  if (!watched) return unusable(watched.error().text);
  Mirror& mirror = (*watched)->mirror;
  std::vector<std::string> groups;
  for (std::size_t g = 0; g < mirror.groups(); ++g) groups.push_back(mirror.pool(g).name);
  const auto found =
      group.empty() && groups.size() == 1 ? groups.begin() : std::find(groups.begin(), groups.end(), group);
  if (group.empty() && groups.size() > 1)
    return unusable(fmt::format("which group of the engine behind '{}'? it has {}", name, fmt::join(groups, ", ")));
  if (found == groups.end())
    return unusable(
        fmt::format("the engine behind '{}' has no group '{}'{}", name, group, did_you_mean(group, groups)));
  const auto g = static_cast<std::size_t>(found - groups.begin());
  Complaints complaints;
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.scalar = tokens;
  node.mark.source = "canopy pool resize";
  const auto wanted = read_number(node, "tokens", mirror.page_size(), kUnlimited, "what the pool may hold", complaints);
  if (!wanted) return unusable(complaints.front());
  const MirrorPool& pool = mirror.pool(g);
  const std::uint64_t limit = *wanted / mirror.page_size();
  if (!(*watched)->attachment->header().controls)
    return unusable(
        fmt::format("the engine behind '{}' takes no controls; feed: {{ shm: {{ name: {}, controls: true }} }} "
                    "in its file allows them",
                    name, name));
  fmt::print("{}: {} now, {} in use\n", *found, limit_words(pool, mirror.page_size()),
             plural(pool.counted.protected_ + pool.counted.evictable + pool.counted.owned, "page"));
  Command command;
  command.kind = Command::Kind::resize;
  command.group = static_cast<std::uint32_t>(g);
  command.amount = *wanted;
  if (!(*watched)->attachment->send(command))
    return unusable(fmt::format("the engine behind '{}' has not read the last commands yet; is it running?", name));

  // Until it is done, and as long as requests may still release pages.
  std::string said;
  for (auto waited = 0ms;; waited += 50ms) {
    (*watched)->take();
    const std::uint64_t draining = pool.draining();
    if (pool.limit == limit && draining == 0) break;
    if (const std::string gone = (*watched)->attachment->gone(); !gone.empty())
      return unusable("the feed '" + name + "': " + gone);
    if (pool.limit == limit) {
      std::string words = fmt::format("  {} draining, waiting for {}", plural(draining, "page"), waits_for(mirror, g));
      if (words != said && waited.count() % 500 == 0) fmt::print("{}\n", said = std::move(words));
    } else if (waited > 10s) {
      return unusable(fmt::format("the engine behind '{}' has not answered for 10 s; does it poll?", name));
    }
    std::fflush(stdout);
    std::this_thread::sleep_for(50ms);
  }
  fmt::print("{}\n", terminal.green(fmt::format(
                         "{}: {}, {} in use", *found, limit_words(pool, mirror.page_size()),
                         plural(pool.counted.protected_ + pool.counted.evictable + pool.counted.owned, "page"))));
  return kFine;
}

}  // namespace canopy::app
