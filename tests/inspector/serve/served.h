#pragma once

#include <mirror/mirror.h>
#include <serve/web_server.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "web_client.h"

namespace canopy::test {

inline const std::string kToken = "0123456789abcdef0123456789abcdef";

/// A server with its thread.
class ServedPage {
 public:
  explicit ServedPage(inspector::Served served, inspector::WebSettings settings = {}) {
    settings.token = kToken;
    if (served.version.empty()) served.version = "canopy test";
    auto server = inspector::WebServer::open(std::move(settings), std::move(served));
    REQUIRE_MESSAGE(server, (server ? "" : server.error().text));
    server_ = std::move(*server);
    thread_ = std::jthread([this](std::stop_token stop) {
      while (!stop.stop_requested()) server_->run_for(std::chrono::milliseconds(5));
    });
  }
  int port() const { return server_->port(); }

 private:
  std::unique_ptr<inspector::WebServer> server_;
  std::jthread thread_;
};

/// A page without the picture: a websocket and a mirror.
class TestPage {
 public:
  explicit TestPage(int port, int receive_buffer = 0) : client(port, receive_buffer) {
    REQUIRE(client.upgrade("Origin: http://" + client.host() + "\r\n") == 101);
    client.say("hello " + kToken);
  }

  /// Takes the next message. Returns false if none came.
  bool take() {
    const auto frame = client.next();
    if (!frame) return false;
    if (frame->opcode == 1) {
      texts.push_back(frame->payload);
      if (frame->payload.starts_with("{\"attached\"")) header_next_ = true;
      if (frame->payload == "{\"lapped\":true}" && mirror) mirror->lost();
    } else if (frame->opcode == 2 && std::exchange(header_next_, false)) {
      FeedShape shape;
      CHECK(frame->payload.size() == FeedHeader::kBytes);
      std::memcpy(&shape, frame->payload.data(), sizeof(shape));
      CHECK(shape.ring_events == 0);
      mirror.emplace(shape);
    } else if (frame->opcode == 2) {
      REQUIRE(frame->payload.size() % sizeof(Event) == 0);
      std::vector<Event> events(frame->payload.size() / sizeof(Event));
      std::memcpy(events.data(), frame->payload.data(), frame->payload.size());
      if (first.empty()) first.assign(events.begin(), events.begin() + 1);
      keyframes += static_cast<std::size_t>(std::ranges::count_if(events, is<event::Keyframe>));
      bytes += frame->payload.size();
      REQUIRE(mirror);
      mirror->take(events);
      CHECK(mirror->drift() == 0);
    } else if (frame->opcode == 8) {
      closed = frame->close_code();
      return false;
    }
    return true;
  }
  /// Takes messages until the fact holds. Returns false if the messages end before.
  template <class Fact>
  bool until(Fact&& fact) {
    while (!fact())
      if (!take()) return false;
    return true;
  }
  /// Takes messages until a text contains the part. Returns the text; empty if none comes.
  std::string text_with(const std::string& part) {
    for (std::size_t at = 0;;) {
      for (; at < texts.size(); ++at)
        if (texts[at].find(part) != std::string::npos) return texts[at];
      if (!take()) return {};
    }
  }

  WebClient client;
  std::vector<std::string> texts;
  std::optional<inspector::Mirror> mirror;
  std::vector<Event> first;  ///< the first event; empty until it comes
  std::size_t keyframes = 0, bytes = 0;
  int closed = 0;  ///< code of the server's close frame; 0: none came

 private:
  bool header_next_ = false;
};

}  // namespace canopy::test
