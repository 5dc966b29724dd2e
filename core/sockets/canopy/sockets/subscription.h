#pragma once

#include <canopy/support/result.h>
#include <canopy/wire/stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace canopy::sockets {

/// The receiving end of KV events: one socket for each publisher, and one for each replay socket. One thread.
///
/// It connects to an endpoint, and connects again for as long as it lives; it binds where the endpoint has a wildcard,
/// as in tcp://*:5557, for servers that are told to connect. All topics are received.
class Subscription {
 public:
  struct Source {
    std::string endpoint;
    std::string replay;  ///< endpoint of its replay socket; empty: none
  };
  /// The error names the endpoint. Whether a server is there does not matter.
  static Result<std::unique_ptr<Subscription>> open(const std::vector<Source>& sources);
  ~Subscription();

  struct Heard {
    enum class What {
      message,       ///< the views are the subscription's, until next() is called again
      replay_ended,  ///< all of a replay has come, or it was silent for kSilenceMs
      connected,
      lost,       ///< the connection
      no_message  ///< frames that are no message; `flaw` says why
    };
    What what{};
    std::size_t source = 0;
    wire::Message message{};
    bool replayed = false;   ///< message: it came from the replay socket
    bool silent = false;     ///< replay_ended: nothing answers
    std::uint64_t from = 0;  ///< replay_ended: what was asked for
    std::string flaw{};
  };
  static constexpr std::uint64_t kSilenceMs = 3000;
  /// What came next. Waits at most so long; nothing: nothing came.
  std::optional<Heard> next(std::uint32_t milliseconds);

  bool has_replay(std::size_t source) const;
  /// Asks for all messages from this sequence on that the server still has. REQUIRES: has_replay, and not asks().
  void ask(std::size_t source, std::uint64_t from);
  /// Whether a replay is under way.
  bool asks(std::size_t source) const;
  bool is_connected(std::size_t source) const;

 private:
  struct Parts;
  Subscription();
  std::unique_ptr<Parts> parts_;
};

}  // namespace canopy::sockets
