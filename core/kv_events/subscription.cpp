#include <canopy/kv_events/subscription.h>

#include <array>
#include <chrono>

#include "socket.h"

namespace canopy::kv_events {
namespace {

using Clock = std::chrono::steady_clock;
using What = Subscription::Received::What;

// A server's batch has some kilobytes. A message above this limit is not a batch.
constexpr Socket::Limits kLimits{100, 100'000, 0, std::int64_t{64} << 20};

}  // namespace

struct Subscription::Parts {
  struct Channel {
    Source source;
    Socket events, changes;
    std::optional<Socket> replay{};
    bool is_replaying = false;
    std::uint64_t from = 0;  ///< Sequence that was requested.
    int connections = 0;
    Clock::time_point replay_at{};  ///< Time of the replay's last message, or of the request.
  };
  zmq::context_t context;
  std::vector<Channel> channels;
  std::vector<std::string> frames;
  std::vector<std::string_view> views;
  std::size_t turn = 0;  ///< Channel that next() checks first.

  /// Opens a new socket, so that late replies to the old one are dropped.
  Result<Socket> replay_socket(const std::string& endpoint) {
    auto socket = Socket::open(context, zmq::socket_type::dealer, kLimits);
    if (!socket) return socket.error();
    if (auto connected = socket->connect(endpoint); !connected) return connected.error();
    return socket;
  }

  Received message(std::size_t source, bool replayed) {
    views.assign(frames.begin(), frames.end());
    Received received{What::message, source};
    received.replayed = replayed;
    auto read = message_of(views);
    if (read) received.message = *read;
    else received.what = What::no_message, received.flaw = read.error().text;
    return received;
  }

  std::optional<Received> look(std::size_t source) {
    Channel& channel = channels[source];
    if (const Socket::Change change = channel.changes.next_change(); change != Socket::Change::none) {
      const bool connected = change == Socket::Change::connected;
      channel.connections += connected ? 1 : channel.connections > 0 ? -1 : 0;
      return Received{connected ? What::connected : What::disconnected, source};
    }
    if (channel.is_replaying) {
      const bool came = channel.replay && channel.replay->receive(frames);
      Received received = came ? message(source, true) : Received{What::replay_ended, source};
      received.silent = !came;
      received.from = channel.from;
      if (came) channel.replay_at = Clock::now();
      if (received.what == What::message && received.message.is_end) received.what = What::replay_ended;
      const bool waits = !came && Clock::now() - channel.replay_at <= std::chrono::milliseconds(kSilenceMs);
      channel.is_replaying = waits || received.what != What::replay_ended;
      if (!waits) return received;
    }
    if (channel.events.receive(frames)) return message(source, false);
    return std::nullopt;
  }
};

Subscription::Subscription() : parts_(std::make_unique<Parts>()) {}
Subscription::~Subscription() = default;

Result<std::unique_ptr<Subscription>> Subscription::open(const std::vector<Source>& sources) try {
  std::unique_ptr<Subscription> made(new Subscription);
  Parts& parts = *made->parts_;
  for (const Source& source : sources) {
    auto events = Socket::open(parts.context, zmq::socket_type::sub, kLimits);
    if (!events) return events.error();
    auto changes = events->watch(parts.context);
    if (!changes) return changes.error();
    events->subscribe("");
    const bool binds = source.endpoint.find('*') != std::string::npos;
    auto opened = binds ? events->bind(source.endpoint) : events->connect(source.endpoint);
    if (!opened) return opened.error();
    if (!source.replay.empty())  // connects once, so that an unusable endpoint is an error of open()
      if (auto replay = parts.replay_socket(source.replay); !replay) return replay.error();
    parts.channels.push_back({source, std::move(*events), std::move(*changes)});
  }
  return made;
} catch (const zmq::error_t& error) {  // the context could not be created
  return Error{std::string("ZeroMQ: ") + error.what()};
}

std::optional<Subscription::Received> Subscription::next(std::uint32_t milliseconds) {
  Parts& parts = *parts_;
  for (bool waited = false;; waited = true) {
    for (std::size_t i = 0; i < parts.channels.size(); ++i) {
      const std::size_t source = (parts.turn + i) % parts.channels.size();
      if (auto received = parts.look(source)) {
        parts.turn = source + 1;
        return received;
      }
    }
    if (waited) return std::nullopt;
    std::vector<const Socket*> sockets;
    for (const Parts::Channel& channel : parts.channels) {
      sockets.insert(sockets.end(), {&channel.events, &channel.changes});
      if (channel.is_replaying && channel.replay) sockets.push_back(&*channel.replay);
    }
    Socket::wait_for_any(sockets, milliseconds);
  }
}

bool Subscription::has_replay(std::size_t source) const { return !parts_->channels[source].source.replay.empty(); }
bool Subscription::is_replaying(std::size_t source) const { return parts_->channels[source].is_replaying; }
bool Subscription::is_connected(std::size_t source) const { return parts_->channels[source].connections > 0; }

void Subscription::request_replay(std::size_t source, std::uint64_t from) {
  Parts::Channel& channel = parts_->channels[source];
  channel.is_replaying = true;
  channel.from = from;
  channel.replay_at = Clock::now();
  auto socket = parts_->replay_socket(channel.source.replay);
  if (!socket) return channel.replay.reset();  // next() then reports a silent end of the replay
  channel.replay.emplace(std::move(*socket));
  const std::string number = sequence_frame(from);
  channel.replay->send(std::array<std::string_view, 2>{std::string_view(), number});
}

}  // namespace canopy::kv_events
