/// Hostile clients of `canopy serve`. The first byte says what the rest is: H, bytes of a connection; W, bytes behind
/// the handshake and hello of a websocket; S, messages of a session; R, the lines of a request.
#include <arpa/inet.h>
#include <canopy/feed/sink.h>
#include <serve/router.h>
#include <serve/web_server.h>
#include <sys/socket.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "fuzz.h"

namespace {

using namespace canopy;
using namespace canopy::inspector;

const std::string kToken = "0123456789abcdef0123456789abcdef";
constexpr PageFile kFiles[] = {{.path = "/", .type = "text/html", .bytes = {}, .gzip = true}};

/// An engine's feed in this process that takes controls.
struct Feed {
  Feed() {
    FeedConfig config;
    config.kind = FeedConfig::Kind::heap, config.events = 4096, config.controls = true;
    FeedShape shape;
    shape.page_size = 16, shape.groups = 2;
    auto opened = FeedSink::open(config, shape);
    EXPECT(bool{opened}, "");
    sink = std::move(*opened);
  }
  FeedHeader& header() const { return sink->writer().header(); }
  std::uint64_t commands() const { return commands_behind(header()).posted.load(); }
  Served served() const { return {.kind = protocol::Serves::demo, .demo = &header(), .controls = true}; }

  std::unique_ptr<FeedSink> sink;
};

/// A real server, and a client that sends bytes and reads none before its end.
struct Sockets {
  Sockets() {
    WebSettings settings;
    settings.token = kToken, settings.files = kFiles;
    auto opened = WebServer::open(std::move(settings), feed.served());
    EXPECT(bool{opened}, "");
    server = std::move(*opened);
  }
  void check(std::string_view first, std::string_view then) {
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    // A closed connection keeps its port for a minute: clients come from many of loopback's addresses.
    sockaddr_in from{};
    from.sin_family = AF_INET, from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + clients++ % 200);
    EXPECT(::bind(client, reinterpret_cast<const sockaddr*>(&from), sizeof(from)) == 0, first);
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(static_cast<std::uint16_t>(server->port()));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT(::connect(client, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0, first);
    const auto send = [&](std::string_view bytes) { ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL); };
    if (!first.empty()) {
      send(first);
      server->run_for(std::chrono::milliseconds(1));  // nothing may follow a handshake before its answer
    }
    send(then);
    ::shutdown(client, SHUT_WR);
    server->run_for(std::chrono::milliseconds(1));
    const linger at_once{1, 0};
    ::setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    ::close(client);
    server->run_for(std::chrono::milliseconds(1));
  }
  Feed feed;
  std::unique_ptr<WebServer> server;
  std::uint32_t clients = 0;
};

/// Messages: a byte says whether it is a text and how long it is. Without the token a page gets nothing.
void check_session(std::string_view bytes) {
  const Feed feed;
  Service service(feed.served(), kToken, {});
  const auto now = Service::Clock::now();
  const auto session = service.open(now);
  bool hello = false;
  while (!bytes.empty() && !session->closing()) {
    const auto head = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    const std::string_view message = bytes.substr(0, head & 127);
    bytes.remove_prefix(message.size());
    if (head & 128) session->take_bytes(std::as_bytes(std::span(message)));
    else session->take_text(message, now), hello |= message == "hello " + kToken;
    service.step(now);
  }
  for (const Message* each = session->outbox().next(); each;
       session->outbox().sent(), each = session->outbox().next()) {
    EXPECT(hello, each->words);
    if (each->text) EXPECT(nlohmann::json::parse(each->words, nullptr, false).is_object(), each->words);
  }
  EXPECT(hello || feed.commands() == 0, "");
  if (session->closing()) EXPECT(session->closing()->reason.size() <= 123, session->closing()->reason);
}

/// Returns true for the names that the server may answer to.
bool is_own(std::string_view host) {
  std::string name(host.substr(0, host.find(':')));
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return host.starts_with('[') || name == "localhost" || name == "127.0.0.1" || name == "canopy.example.org";
}

/// Lines: method, target, Host, Accept-Encoding, Authorization, and the origins.
void check_route(std::string_view text) {
  static const Feed feed;
  static Service service({.kind = protocol::Serves::recording, .name = "/proc/self/exe"}, kToken, {});
  static Router router(HostCheck("127.0.0.1", {"canopy.example.org"}), kFiles, service);
  const auto line = [&] {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    return one;
  };
  http::Request request;
  request.method = line(), request.target = line(), request.host = line(), request.accept_encoding = line();
  request.authorization = line();
  request.local = "127.0.0.1";
  while (!text.empty()) request.origins.push_back(line());
  for (const bool upgrade : {false, true}) {
    request.upgrade = upgrade;
    const http::Answer answer = router.answer(request);
    if (answer.status >= 400) fuzz::expect_sentence(answer.text);
    else EXPECT(is_own(request.host), request.host);
    if (answer.file) EXPECT(request.authorization.ends_with(kToken), request.authorization);
    EXPECT(answer.status != 101 || upgrade, request.target);
  }
  static_cast<void>(takes_gzip(request.accept_encoding));
}

std::string masked(std::string_view text) {
  std::string frame{'\x81', static_cast<char>(0x80 | text.size()), 0, 0, 0, 0};
  return frame += text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  if (bytes.empty()) return 0;
  static const std::string handshake =
      "GET /feed HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  static Sockets sockets;
  const std::string_view rest = bytes.substr(1);
  switch (bytes.front()) {
    case 'H':
      sockets.check({}, rest);
      break;
    case 'W':
      sockets.check(handshake, masked("hello " + kToken) + std::string(rest));
      break;
    case 'S':
      check_session(rest);
      break;
    case 'R':
      check_route(rest);
      break;
    default:
      break;
  }
  return 0;
}
