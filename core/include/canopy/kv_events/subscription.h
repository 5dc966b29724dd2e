#pragma once

#include <canopy/base/result.h>
#include <canopy/kv_events/stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace canopy::kv_events {

/// Receives KV events of all topics, with one socket for each publisher and one for each replay socket. For one thread.
///
/// It connects to an endpoint, and reconnects until it is destroyed. It binds to an endpoint with a wildcard, such as
/// tcp://*:5557, for servers that connect to it.
class Subscription {
 public:
  struct Source {
    std::string endpoint;
    std::string replay;  ///< Endpoint of the replay socket. May be empty (none).
  };
  /// Opens the sockets. The servers need not run yet. An error names an endpoint that cannot be used.
  static Result<std::unique_ptr<Subscription>> open(const std::vector<Source>& sources);
  ~Subscription();

  struct Received {
    enum class What {
      message,       ///< A message, whose views are valid until the next call of next().
      replay_ended,  ///< The end of a replay: it is complete, or nothing came for kSilenceMs.
      connected,
      disconnected,
      no_message  ///< Frames that are not a message (`flaw`).
    };
    What what{};
    std::size_t source = 0;
    Message message{};
    bool replayed = false;   ///< message: true if it came from the replay socket.
    bool silent = false;     ///< replay_ended: true if nothing came for kSilenceMs.
    std::uint64_t from = 0;  ///< replay_ended: sequence that was requested.
    std::string flaw{};      ///< no_message: error message.
  };
  static constexpr std::uint64_t kSilenceMs = 3000;
  /// Waits at most `milliseconds` for the next event. Empty if none came.
  std::optional<Received> next(std::uint32_t milliseconds);

  bool has_replay(std::size_t source) const;
  /// Requests all messages from this sequence on that the server still has. REQUIRES: has_replay, not is_replaying.
  void request_replay(std::size_t source, std::uint64_t from);
  bool is_replaying(std::size_t source) const;
  bool is_connected(std::size_t source) const;

 private:
  struct Parts;
  Subscription();
  std::unique_ptr<Parts> parts_;
};

}  // namespace canopy::kv_events
