#pragma once

#include <canopy/base/result.h>
#include <canopy/kv_events/stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace canopy::kv_events {

/// Receives KV events: one socket for each publisher, and one for each replay socket. For one thread.
///
/// It connects to an endpoint and reconnects for as long as it lives. It binds to an endpoint with a wildcard, such as
/// tcp://*:5557, for servers that connect. It receives all topics.
class Subscription {
 public:
  struct Source {
    std::string endpoint;
    std::string replay;  ///< Endpoint of its replay socket. May be empty (none).
  };
  /// Returns an error that names the endpoint if it is not usable. The servers need not run yet.
  static Result<std::unique_ptr<Subscription>> open(const std::vector<Source>& sources);
  ~Subscription();

  struct Received {
    enum class What {
      message,       ///< Its views are valid until next() is called again.
      replay_ended,  ///< A replay has come completely, or was silent for kSilenceMs.
      connected,
      disconnected,
      no_message  ///< Frames that are no message, see `flaw`.
    };
    What what{};
    std::size_t source = 0;
    Message message{};
    bool replayed = false;   ///< message: it came from the replay socket.
    bool silent = false;     ///< replay_ended: there was no answer.
    std::uint64_t from = 0;  ///< replay_ended: the sequence that was requested.
    std::string flaw{};
  };
  static constexpr std::uint64_t kSilenceMs = 3000;
  /// Returns what came next. Waits at most `milliseconds`; empty if nothing came.
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
