#pragma once

#include <canopy/support/result.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// libzmq behind two handles. Only socket.cpp includes its header.
namespace canopy::sockets {

/// What owns libzmq's threads. REQUIRES: outlives its sockets.
class Context {
 public:
  Context();
  void* handle() const { return handle_.get(); }

 private:
  struct End {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, End> handle_;
};

/// A publishing socket receives, too: a frame that begins with 1 for each subscription, and with 0 for each that ends.
enum class Kind { publish, subscribe, dealer, router };

/// One socket, for one thread at a time. Closing it waits at most for `linger` to send what is queued.
class Socket {
 public:
  /// The number of messages that are kept for a peer that does not take them, or by a receiver that is not asked.
  struct Limits {
    int send = 1000, receive = 1000;
    int linger_ms = 0;
    std::int64_t message_bytes = -1;  ///< a peer that sends a longer message is cut off; -1: any length
  };
  static Result<Socket> open(const Context& context, Kind kind, Limits limits);

  /// Errors name the endpoint and the system's reason. `bind` returns the endpoint it has, which tells the port where
  /// the endpoint asked for any (tcp://127.0.0.1:*).
  Result<std::string> bind(const std::string& endpoint);
  Result<std::string> connect(const std::string& endpoint);
  /// Messages whose first frame begins with `topic`. REQUIRES: Kind::subscribe.
  void subscribe(std::string_view topic);

  /// Sends the frames of one message and does not wait. False: the peer is not there or its queue is full, so nothing
  /// was sent. A publishing socket drops instead, for each subscriber of its own, and returns true.
  bool send(std::span<const std::string_view> frames);
  /// After a send() of a router that failed: its peer is not there.
  bool unreachable() const { return unreachable_; }
  /// Takes the frames of one message. False: there is none.
  bool receive(std::vector<std::string>& frames);
  /// Waits until a message can be received, at most so long. False if none came.
  bool wait(std::uint32_t milliseconds);
  void* handle() const { return handle_.get(); }

  /// A socket that receives a message when this one is connected to a peer of ZeroMQ, and when it has lost one.
  /// REQUIRES: before connect() and bind(); asked once.
  Result<Socket> watch(const Context& context);
  /// The next such change, from the socket that watch() returned.
  enum class Change { none, connected, lost };
  Change next_change();
  /// Waits until one of them can receive, at most so long.
  static void wait_for_any(std::span<const Socket* const> sockets, std::uint32_t milliseconds);

 private:
  struct Close {
    void operator()(void* socket) const;
  };
  explicit Socket(void* handle) : handle_(handle) {}
  std::unique_ptr<void, Close> handle_;
  bool unreachable_ = false;
};

}  // namespace canopy::sockets
