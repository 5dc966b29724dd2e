#include "server.h"

#include <canopy/base/host_check.h>
#include <prometheus/text_serializer.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <optional>
#include <thread>
#include <utility>

namespace canopy::metrics {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using net::ip::tcp;
using BoostError = boost::system::error_code;
using namespace std::chrono_literals;

constexpr auto kHeadTime = 2s;    // from the connection to the end of its headers
constexpr auto kAnswerTime = 5s;  // for a client to take the answer
constexpr std::size_t kMostHead = 8192, kMostConnections = 256;

class Scrape;
using Scrapes = std::list<Scrape*>;  // oldest first

/// A connection: one request, one answer.
class Scrape : public std::enable_shared_from_this<Scrape> {
 public:
  Scrape(tcp::socket socket, Scrapes& all, const Server::Answer& answer, const HostCheck& hosts)
      : all_(all), at_(all.insert(all.end(), this)), answer_(answer), hosts_(hosts), stream_(std::move(socket)) {}
  ~Scrape() { all_.erase(at_); }
  Scrape(const Scrape&) = delete;

  void read() {
    parser_.header_limit(kMostHead);
    stream_.expires_after(kHeadTime);
    http::async_read_header(stream_, in_, parser_, [self = shared_from_this()](BoostError why, std::size_t) {
      if (!why) self->write();
    });
  }
  /// Ends the connection. Its object ends once the context has run.
  void close() { stream_.close(); }

 private:
  void write() {
    const auto& asked = parser_.get();
    const std::string path(asked.target().substr(0, asked.target().find('?')));
    const bool reads = asked.method() == http::verb::get || asked.method() == http::verb::head;
    response_.result(!is_for_us()         ? http::status::forbidden
                     : !reads             ? http::status::method_not_allowed
                     : path == "/metrics" ? http::status::ok
                                          : http::status::not_found);
    response_.keep_alive(false);
    response_.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
    if (!reads) response_.set(http::field::allow, "GET, HEAD");
    response_.body() = response_.result() == http::status::ok ? text_of(answer_())
                       : response_.result() == http::status::forbidden
                           ? "The Host of this request is not this server: start `canopy export` with --host NAME.\n"
                           : "GET /metrics has the figures.\n";
    response_.prepare_payload();
    if (asked.method() == http::verb::head) response_.body().clear();
    stream_.expires_after(kAnswerTime);
    http::async_write(stream_, response_, [self = shared_from_this()](BoostError, std::size_t) {
      BoostError ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

  /// Returns true if the request has one Host, which is this server's, or none: then it is not a browser's.
  bool is_for_us() const {
    const auto& asked = parser_.get();
    BoostError why;
    const std::string local = stream_.socket().local_endpoint(why).address().to_string();
    const auto host = asked[http::field::host];
    if (asked.version() == 10 && asked.count(http::field::host) == 0) return true;
    return asked.count(http::field::host) == 1 && hosts_.allows({host.data(), host.size()}, local);
  }

  Scrapes& all_;
  Scrapes::iterator at_;
  const Server::Answer& answer_;
  const HostCheck& hosts_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer in_;
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> response_;
};

}  // namespace

struct Server::Parts {
  Parts(Answer given, HostCheck names) : answer(std::move(given)), hosts(std::move(names)) {}
  ~Parts() { context.stop(); }

  std::string listen(const std::string& address, std::uint16_t port) {
    BoostError why;
    const tcp::endpoint end(net::ip::make_address(address, why), port);
    if (!why) acceptor.open(end.protocol(), why);
    if (!why) acceptor.set_option(net::socket_base::reuse_address(true), why);
    if (!why) acceptor.bind(end, why);
    if (!why) acceptor.listen(net::socket_base::max_listen_connections, why);
    if (why) return why.message();
    accept();
    thread = std::jthread([this] { context.run(); });
    return {};
  }

  void accept() {
    acceptor.async_accept([this](BoostError why, tcp::socket socket) {
      if (why == net::error::operation_aborted) return;
      if (why) {  // such as too many open files
        pause.expires_after(100ms);
        return pause.async_wait([this](BoostError stopped) {
          if (!stopped) accept();
        });
      }
      // A client that has sent its request is served at once, so the oldest connection is one that waits.
      if (scrapes.size() >= kMostConnections) scrapes.front()->close();
      std::make_shared<Scrape>(std::move(socket), scrapes, answer, hosts)->read();
      accept();
    });
  }

  Answer answer;
  HostCheck hosts;
  Scrapes scrapes;  ///< before the context, whose end ends them
  net::io_context context{1};
  tcp::acceptor acceptor{context};
  net::steady_timer pause{context};
  std::jthread thread;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(const std::string& address, std::uint16_t port, Answer answer,
                                             std::vector<std::string> hosts) {
  const bool six = address.find(':') != std::string::npos;
  const std::string where = (six ? "[" + address + "]" : address) + ":" + std::to_string(port);
  auto parts = std::make_unique<Parts>(std::move(answer), HostCheck(address, std::move(hosts)));
  if (const std::string why = parts->listen(address, port); !why.empty())
    return Error{where + ": cannot listen: " + why};
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

int Server::port() const {
  BoostError ignored;
  return parts_->acceptor.local_endpoint(ignored).port();
}

std::string text_of(const std::vector<prometheus::MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace canopy::metrics
