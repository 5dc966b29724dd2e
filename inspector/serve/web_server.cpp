/// The only file of its room that includes Boost.Beast, whose templates take most of the room's compile time.
#include "web_server.h"

#include <canopy/base/file.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <limits>
#include <list>
#include <optional>
#include <set>
#include <utility>

#include "place.h"
#include "router.h"

namespace canopy::inspector {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using boost::beast::tcp_stream;
using net::ip::tcp;
using BoostError = boost::system::error_code;
using Clock = Service::Clock;
using namespace std::chrono_literals;

using Request = http::request<http::empty_body>;

constexpr auto kTick = 10ms;              // between two reads of the feeds
constexpr std::size_t kMostRefused = 32;  // connections beyond the limit that get an answer; others are closed at once
constexpr std::size_t kFilePart = std::size_t{64} << 10;  // bytes of a recording in memory
constexpr auto kFilePartTime = 60s;                       // for a client to take them

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

class PageSocket;
class Connection;

/// State that the connections share.
struct Shared {
  Shared(WebSettings given, Served served)
      : settings(std::move(given)),
        service(std::move(served), settings.token, settings.limits),
        router(HostCheck(settings.listen, settings.hosts), settings.files, service) {}

  WebSettings settings;
  Service service;
  Router router;
  std::size_t connections = 0;
  std::set<PageSocket*> sockets;
  std::list<Connection*> waiting;  ///< connections without a whole request, from the one that has waited longest
  std::function<void()> wake;      ///< starts the clock that reads the feeds
};

/// A page's websocket.
class PageSocket : public std::enable_shared_from_this<PageSocket> {
 public:
  PageSocket(tcp_stream stream, Shared& shared, Place place)
      : shared_(shared), place_(std::move(place)), socket_(std::move(stream)) {}
  ~PageSocket() { shared_.sockets.erase(this); }

  void accept(const Request& request) {
    const protocol::Limits& limits = shared_.settings.limits;
    boost::beast::get_lowest_layer(socket_).expires_never();
    socket_.set_option(websocket::stream_base::timeout{limits.request, limits.idle, true});
    socket_.read_message_max(protocol::kMostBytesIn);
    socket_.auto_fragment(false);
    socket_.async_accept(request, [self = shared_from_this()](BoostError why) {
      if (why) return;
      self->session_ = self->shared_.service.open(Clock::now());
      self->shared_.sockets.insert(self.get());
      self->shared_.wake();
      self->read();
    });
  }

  /// Sends the next message, or closes the websocket.
  void flush() {
    if (closing_) return;
    if (const auto& close = session_->closing()) {
      closing_ = true;
      const websocket::close_reason reason(static_cast<websocket::close_code>(close->code), close->reason);
      socket_.async_close(reason, [self = shared_from_this()](BoostError) {});
      return;
    }
    const Message* message = session_->outbox().next();
    if (!message) return;
    socket_.text(message->text);
    socket_.async_write(net::buffer(message->data(), message->size()),
                        [self = shared_from_this()](BoostError why, std::size_t) {
                          self->session_->outbox().sent();
                          if (!why) self->flush();
                        });
  }

 private:
  void read() {
    socket_.async_read(in_, [self = shared_from_this()](BoostError why, std::size_t) {
      if (why) return self->end();
      self->take();
      self->in_.consume(self->in_.size());
      self->flush();
      // While it is being closed, the time limit for a silent page counts, even if the page goes on sending.
      if (!self->closing_) self->read();
    });
  }

  void take() {
    const auto bytes = in_.cdata();
    const auto* data = static_cast<const char*>(bytes.data());
    if (socket_.got_text()) session_->take_text({data, bytes.size()}, Clock::now());
    else session_->take_bytes(std::as_bytes(std::span(data, bytes.size())));
  }

  /// Ends the session at once, although a write may be pending: the page is no longer there.
  void end() {
    closing_ = true;
    shared_.sockets.erase(this);
    BoostError ignored;
    boost::beast::get_lowest_layer(socket_).socket().close(ignored);
  }

  Shared& shared_;
  Place place_;
  websocket::stream<tcp_stream, false> socket_;
  boost::beast::flat_buffer in_;
  std::unique_ptr<PageSession> session_;
  bool closing_ = false;
};

/// A connection that speaks HTTP.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Shared& shared)
      : shared_(shared), place_(shared.connections), stream_(std::move(socket)) {
    shared_.waiting.push_back(this);
  }
  ~Connection() { shared_.waiting.remove(this); }

  /// Ends the connection, to make room for another one.
  void drop() {
    shared_.waiting.remove(this);
    stream_.close();
  }

  void read() {
    parser_.emplace();
    parser_->header_limit(protocol::kMostHead);
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());  // no body is read
    stream_.expires_after(shared_.settings.limits.request);
    http::async_read_header(stream_, in_, *parser_, [self = shared_from_this()](BoostError why, std::size_t) {
      self->shared_.waiting.remove(self.get());
      if (!why) return self->answer();
      self->keep_ = false;
      if (why == http::error::header_limit)
        self->say(http::status::request_header_fields_too_large, "The headers have more than 8192 bytes.");
      else if (why.category() == http::make_error_code(http::error::bad_method).category() &&
               why != http::error::end_of_stream && why != http::error::partial_message)
        self->say(http::status::bad_request, "This is not a request of HTTP/1.1.");
    });
  }

 private:
  const Request& request() const { return parser_->get(); }

  std::string_view value(http::field field) const { return view(request()[field]); }

  std::string local_address() {
    BoostError why;
    auto address = stream_.socket().local_endpoint(why).address();
    if (address.is_v6() && address.to_v6().is_v4_mapped())
      address = net::ip::make_address_v4(net::ip::v4_mapped, address.to_v6());
    return why ? std::string() : address.to_string();
  }

  WebRequest facts() {
    WebRequest facts{.method = view(request().method_string()),
                     .target = view(request().target()),
                     .host = value(http::field::host),
                     .accept_encoding = value(http::field::accept_encoding),
                     .authorization = value(http::field::authorization),
                     .one_host = request().count(http::field::host) == 1,
                     .upgrade = websocket::is_upgrade(request()),
                     .local = local_address()};
    const auto [first, last] = request().equal_range(http::field::origin);
    for (auto each = first; each != last; ++each) facts.origins.push_back(view(each->value()));
    return facts;
  }

  void answer() {
    const bool refused = shared_.connections > shared_.settings.limits.connections;
    // Without its body, the next request could not be found.
    keep_ = request().keep_alive() && parser_->is_done() && !refused;
    if (refused) return say(http::status::service_unavailable, "The server has as many connections as it may have.");
    const WebAnswer answer = shared_.router.answer(facts());
    switch (answer.kind) {
      case WebAnswer::Kind::sentence:
        return say(http::int_to_status(answer.status), answer.sentence);
      case WebAnswer::Kind::file:
        return send_file(*answer.file);
      case WebAnswer::Kind::recording:
        return send_recording();
      case WebAnswer::Kind::websocket:
        return upgrade();
    }
  }

  void upgrade() {
    keep_ = false;
    if (in_.size() != 0 || !parser_->is_done())
      return say(http::status::bad_request, "Nothing may follow a handshake before its answer.");
    const auto page = std::make_shared<PageSocket>(std::move(stream_), shared_, std::move(place_));
    page->accept(parser_->release());
  }

  /// Writes a response, and calls `then`. The answer to HEAD has no body.
  template <class Body, class Then>
  void write(http::response<Body> given, Then then) {
    struct Held {
      http::response<Body> response;
      http::response_serializer<Body> serializer{response};
    };
    const auto held = std::make_shared<Held>(std::move(given));
    for (const auto& [name, text] : kWebHeaders) held->response.set(name, text);
    held->response.keep_alive(keep_);
    stream_.expires_after(shared_.settings.limits.idle);
    auto end = [self = shared_from_this(), held, then](BoostError why, std::size_t) {
      if (!why) then();
    };
    if (is_head()) http::async_write_header(stream_, held->serializer, std::move(end));
    else http::async_write(stream_, held->serializer, std::move(end));
  }
  bool is_head() const { return parser_->is_header_done() && request().method() == http::verb::head; }

  /// Reads the next request, or ends the connection.
  void next() {
    if (keep_) return shared_.waiting.push_back(this), read();
    BoostError ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(1s);
    drain();
  }

  /// Reads what the client has already sent: otherwise the system would discard the response with the connection.
  void drain() {
    part_.resize(kFilePart);
    stream_.async_read_some(net::buffer(part_), [self = shared_from_this()](BoostError why, std::size_t) {
      if (!why) self->drain();
    });
  }

  void say(http::status status, std::string_view sentence) {
    http::response<http::string_body> response(status, 11, std::string(sentence) + "\n");
    response.set(http::field::content_type, "text/plain; charset=utf-8");
    if (status == http::status::method_not_allowed) response.set(http::field::allow, "GET, HEAD");
    if (status == http::status::unauthorized) response.set(http::field::www_authenticate, "Bearer");
    if (status == http::status::upgrade_required) response.set(http::field::upgrade, "websocket");
    response.prepare_payload();
    write(std::move(response), [this] { next(); });
  }

  void send_file(const PageFile& file) {
    http::response<http::span_body<const unsigned char>> response(http::status::ok, 11);
    response.body() = {file.bytes.data(), file.bytes.size()};
    response.set(http::field::content_type, {file.type.data(), file.type.size()});
    if (file.gzip) response.set(http::field::content_encoding, "gzip");
    response.prepare_payload();
    write(std::move(response), [this] { next(); });
  }

  void send_recording() {
    OpenedFile opened = open_regular(shared_.service.served().name);
    if (!opened.descriptor) return say(http::status::not_found, "The recording cannot be read now.");
    http::response<http::empty_body> response(http::status::ok, 11);
    response.set(http::field::content_type, "application/octet-stream");
    const auto bytes = static_cast<std::uint64_t>(opened.facts.st_size);
    response.content_length(bytes);
    file_ = std::move(opened.descriptor);
    write(std::move(response), [this, bytes] { send_part(is_head() ? 0 : bytes); });
  }

  /// Sends the next part of the recording. If the file has become shorter, the connection ends early, which the client
  /// notices by Content-Length.
  void send_part(std::uint64_t left) {
    if (left == 0) return file_.reset(), next();
    part_.resize(kFilePart);
    const ssize_t got = ::read(file_.get(), part_.data(), std::min<std::uint64_t>(kFilePart, left));
    if (got <= 0) return;
    left -= static_cast<std::uint64_t>(got);
    stream_.expires_after(kFilePartTime);
    net::async_write(stream_, net::buffer(part_.data(), static_cast<std::size_t>(got)),
                     [self = shared_from_this(), left](BoostError why, std::size_t) {
                       if (!why) self->send_part(left);
                     });
  }

  Shared& shared_;
  Place place_;
  tcp_stream stream_;
  bool keep_ = false;  ///< true if another request may follow
  boost::beast::flat_buffer in_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  UniqueFd file_;
  std::vector<char> part_;
};

}  // namespace

struct WebServer::Parts {
  Parts(WebSettings settings, Served served) : shared(std::move(settings), std::move(served)) {
    shared.wake = [this] {
      if (!ticking) tick();
    };
  }

  std::string listen() {
    BoostError why;
    const tcp::endpoint end(net::ip::make_address(shared.settings.listen, why), shared.settings.port);
    if (!why) acceptor.open(end.protocol(), why);
    if (!why) acceptor.set_option(net::socket_base::reuse_address(true), why);
    if (!why) acceptor.bind(end, why);
    if (!why) acceptor.listen(net::socket_base::max_listen_connections, why);
    if (!why) return accept(), std::string();
    return why.message() + (why == net::error::address_in_use ? "; choose another port with --port" : "");
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
      if (shared.connections < shared.settings.limits.connections + kMostRefused) {
        BoostError ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        // Clients that send half a request do not keep others out.
        if (shared.connections >= shared.settings.limits.connections && !shared.waiting.empty())
          shared.waiting.front()->drop();
        std::make_shared<Connection>(std::move(socket), shared)->read();
      }
      accept();
    });
  }

  /// Reads the feeds and sends what has arrived, while a page is there.
  void tick() {
    ticking = shared.service.busy();
    if (!ticking) return;
    shared.service.step(Clock::now());
    for (PageSocket* socket : shared.sockets) socket->flush();
    clock.expires_after(kTick);
    clock.async_wait([this](BoostError stopped) {
      if (!stopped) tick();
    });
  }

  Shared shared;  ///< first: connections, which the context ends, use it
  net::io_context context{1};
  tcp::acceptor acceptor{context};
  net::steady_timer clock{context}, pause{context};
  bool ticking = false;
};

WebServer::WebServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
WebServer::~WebServer() = default;

Result<std::unique_ptr<WebServer>> WebServer::open(WebSettings settings, Served served) {
  const bool six = settings.listen.find(':') != std::string::npos;
  const std::string where = (six ? "[" + settings.listen + "]" : settings.listen) + ":" + std::to_string(settings.port);
  auto parts = std::make_unique<Parts>(std::move(settings), std::move(served));
  if (const std::string why = parts->listen(); !why.empty()) return Error{where + ": cannot listen: " + why};
  return std::unique_ptr<WebServer>(new WebServer(std::move(parts)));
}

int WebServer::port() const {
  BoostError ignored;
  return parts_->acceptor.local_endpoint(ignored).port();
}

void WebServer::run_for(std::chrono::milliseconds time) { parts_->context.run_for(time); }

Result<bool> is_every_address(const std::string& listen) {
  BoostError why;
  const auto address = net::ip::make_address(listen, why);
  if (why) return Error{"--listen " + listen + ": expected an IP address of this machine, such as 127.0.0.1"};
  return address.is_unspecified();
}

}  // namespace canopy::inspector
