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

/// A socket of ZeroMQ, for one thread at a time. Closing it waits at most for `linger_ms` to send what is queued. A
/// publishing socket (xpub) also receives: a frame that begins with 1 for each subscription, and with 0 for each that
/// ends.
class Socket {
 public:
  struct Limits {
    int send = 1000, receive = 1000;  ///< Messages queued for a peer, or by a receiver that is not read.
    int linger_ms = 0;
    std::int64_t message_bytes = -1;  ///< A peer that sends a longer message is disconnected. -1: any length.
  };
  /// REQUIRES: the context outlives the socket.
  static Result<Socket> open(zmq::context_t& context, zmq::socket_type type, const Limits& limits);

  /// Errors name the endpoint and the system's reason. Returns the endpoint with the port that was chosen for a
  /// wildcard (tcp://127.0.0.1:*).
  Result<std::string> bind(const std::string& endpoint);
  Result<std::string> connect(const std::string& endpoint);
  /// Subscribes to messages whose first frame begins with `topic`. REQUIRES: a subscribing socket (sub).
  void subscribe(const std::string& topic) { socket_.set(zmq::sockopt::subscribe, topic); }

  /// Sends the frames of one message without waiting. Returns false, and sends nothing, if the peer is not there or its
  /// queue is full. A publishing socket drops the message for a subscriber whose queue is full, and returns true.
  bool send(std::span<const std::string_view> frames);
  /// Returns true if the last send() of a router failed because its peer is not there.
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
