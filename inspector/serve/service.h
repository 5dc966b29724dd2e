#pragma once

#include <canopy/feed/header.h>
#include <http/handler.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "channel.h"
#include "outbox.h"
#include "protocol.h"

namespace canopy::inspector {

/// The feeds or the recording that a server serves.
struct Served {
  protocol::Serves kind = protocol::Serves::feeds;
  std::string name{};          ///< feed: its name; recording: its path
  FeedHeader* demo = nullptr;  ///< feed of an engine in this process; null unless the demo is served
  bool controls = false;       ///< true if pages may send commands
  std::string version{};
  /// Receives a line for the terminal, such as that a feed shows prompts. May be empty (it is not shown).
  std::function<void(const std::string&)> note{};
};

class PageSession;

/// Serves feeds to pages, without the sockets: what each page receives is in its outbox.
class Service {
 public:
  using Clock = Channel::Clock;
  Service(Served served, std::string token, protocol::Limits limits);
  ~Service();
  Service(const Service&) = delete;

  const Served& served() const { return served_; }
  /// Returns true if the text is the secret token.
  bool knows(std::string_view token) const;
  /// Begins a session for a page whose websocket has opened. REQUIRES: the session ends before the service.
  std::unique_ptr<PageSession> open(Clock::time_point now);
  /// Reads the feeds, looks for new ones, and closes the sessions that are late. Called regularly while there is a
  /// session.
  void step(Clock::time_point now);

 private:
  friend class PageSession;
  Channel& channel(const std::string& name);
  void look(Clock::time_point now);

  Served served_;
  std::string token_;
  protocol::Limits limits_;
  std::set<PageSession*> sessions_;
  std::map<std::string, std::unique_ptr<Channel>> channels_;  ///< by feed; those that a page watches
  std::string listed_;                                        ///< text of the last list of feeds
  Clock::time_point look_from_{};
  std::set<std::string> noted_;  ///< feeds of which a note was made
};

/// The server's end of a page's websocket, without the socket.
class PageSession final : public http::Session {
 public:
  using Clock = Service::Clock;
  PageSession(Service& service, Clock::time_point now);
  ~PageSession() override;
  PageSession(const PageSession&) = delete;

  void take_text(std::string_view text, Clock::time_point now) override;
  void take_bytes(std::span<const std::byte> bytes) override;
  std::optional<http::Message> next() override;
  void sent() override { outbox_.sent(); }
  const std::optional<http::Close>& closing() const override { return closing_; }
  Outbox& outbox() { return outbox_; }

 private:
  friend class Service;
  void check(Clock::time_point now);
  void close(protocol::CloseCode code, std::string reason);
  void begin(Clock::time_point now);
  void attach(const std::string& name, Clock::time_point now);
  void watch(const std::string& name, Clock::time_point now);
  std::string send(const Command& command, protocol::Answer& answer);

  Service& service_;
  Outbox outbox_;
  Channel* channel_ = nullptr;  ///< the feed that the page watches; may be null (none)
  Clock::time_point hello_by_;
  bool known_ = false;  ///< true since the right hello
  std::optional<http::Close> closing_;
};

}  // namespace canopy::inspector
