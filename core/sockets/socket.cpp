#include "socket.h"

#include <fmt/format.h>
#include <zmq.h>

#include <cstring>

#include "ipc_path.h"

namespace canopy::sockets {
namespace {

int type_of(Kind kind) {
  switch (kind) {
    case Kind::publish:
      return ZMQ_XPUB;
    case Kind::subscribe:
      return ZMQ_SUB;
    case Kind::dealer:
      return ZMQ_DEALER;
    case Kind::router:
      return ZMQ_ROUTER;
  }
  return ZMQ_XPUB;
}

Error cannot(const std::string& endpoint) { return Error{fmt::format("{}: {}", endpoint, zmq_strerror(zmq_errno()))}; }

}  // namespace

void Context::End::operator()(void* context) const { zmq_ctx_term(context); }
Context::Context() : handle_(zmq_ctx_new()) {}

void Socket::Close::operator()(void* socket) const { zmq_close(socket); }

Result<Socket> Socket::open(const Context& context, Kind kind, Limits limits) {
  Socket socket(context.handle() ? zmq_socket(context.handle(), type_of(kind)) : nullptr);
  if (!socket.handle()) return cannot("a socket of ZeroMQ");
  const auto set = [&](int option, int value) { zmq_setsockopt(socket.handle(), option, &value, sizeof(value)); };
  set(ZMQ_SNDHWM, limits.send);
  set(ZMQ_RCVHWM, limits.receive);
  set(ZMQ_LINGER, limits.linger_ms);
  zmq_setsockopt(socket.handle(), ZMQ_MAXMSGSIZE, &limits.message_bytes, sizeof(limits.message_bytes));
  if (kind == Kind::publish) set(ZMQ_XPUB_VERBOSER, 1);    // not of the first and the last one alone
  if (kind == Kind::router) set(ZMQ_ROUTER_MANDATORY, 1);  // otherwise what a slow client cannot take is dropped
  return socket;
}

Result<std::string> Socket::bind(const std::string& endpoint) {
  if (std::string flaw = flaw_of_ipc_path(endpoint); !flaw.empty()) return Error{std::move(flaw)};
  if (zmq_bind(handle(), endpoint.c_str()) != 0) return cannot(endpoint);
  std::string bound(256, '\0');
  std::size_t size = bound.size();
  if (zmq_getsockopt(handle(), ZMQ_LAST_ENDPOINT, bound.data(), &size) != 0) return cannot(endpoint);
  bound.resize(size > 0 ? size - 1 : 0);
  return bound;
}

Result<std::string> Socket::connect(const std::string& endpoint) {
  if (zmq_connect(handle(), endpoint.c_str()) != 0) return cannot(endpoint);
  return endpoint;
}

void Socket::subscribe(std::string_view topic) { zmq_setsockopt(handle(), ZMQ_SUBSCRIBE, topic.data(), topic.size()); }

bool Socket::send(std::span<const std::string_view> frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const int more = i + 1 < frames.size() ? ZMQ_SNDMORE : 0;
    int sent = 0;
    do sent = zmq_send(handle(), frames[i].data(), frames[i].size(), ZMQ_DONTWAIT | more);
    while (sent < 0 && zmq_errno() == EINTR);
    if (sent < 0) {
      unreachable_ = zmq_errno() == EHOSTUNREACH;
      return false;  // the first frame: a socket takes all frames of a message or none
    }
  }
  return true;
}

bool Socket::receive(std::vector<std::string>& frames) {
  std::size_t count = 0;
  for (int more = 1; more != 0;) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    int got = 0;
    do got = zmq_msg_recv(&message, handle(), ZMQ_DONTWAIT);
    while (got < 0 && zmq_errno() == EINTR);
    if (got >= 0) {
      if (frames.size() == count) frames.emplace_back();
      frames[count++].assign(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
      more = zmq_msg_more(&message);
    }
    zmq_msg_close(&message);
    if (got < 0) return false;
  }
  frames.resize(count);
  return true;
}

bool Socket::wait(std::uint32_t milliseconds) {
  zmq_pollitem_t item{handle(), 0, ZMQ_POLLIN, 0};
  return zmq_poll(&item, 1, static_cast<long>(milliseconds)) > 0;
}

Result<Socket> Socket::watch(const Context& context) {
  const std::string name = fmt::format("inproc://watch-{}", handle());
  Socket watcher(zmq_socket(context.handle(), ZMQ_PAIR));
  if (!watcher.handle() ||
      zmq_socket_monitor(handle(), name.c_str(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0 ||
      zmq_connect(watcher.handle(), name.c_str()) != 0)
    return cannot("a socket of ZeroMQ");
  return watcher;
}

Socket::Change Socket::next_change() {
  std::vector<std::string> frames;
  if (!receive(frames) || frames.empty() || frames[0].size() < sizeof(std::uint16_t)) return Change::none;
  std::uint16_t event = 0;
  std::memcpy(&event, frames[0].data(), sizeof(event));
  return event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED ? Change::connected : Change::lost;
}

void Socket::wait_for_any(std::span<const Socket* const> sockets, std::uint32_t milliseconds) {
  std::vector<zmq_pollitem_t> items;
  for (const Socket* socket : sockets) items.push_back({socket->handle(), 0, ZMQ_POLLIN, 0});
  zmq_poll(items.data(), static_cast<int>(items.size()), static_cast<long>(milliseconds));
}

}  // namespace canopy::sockets
