#pragma once

#include <canopy/base/result.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <zmq.hpp>

namespace canopy::kv_events {

/// A socket of ZeroMQ, for one thread at a time. After it is closed, queued messages are sent for at most `linger_ms`.
/// A publishing socket (xpub) also receives: a frame that begins with 1 for each new subscription, and with 0 for each
/// that ends.
class Socket {
 public:
  struct Limits {
    int send = 1000, receive = 1000;  ///< Most queued messages, to a peer and from all peers.
    int linger_ms = 0;
    std::int64_t message_bytes = -1;  ///< Longest message; a peer that sends more is disconnected. -1: any length.
  };
  /// Creates a socket. REQUIRES: the context outlives it.
  static Result<Socket> open(zmq::context_t& context, zmq::socket_type type, const Limits& limits);

  /// Bind the socket, or connect it. Return the endpoint, with the port that was chosen for a wildcard
  /// (tcp://127.0.0.1:*). Errors name the endpoint and the system's reason.
  Result<std::string> bind(const std::string& endpoint);
  Result<std::string> connect(const std::string& endpoint);
  /// Subscribes to messages whose first frame begins with `topic`. REQUIRES: a subscribing socket (sub).
  void subscribe(const std::string& topic) { socket_.set(zmq::sockopt::subscribe, topic); }

  /// Sends the frames of one message without waiting. Returns false, and sends nothing, if there is no peer or its
  /// queue is full. A publishing socket drops the message for a subscriber whose queue is full, and returns true.
  bool send(std::span<const std::string_view> frames);
  /// Returns true if the last send() of a router failed because its peer is gone.
  bool unreachable() const { return unreachable_; }
  /// Receives the frames of one message. Returns false if there is none.
  bool receive(std::vector<std::string>& frames);
  /// Waits until a message can be received. Returns false if none came.
  bool wait(std::uint32_t milliseconds) const { return wait_for_any(std::array{this}, milliseconds); }
  /// Waits until one of the sockets can receive. Returns false if none can.
  static bool wait_for_any(std::span<const Socket* const> sockets, std::uint32_t milliseconds);

  enum class Change { none, connected, lost };
  /// Returns a socket that receives a message when this one is connected to a peer, and when the connection is lost.
  /// REQUIRES: before connect() and bind(); called once.
  Result<Socket> watch(zmq::context_t& context);
  /// Returns the next change. REQUIRES: the socket that watch() returned.
  Change next_change();

 private:
  explicit Socket(zmq::socket_t socket) : socket_(std::move(socket)) {}
  zmq::socket_t socket_;
  bool unreachable_ = false;
};

}  // namespace canopy::kv_events
