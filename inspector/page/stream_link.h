#pragma once

#include <shell/live_link.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace canopy::inspector {

/// A feed whose events arrive in pieces, from a server. It never waits and sends no requests: its owner adds the events
/// that arrived.
class StreamLink final : public LiveLink {
 public:
  /// Sends the bytes of a command to the server.
  using Send = std::function<void(const Command&)>;
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;  ///< room for events that wait
  static constexpr std::size_t kPastBytes = std::size_t{64} << 20;

  StreamLink(const FeedShape& header, std::string name, Send send)
      : LiveLink(std::move(name), "from a server", kPastBytes), header_(header), send_(std::move(send)) {}

  /// Adds events that arrived. Returns false, and forgets all that wait, if more than kMostBytes would wait: call
  /// lapped(), and request a new beginning from the server.
  bool add(std::span<const Event> events);
  /// Records that the server left out events: those that follow begin with a keyframe.
  void lapped();
  /// Records the end of the feed or, if `server`, of the connection to the server. Events that wait are still applied.
  void gone(std::string why, bool server) { gone_ = std::move(why), server_gone_ = server; }
  /// The server's answer to the last command: false if the engine has not read the commands before it yet.
  void answered(bool accepted);

  const FeedShape& header() const override { return header_; }
  bool pump(Mirror& mirror, Session& session, Timeline& time, std::chrono::milliseconds budget) override;
  bool send(const Command& command) override;

 private:
  Arrived next(std::span<const Event>& events) override;
  std::string ended() const override { return gone_; }

  FeedShape header_;
  std::string gone_;
  bool server_gone_ = false;
  Send send_;
  std::vector<Event> waiting_;
  std::size_t next_ = 0;  ///< place in waiting_ of the next event to apply
  bool lapped_ = false;
  std::optional<Command> unanswered_;
};

}  // namespace canopy::inspector
