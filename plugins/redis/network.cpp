#include "network.h"

#include <canopy/base/printable.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace canopy::redis {

namespace {

constexpr Micros kConnect = 1'000'000;  // limit for opening a connection
constexpr Micros kSilence = 2'000'000;  // limit for a server that owes a reply
constexpr Micros kLeastBackoff = 50'000, kMostBackoff = 1'000'000;
constexpr Micros kMapEvery = 1'000'000;
constexpr Micros kLookAgain = 10'000;  // between checks of a pending lookup
constexpr Micros kAtLeast = 100'000;   // between checks for slow servers
constexpr std::uint8_t kMostHops = 5;
constexpr std::size_t kMostServers = 1000;  // replies of a cluster cannot add more
constexpr std::size_t kMostSentences = 16;

}  // namespace

Network::Network(Settings settings, CommandUser& user, int epoll)
    : settings_(std::move(settings)),
      user_(user),
      epoll_(epoll),
      wants_map_(settings_.cluster),
      random_(reinterpret_cast<std::uintptr_t>(this)) {
  if (settings_.cluster) owners_.resize(kSlots);
  for (const Address& address : settings_.servers) server_at(address);
}

Network::Server* Network::server_at(const Address& address) {
  for (const auto& server : servers_)
    if (server->address == address) return server.get();
  if (servers_.size() >= kMostServers) return nullptr;
  auto server = std::make_unique<Server>();
  server->address = address;
  const auto line = [&, number = servers_.size()](Way way) {
    ConnectionUser& user = *this;
    server->lines.push_back(std::make_unique<Connection>(user, epoll_, way, number, settings_.record_bytes));
  };
  line(Way::ask), line(Way::put);
  for (std::uint32_t i = 0; i < settings_.connections; ++i) line(Way::get);
  servers_.push_back(std::move(server));
  return servers_.back().get();
}

/// Returns a server that may be reachable: the same one until something fails, then another.
Network::Server* Network::any_server() {
  Server* best = nullptr;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    Server& server = *servers_[(turn_of_ + i) % servers_.size()];
    if (now_ < server.down_until) continue;
    const bool ready = server.lines.front()->state() == Connection::State::ready;
    if (best == nullptr || ready) best = &server;
    if (ready) break;
  }
  return best;
}

Network::Server* Network::owner_of(std::uint16_t slot) {
  if (!settings_.cluster) return servers_.front().get();
  return owners_[slot] != nullptr ? owners_[slot] : any_server();
}

Connection& Network::line_for(Server& server, Way way) {
  Connection* best = nullptr;
  for (const auto& line : server.lines)
    if (line->way() == way && (best == nullptr || line->load() < best->load())) best = line.get();
  return *best;
}

void Network::send(const Command& command) {
  if (Server* owner = owner_of(command.slot)) return give(*owner, command);
  fail(command);
}

void Network::give(Server& server, const Command& command, bool asking) {
  Connection& line = line_for(server, command.way());
  if (line.state() == Connection::State::closed && line.load() == 0 && !start(server, line)) return fail(command);
  if (asking) line.add({.kind = Command::Kind::asking});
  line.add(command);
}

bool Network::start(Server& server, Connection& line) {
  if (now_ < server.down_until) return false;
  Lookup& lookup = server.lookup;
  if (lookup.state() == Lookup::State::none) lookup.begin(server.address);  // later ones begin in down()
  switch (lookup.state()) {
    case Lookup::State::known:
      do {
        if (line.open(lookup.address(), lookup.length(), lookup.number(), settings_.credentials, now_)) return true;
      } while (lookup.leave(lookup.number()));
      down(server, std::strerror(errno));
      return false;
    case Lookup::State::failed:
      down(server, lookup.why());
      return false;
    default:
      return true;  // turn() opens it when the address is known
  }
}

void Network::down(Server& server, const std::string& why) {
  complain(server, why);
  server.backoff = std::clamp(2 * server.backoff, kLeastBackoff, kMostBackoff);
  server.down_until = now_ + random_.around(server.backoff);
  if (server.lookup.state() != Lookup::State::pending && !server.address.host.empty())
    server.lookup.begin(server.address);
  wants_map_ = settings_.cluster;
  ++turn_of_;
  for (const auto& line : server.lines) {
    if (line->state() == Connection::State::ready) continue;
    for (const Command& command : line->take_sent()) fail(command);
    for (const Command& command : line->take_waiting()) fail(command);
  }
}

void Network::fail(const Command& command) {
  if (command.kind == Command::Kind::slots) requests_map_ = false;
  else if (command.wanted()) user_.fail(command);
}

void Network::closed(Connection& which, const std::string& why, bool useless) {
  Server& server = *servers_[which.server()];
  if (useless && !server.lookup.leave(which.address_number())) return down(server, why);
  // The server may have closed an idle connection, and repeating a command does no harm.
  auto sent = which.take_sent();
  for (auto command = sent.rbegin(); command != sent.rend(); ++command) {
    if (!command->wanted()) continue;
    if (command->kind == Command::Kind::slots || command->tries++ > 0) fail(*command);
    else which.add_first(*command);
  }
  if (which.load() == 0 || start(server, which)) return;
  for (const Command& command : which.take_waiting()) fail(command);
}

void Network::forget(const Call* call) {
  wants_map_ = settings_.cluster;  // a late server may have been replaced
  ++turn_of_;
  for (const auto& server : servers_)
    for (const auto& line : server->lines) line->forget(call);
}

bool Network::encode(Command& command, Outbox& outbox) {
  if (command.kind == Command::Kind::slots) {
    outbox.array(2), outbox.word("CLUSTER"), outbox.word("SLOTS");
    map_.clear();
    return true;
  }
  if (command.kind == Command::Kind::asking) {
    outbox.array(1), outbox.word("ASKING");
    return true;
  }
  return command.wanted() && user_.encode(command, outbox);
}

std::byte* Network::place(const Command& command, std::uint64_t bytes) {
  return command.call != nullptr ? user_.place(command, bytes) : nullptr;
}

void Network::answer(Connection& from, Command& command, const Element& element) {
  Server& server = *servers_[from.server()];
  server.backoff = 0, server.down_until = 0;
  if (command.kind == Command::Kind::asking) return;
  if (command.kind == Command::Kind::slots) {
    map_.take(element);
    if (element.last) take_map(server);
  }
  if (element.kind == Element::Kind::error) {
    if (command.wanted() && redirect(server, command, element.text)) return;
    // These errors come from settings, which a person can change. Others are temporary.
    for (const std::string_view word : {"NOAUTH", "NOPERM", "ERR", "MISCONF", "READONLY", "MOVED"})
      if (element.text.substr(0, element.text.find(' ')) == word) complain(server, std::string(element.text));
    if (element.text.starts_with("READONLY")) wants_map_ = settings_.cluster;
  }
  if (command.wanted() && command.kind != Command::Kind::slots) user_.answer(command, element);
}

/// Follows "MOVED 3999 127.0.0.1:6381" and "ASK ...". Returns false for other errors and after too many redirections.
bool Network::redirect(Server& from, Command command, std::string_view error) {
  const bool moved = error.starts_with("MOVED "), ask = error.starts_with("ASK ");
  const std::size_t space = error.rfind(' ');
  Address to;
  if (!settings_.cluster || (!moved && !ask) || ++command.hops > kMostHops ||
      !read_host_and_port(error.substr(space + 1), to))
    return false;
  if (to.host.empty()) to.host = from.address.host;
  Server* server = server_at(to);
  if (server == nullptr) return false;
  if (moved) owners_[command.slot] = server, wants_map_ = true;
  give(*server, command, ask);
  return true;
}

void Network::take_map(Server& from) {
  requests_map_ = false;
  if (map_.ranges().empty()) return;  // it is requested again
  std::fill(owners_.begin(), owners_.end(), nullptr);
  for (const SlotRange& range : map_.ranges()) {
    Address owner = range.owner;
    if (owner.host.empty()) owner.host = from.address.host;
    Server* server = owner.host.empty() ? &from : server_at(owner);
    std::fill(owners_.begin() + range.first, owners_.begin() + range.last + 1, server);
  }
  wants_map_ = false;
}

void Network::complain(const Server& about, const std::string& why) {
  if (reported_.size() >= kMostSentences) return;
  std::string sentence = about.address.text() + ": " + printable(why);
  if (why.starts_with("WRONGPASS") || why.starts_with("ERR invalid password"))
    sentence += "; the password given by `password_from` or `password_file` is not this server's";
  else if (why.starts_with("NOAUTH")) sentence += "; give it a password with `password_from` or `password_file`";
  else if (why.starts_with("MOVED"))
    sentence = about.address.text() + ": this server belongs to a cluster; `cluster: true` is missing";
  if (reported_.insert(sentence).second) user_.say(sentence);
}

Micros Network::turn() {
  const Micros now = now_;
  Micros again = now + kAtLeast;
  if (wants_map_ && !requests_map_) {
    if (now >= map_requested_ + kMapEvery || map_requested_ == 0) {
      if (Server* server = any_server()) {
        map_requested_ = now, requests_map_ = true;
        give(*server, {.kind = Command::Kind::slots});
      }
    } else {
      again = std::min(again, map_requested_ + kMapEvery);
    }
  }
  for (std::size_t i = 0; i < servers_.size(); ++i) {  // a turn may add servers
    Server& server = *servers_[i];
    for (const auto& line : server.lines) {
      if (line->state() == Connection::State::closed && line->load() > 0) {
        if (server.lookup.state() == Lookup::State::pending) again = std::min(again, now + kLookAgain);
        else if (!start(server, *line))
          for (const Command& command : line->take_waiting()) fail(command);
      }
      const Micros silent = line->silent_since();
      if (silent != Connection::kNever) {
        const bool opens = line->state() == Connection::State::connecting;
        if (now >= silent + (opens ? kConnect : kSilence))
          line->lose(opens ? "the server accepted no connection for a second"
                           : "the server sent no reply for 2 seconds");
      }
      line->flush(now);
    }
  }
  return again;
}

}  // namespace canopy::redis
