#include "socket.h"

#include <fmt/format.h>

#include <cstring>

#include "ipc_path.h"

namespace canopy::kv_events {
namespace {

Error cannot(const std::string& endpoint, const zmq::error_t& error) {
  return Error{fmt::format("{}: {}", endpoint, error.what())};
}

/// Calls a function again while a signal interrupts it.
template <class Call>
auto uninterrupted(Call&& call) {
  for (;;) {
    try {
      return call();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;
    }
  }
}

}  // namespace

Result<Socket> Socket::open(zmq::context_t& context, zmq::socket_type type, const Limits& limits) try {
  Socket made(zmq::socket_t(context, type));
  made.socket_.set(zmq::sockopt::sndhwm, limits.send);
  made.socket_.set(zmq::sockopt::rcvhwm, limits.receive);
  made.socket_.set(zmq::sockopt::linger, limits.linger_ms);
  made.socket_.set(zmq::sockopt::maxmsgsize, limits.message_bytes);
  using zmq::socket_type;
  if (type == socket_type::xpub)
    made.socket_.set(zmq::sockopt::xpub_verboser, true);  // receives every subscription, not only the first one
  if (type == socket_type::router)
    made.socket_.set(zmq::sockopt::router_mandatory, true);  // send() fails instead of dropping the message
  return made;
} catch (const zmq::error_t& error) {
  return cannot("a ZeroMQ socket", error);
}

Result<std::string> Socket::bind(const std::string& endpoint) try {
  if (std::string flaw = flaw_of_ipc_path(endpoint); !flaw.empty()) return Error{std::move(flaw)};
  socket_.bind(endpoint);
  return socket_.get(zmq::sockopt::last_endpoint);
} catch (const zmq::error_t& error) {
  return cannot(endpoint, error);
}

Result<std::string> Socket::connect(const std::string& endpoint) try {
  socket_.connect(endpoint);
  return endpoint;
} catch (const zmq::error_t& error) {
  return cannot(endpoint, error);
}

bool Socket::send(std::span<const std::string_view> frames) try {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto more = i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
    const auto send = [&] { return socket_.send(zmq::buffer(frames[i]), zmq::send_flags::dontwait | more); };
    if (!uninterrupted(send)) return unreachable_ = false;  // only at the first frame: a message is queued whole or not
  }
  return true;
} catch (const zmq::error_t& error) {
  unreachable_ = error.num() == EHOSTUNREACH;
  return false;
}

bool Socket::receive(std::vector<std::string>& frames) try {
  std::size_t count = 0;
  zmq::message_t message;
  do {
    if (!uninterrupted([&] { return socket_.recv(message, zmq::recv_flags::dontwait); })) return false;
    if (frames.size() == count) frames.emplace_back();
    frames[count++].assign(message.data<char>(), message.size());
  } while (message.more());
  frames.resize(count);
  return true;
} catch (const zmq::error_t&) {
  return false;
}

bool Socket::wait_for_any(std::span<const Socket* const> sockets, std::uint32_t milliseconds) {
  std::vector<zmq_pollitem_t> items;
  for (const Socket* socket : sockets) items.push_back({const_cast<void*>(socket->socket_.handle()), 0, ZMQ_POLLIN, 0});
  return zmq_poll(items.data(), static_cast<int>(items.size()), static_cast<long>(milliseconds)) > 0;
}

Result<Socket> Socket::watch(zmq::context_t& context) try {
  const std::string name = fmt::format("inproc://watch-{}", static_cast<const void*>(this->socket_.handle()));
  if (zmq_socket_monitor(socket_.handle(), name.c_str(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0)
    throw zmq::error_t();
  Socket watcher(zmq::socket_t(context, zmq::socket_type::pair));
  watcher.socket_.connect(name);
  return watcher;
} catch (const zmq::error_t& error) {
  return cannot("a ZeroMQ socket", error);
}

Socket::Change Socket::next_change() {
  std::vector<std::string> frames;
  if (!receive(frames) || frames.empty() || frames[0].size() < sizeof(std::uint16_t)) return Change::none;
  std::uint16_t event = 0;
  std::memcpy(&event, frames[0].data(), sizeof(event));
  return event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED ? Change::connected : Change::lost;
}

}  // namespace canopy::kv_events
