#include <canopy/sockets/subscription.h>

#include <array>
#include <chrono>

#include "socket.h"

namespace canopy::sockets {
namespace {

using Clock = std::chrono::steady_clock;
using What = Subscription::Heard::What;

// A server's batch is some kilobytes; what is longer than this is no batch.
constexpr Socket::Limits kLimits{100, 100'000, 0, std::int64_t{64} << 20};

}  // namespace

struct Subscription::Parts {
  struct Channel {
    Source source;
    Socket events, changes;
    std::optional<Socket> replay;
    bool asks = false;
    std::uint64_t from = 0;  ///< what was asked for
    int connections = 0;
    Clock::time_point heard{};  ///< of the replay: the last message, or the question
  };
  Context context;
  std::vector<Channel> channels;
  std::vector<std::string> frames;
  std::vector<std::string_view> views;
  std::size_t turn = 0;  ///< the channel that is looked at first

  /// A fresh one: what an old one may still answer is of no use.
  Result<Socket> replay_socket(const std::string& endpoint) const {
    auto socket = Socket::open(context, Kind::dealer, kLimits);
    if (!socket) return socket.error();
    if (auto connected = socket->connect(endpoint); !connected) return connected.error();
    return socket;
  }

  Heard message(std::size_t source, bool replayed) {
    views.assign(frames.begin(), frames.end());
    Heard heard;
    heard.source = source, heard.replayed = replayed;
    auto read = wire::message_of(views);
    if (read) heard.message = *read;
    else heard.what = What::no_message, heard.flaw = read.error().text;
    return heard;
  }

  std::optional<Heard> look(std::size_t source) {
    Channel& channel = channels[source];
    Heard heard;
    heard.source = source;
    heard.from = channel.from;
    if (const Socket::Change change = channel.changes.next_change(); change != Socket::Change::none) {
      const bool connected = change == Socket::Change::connected;
      channel.connections += connected ? 1 : channel.connections > 0 ? -1 : 0;
      heard.what = connected ? What::connected : What::lost;
      return heard;
    }
    if (channel.asks) {
      if (channel.replay && channel.replay->receive(frames)) {
        channel.heard = Clock::now();
        heard = message(source, true);
        if (heard.what == What::message && heard.message.is_end) channel.asks = false, heard.what = What::replay_ended;
        heard.from = channel.from;
        return heard;
      }
      if (Clock::now() - channel.heard > std::chrono::milliseconds(kSilenceMs)) {
        channel.asks = false;
        heard.what = What::replay_ended, heard.silent = true;
        return heard;
      }
    }
    if (channel.events.receive(frames)) return message(source, false);
    return std::nullopt;
  }
};

Subscription::Subscription() : parts_(std::make_unique<Parts>()) {}
Subscription::~Subscription() = default;

Result<std::unique_ptr<Subscription>> Subscription::open(const std::vector<Source>& sources) {
  std::unique_ptr<Subscription> made(new Subscription);
  Parts& parts = *made->parts_;
  for (const Source& source : sources) {
    auto events = Socket::open(parts.context, Kind::subscribe, kLimits);
    if (!events) return events.error();
    auto changes = events->watch(parts.context);
    if (!changes) return changes.error();
    events->subscribe("");
    auto there = source.endpoint.find('*') == std::string::npos ? events->connect(source.endpoint)
                                                                : events->bind(source.endpoint);
    if (!there) return there.error();
    if (!source.replay.empty())  // tried now, so that a bad endpoint is said now
      if (auto replay = parts.replay_socket(source.replay); !replay) return replay.error();
    parts.channels.push_back({source, std::move(*events), std::move(*changes), std::nullopt, false, 0, 0, {}});
  }
  return made;
}

std::optional<Subscription::Heard> Subscription::next(std::uint32_t milliseconds) {
  Parts& parts = *parts_;
  for (bool waited = false;; waited = true) {
    for (std::size_t i = 0; i < parts.channels.size(); ++i) {
      const std::size_t source = (parts.turn + i) % parts.channels.size();
      if (auto heard = parts.look(source)) {
        parts.turn = source + 1;
        return heard;
      }
    }
    if (waited) return std::nullopt;
    std::vector<const Socket*> sockets;
    for (const Parts::Channel& channel : parts.channels) {
      sockets.insert(sockets.end(), {&channel.events, &channel.changes});
      if (channel.asks && channel.replay) sockets.push_back(&*channel.replay);
    }
    Socket::wait_for_any(sockets, milliseconds);
  }
}

bool Subscription::has_replay(std::size_t source) const { return !parts_->channels[source].source.replay.empty(); }
bool Subscription::asks(std::size_t source) const { return parts_->channels[source].asks; }
bool Subscription::is_connected(std::size_t source) const { return parts_->channels[source].connections > 0; }

void Subscription::ask(std::size_t source, std::uint64_t from) {
  Parts::Channel& channel = parts_->channels[source];
  channel.asks = true;
  channel.from = from;
  channel.heard = Clock::now();
  auto socket = parts_->replay_socket(channel.source.replay);
  if (!socket) return channel.replay.reset();  // it is silent then
  channel.replay.emplace(std::move(*socket));
  std::string number(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) number[i] = static_cast<char>(from >> (56 - 8 * i));
  const std::array<std::string_view, 2> frames{std::string_view(), number};
  channel.replay->send(frames);
}

}  // namespace canopy::sockets
