#include "server.h"

#include <prometheus/text_serializer.h>

#include <stop_token>

namespace canopy::metrics {
namespace {

using namespace std::chrono_literals;

constexpr auto kHeadTime = 2s;    // from the connection to the end of its headers
constexpr auto kAnswerTime = 5s;  // for a client to take the answer

}  // namespace

Result<std::unique_ptr<Server>> Server::open(const std::string& address, std::uint16_t port, Scrape scrape,
                                             std::vector<std::string> hosts) {
  std::unique_ptr<Server> made(new Server(std::move(scrape), HostCheck(address, std::move(hosts))));
  auto server = http::Server::open(
      {.listen = address, .port = port, .request = kHeadTime, .idle = kAnswerTime, .one_request = true}, *made);
  if (!server) return server.error();
  made->server_ = std::move(*server);
  made->thread_ = std::jthread([&serving = *made->server_](const std::stop_token& end) {
    const std::stop_callback stop(end, [&] { serving.stop(); });
    serving.run();
  });
  return made;
}

http::Answer Server::answer(const http::Request& request) {
  // A client of HTTP/1.0 that sends no Host is no browser.
  if (!request.is_for(hosts_) && !(request.http_1_0 && request.hosts == 0))
    return {.status = 403,
            .text = "The Host of this request is not this server: start `canopy export` with --host NAME.\n"};
  if (!request.reads()) return {.status = 405, .text = "GET /metrics has the figures.\n"};
  if (request.path() != "/metrics") return {.status = 404, .text = "GET /metrics has the figures.\n"};
  return {.text = text_of(scrape_()), .type = "text/plain; version=0.0.4; charset=utf-8"};
}

std::string text_of(const std::vector<prometheus::MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace canopy::metrics
