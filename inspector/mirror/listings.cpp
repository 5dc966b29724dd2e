#include "listings.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include "names.h"

namespace canopy::inspector {
namespace {

using listing::Listing;
using listing::Share;
using listing::Tone;
using listing::unless_zero;
using listing::Value;
using Unit = listing::Unit;

const char* owner_word(HeldLock::Owner owner) {
  switch (owner) {
    case HeldLock::Owner::request:
      return "request";
    case HeldLock::Owner::fetch:
      return "fetch";
    case HeldLock::Owner::pin:
      return "pin";
    case HeldLock::Owner::unexplained:
      break;
  }
  return "unexplained";
}

std::string owner_of(const Mirror& mirror, const HeldLock& lock) {
  switch (lock.owner) {
    case HeldLock::Owner::request: {
      const MirrorRequest* request = mirror.request(lock.request);
      return fmt::format("req {} {}", lock.request, request ? phase_word(*request) : "");
    }
    case HeldLock::Owner::fetch:
      return fmt::format("fetch {}", lock.request);
    case HeldLock::Owner::pin:
      return "pinned by hand";
    case HeldLock::Owner::unexplained:
      break;
  }
  return lock.locks > 1 ? fmt::format("no request ({} locks)", lock.locks) : "no request";
}

}  // namespace

bool is_old(const Mirror& mirror, const HeldLock& lock, double p99_us) {
  return p99_us > 0 && lock.since_us != 0 && static_cast<double>(mirror.us() - lock.since_us) > p99_us;
}

Listing<HeldLock> locks_listing(const Mirror& mirror, double p99_us) {
  using Row = HeldLock;
  const auto since = [](std::uint64_t now, std::uint64_t then) { return then == 0 ? Value() : Value(now - then); };
  Listing<Row> list;
  list.add("age", Unit::us, [&mirror, since](const Row& lock) { return since(mirror.us(), lock.since_us); }).wide(5);
  list.add("commits", Unit::count,
           [&mirror, since](const Row& lock) { return since(mirror.commits(), lock.since_commit); })
      .wide(5, 40);
  list.add("owner", Unit::text, [&mirror](const Row& lock) { return owner_of(mirror, lock); })
      .in_tone([&mirror, p99_us](const Row& lock) {
        return lock.owner == Row::Owner::unexplained                               ? Tone::bad
               : lock.owner == Row::Owner::pin                                     ? Tone::accent
               : lock.owner == Row::Owner::request && is_old(mirror, lock, p99_us) ? Tone::warn
                                                                                   : Tone::plain;
      });
  list.add_in_files("owner", [](const Row& lock) { return owner_word(lock.owner); });
  list.add_in_files("request", [](const Row& lock) { return unless_zero(lock.request); });
  list.add("tenant", Unit::text, [&mirror](const Row& lock) { return mirror.space_name(lock.space); })
      .in_files("tenant")
      .wide(5.5F, 34)
      .in_tone(Tone::dim);
  list.add("node", Unit::text, [](const Row& lock) { return node_name(lock.node); }).wide(4.8F);
  list.add_in_files("node", [](const Row& lock) { return lock.node; });
  list.add("tokens", Unit::count, [](const Row& lock) { return lock.tokens; }).in_files("tokens").wide(4.2F);
  list.add_in_files("locks", [](const Row& lock) { return lock.locks; });
  list.add_in_files("since_commit", [](const Row& lock) { return unless_zero(lock.since_commit); });
  list.add_in_files("since_us", [](const Row& lock) { return unless_zero(lock.since_us); });
  return list;
}

Listing<WorkerLine> servers_listing() {
  using Row = WorkerLine;
  Listing<Row> list;
  list.add("server", Unit::text, [](const Row& server) { return std::string(server.name); })
      .explained([](const Row& server) { return std::string(server.name); });
  list.add("tokens", Unit::tokens, [](const Row& server) { return server.tokens; }).wide(4.5F);
  list.add("others have", Unit::tokens, [](const Row& server) { return server.shared; })
      .wide(5.5F)
      .means("Those of its tokens that at least one other server has cached as well.");
  list.add("share", Unit::count, [](const Row& server) { return Share{server.shared, server.tokens}; }).wide(3.6F, 30);
  list.add("events", Unit::text, [](const Row& server) { return server.events(); })
      .explained([](const Row& server) { return server.events(); })
      .in_tone([](const Row& server) {
        return !server.lost.empty() ? Tone::bad : server.state.starts_with("whole") ? Tone::plain : Tone::warn;
      });
  return list;
}

std::vector<WorkerLine> servers_of(const Mirror& mirror) { return {mirror.workers().begin(), mirror.workers().end()}; }

Listing<Payment> payments_listing(std::uint64_t all) {
  Listing<Payment> list;
  list.add("evicted from", Unit::text, [](const Payment& each) { return each.from; });
  list.add("for", Unit::text, [](const Payment& each) { return each.taker; });
  list.add("tokens", Unit::tokens, [](const Payment& each) { return each.tokens; })
      .wide(4.2F)
      .means("Tokens that the first lost because a request of the second needed room.");
  list.add("of taken", Unit::count, [all](const Payment& each) { return Share{each.tokens, all}; })
      .wide(4.4F)
      .means("Share of all tokens that one lost for another. What each lost for its own requests is not among them.");
  return list;
}

}  // namespace canopy::inspector
