/// The only file that includes Boost.Beast, whose templates take seconds to compile. Connections and websockets own
/// themselves: each pending operation holds one, so that it ends with its last operation.
#include "server.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <functional>
#include <limits>
#include <list>
#include <set>
#include <utility>

namespace canopy::http {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using beast::tcp_stream;
using beast::http::field;
using beast::http::status;
using net::ip::tcp;
using BoostError = boost::system::error_code;
using namespace std::chrono_literals;

using Head = beast::http::request<beast::http::empty_body>;
using Response = beast::http::response<beast::http::span_body<const unsigned char>>;

constexpr auto kStep = 10ms;              // between two calls of Handler::step
constexpr std::size_t kMostRefused = 32;  // connections beyond the limit that get an answer; others are closed at once
constexpr std::size_t kFilePart = std::size_t{64} << 10;  // bytes of a file in memory
constexpr auto kFilePartTime = 60s;                       // for a client to take them

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

class PageSocket;
class Connection;

/// State that the connections share.
struct Shared {
  Settings settings;
  Handler& handler;
  std::size_t connections = 0;
  std::set<PageSocket*> sockets{};
  std::list<Connection*> waiting{};  ///< connections that make room, from the one that has waited longest
  std::function<void()> wake{};      ///< starts the clock of Handler::step
};

/// A place among things that are counted: adds one to the count for its lifetime.
class Place {
 public:
  explicit Place(std::size_t& count) : count_(&count) { ++count; }
  Place(Place&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  ~Place() {
    if (count_) --*count_;
  }

 private:
  std::size_t* count_;
};

/// A client's websocket.
class PageSocket : public std::enable_shared_from_this<PageSocket> {
 public:
  PageSocket(tcp_stream stream, Shared& shared, Place place)
      : shared_(shared), place_(std::move(place)), socket_(std::move(stream)) {}
  ~PageSocket() { shared_.sockets.erase(this); }

  void accept(const Head& request) {
    beast::get_lowest_layer(socket_).expires_never();
    socket_.set_option(
        websocket::stream_base::timeout{shared_.settings.request, shared_.settings.idle, /*keep_alive_pings=*/true});
    socket_.read_message_max(Server::kMostMessage);
    socket_.auto_fragment(false);
    socket_.async_accept(request, [self = shared_from_this()](BoostError why) {
      if (why) return;
      self->session_ = self->shared_.handler.begin_session(Clock::now());
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
    const std::optional<Message> message = session_->next();
    if (!message) return;
    socket_.text(message->text);
    socket_.async_write(net::buffer(message->data, message->bytes),
                        [self = shared_from_this()](BoostError why, std::size_t) {
                          self->session_->sent();
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
      // While it is being closed, the time limit for a silent client counts, even if the client goes on sending.
      if (!self->closing_) self->read();
    });
  }

  void take() {
    const auto bytes = in_.cdata();
    const auto* data = static_cast<const char*>(bytes.data());
    if (socket_.got_text()) session_->take_text({data, bytes.size()}, Clock::now());
    else session_->take_bytes(std::as_bytes(std::span(data, bytes.size())));
  }

  /// Ends the session at once, although a write may be pending: the client is no longer there.
  void end() {
    closing_ = true;
    shared_.sockets.erase(this);
    BoostError ignored;
    beast::get_lowest_layer(socket_).socket().close(ignored);
  }

  Shared& shared_;
  Place place_;
  websocket::stream<tcp_stream, false> socket_;
  beast::flat_buffer in_;
  std::unique_ptr<Session> session_;
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
    parser_->header_limit(Server::kMostHead);
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());  // no body is read
    stream_.expires_after(shared_.settings.request);
    beast::http::async_read_header(stream_, in_, *parser_, [self = shared_from_this()](BoostError why, std::size_t) {
      if (!self->shared_.settings.one_request) self->shared_.waiting.remove(self.get());
      if (!why) return self->answer();
      self->keep_ = false;
      using Wrong = beast::http::error;
      if (why == Wrong::header_limit)
        self->say(status::request_header_fields_too_large, "The headers have more than 8192 bytes.\n");
      else if (why.category() == beast::http::make_error_code(Wrong::bad_method).category() &&
               why != Wrong::end_of_stream && why != Wrong::partial_message)
        self->say(status::bad_request, "This is not a request of HTTP/1.1.\n");
    });
  }

 private:
  const Head& head() const { return parser_->get(); }

  std::string_view value(field name) const { return view(head()[name]); }

  std::string local_address() {
    BoostError why;
    auto address = stream_.socket().local_endpoint(why).address();
    if (address.is_v6() && address.to_v6().is_v4_mapped())
      address = net::ip::make_address_v4(net::ip::v4_mapped, address.to_v6());
    return why ? std::string() : address.to_string();
  }

  Request request() {
    Request request{.method = view(head().method_string()),
                    .target = view(head().target()),
                    .host = value(field::host),
                    .accept_encoding = value(field::accept_encoding),
                    .authorization = value(field::authorization),
                    .hosts = head().count(field::host),
                    .http_1_0 = head().version() == 10,
                    .upgrade = websocket::is_upgrade(head()),
                    .local = local_address()};
    const auto [first, last] = head().equal_range(field::origin);
    for (auto each = first; each != last; ++each) request.origins.push_back(view(each->value()));
    return request;
  }

  void answer() {
    const Settings& settings = shared_.settings;
    // With one request each, a connection that makes room may not have ended yet.
    const bool refused = !settings.one_request && shared_.connections > settings.connections;
    // Without its body, the next request could not be found.
    keep_ = head().keep_alive() && parser_->is_done() && !refused && !settings.one_request;
    if (refused) return say(status::service_unavailable, "The server has as many connections as it may have.\n");
    Answer answer = shared_.handler.answer(request());
    if (answer.status == static_cast<unsigned>(status::switching_protocols)) return upgrade();
    send(std::move(answer));
  }

  void upgrade() {
    keep_ = false;
    if (in_.size() != 0 || !parser_->is_done())
      return say(status::bad_request, "Nothing may follow a handshake before its answer.\n");
    const auto page = std::make_shared<PageSocket>(std::move(stream_), shared_, std::move(place_));
    page->accept(parser_->release());
  }

  void say(status code, const char* sentence) { send({.status = static_cast<unsigned>(code), .text = sentence}); }

  /// Sends an answer, then reads the next request. The answer to HEAD has no body.
  void send(Answer answer) {
    struct Held {
      explicit Held(Answer given) : answer(std::move(given)) {}
      Answer answer;
      Response response;
      beast::http::response_serializer<Response::body_type> serializer{response};
    };
    const auto held = std::make_shared<Held>(std::move(answer));
    const Answer& of = held->answer;
    Response& response = held->response;
    const auto code = beast::http::int_to_status(of.status);
    const bool is_file = static_cast<bool>(of.file);
    response.result(code);
    response.set(field::content_type, {of.type.data(), of.type.size()});
    if (of.gzip) response.set(field::content_encoding, "gzip");
    if (code == status::method_not_allowed) response.set(field::allow, "GET, HEAD");
    if (code == status::unauthorized) response.set(field::www_authenticate, "Bearer");
    if (code == status::upgrade_required) response.set(field::upgrade, "websocket");
    if (of.text.empty()) response.body() = {of.bytes.data(), of.bytes.size()};
    else response.body() = {reinterpret_cast<const unsigned char*>(of.text.data()), of.text.size()};
    response.content_length(is_file ? of.file_bytes : response.body().size());
    for (const auto& [name, text] : shared_.settings.headers) response.set(name, text);
    response.keep_alive(keep_);
    stream_.expires_after(shared_.settings.idle);
    const bool head_only = parser_->is_header_done() && head().method() == beast::http::verb::head;
    auto then = [self = shared_from_this(), held, is_file, head_only](BoostError why, std::size_t) {
      if (why) return;
      if (is_file && !head_only) self->send_part(std::move(held->answer.file), held->answer.file_bytes);
      else self->next();
    };
    if (is_file || head_only) beast::http::async_write_header(stream_, held->serializer, std::move(then));
    else beast::http::async_write(stream_, held->serializer, std::move(then));
  }

  /// Sends the next part of a file. If the file has become shorter, the connection ends early, which the client notices
  /// by Content-Length.
  void send_part(UniqueFd file, std::uint64_t left) {
    if (left == 0) return next();
    part_.resize(kFilePart);
    const ssize_t got = ::read(file.get(), part_.data(), std::min<std::uint64_t>(kFilePart, left));
    if (got <= 0) return;
    left -= static_cast<std::uint64_t>(got);
    stream_.expires_after(kFilePartTime);
    net::async_write(stream_, net::buffer(part_.data(), static_cast<std::size_t>(got)),
                     [self = shared_from_this(), rest = std::move(file), left](BoostError why, std::size_t) mutable {
                       if (!why) self->send_part(std::move(rest), left);
                     });
  }

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

  Shared& shared_;
  Place place_;
  tcp_stream stream_;
  bool keep_ = false;  ///< true if another request may follow
  beast::flat_buffer in_;
  std::optional<beast::http::request_parser<beast::http::empty_body>> parser_;
  std::vector<char> part_;
};

}  // namespace

struct Server::Parts {
  Parts(Settings settings, Handler& handler) : shared{std::move(settings), handler} {
    shared.wake = [this] {
      if (!stepping) step();
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
      const std::size_t most = shared.settings.connections;
      if (shared.connections < most + kMostRefused) {
        BoostError ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        // Clients that send half a request do not keep others out.
        if (shared.connections >= most && !shared.waiting.empty()) shared.waiting.front()->drop();
        std::make_shared<Connection>(std::move(socket), shared)->read();
      }
      accept();
    });
  }

  /// Lets the handler act and sends its messages, while there is a websocket.
  void step() {
    stepping = !shared.sockets.empty();
    if (!stepping) return;
    shared.handler.step(Clock::now());
    for (PageSocket* socket : shared.sockets) socket->flush();
    clock.expires_after(kStep);
    clock.async_wait([this](BoostError stopped) {
      if (!stopped) step();
    });
  }

  Shared shared;  ///< first: connections, which the context ends, use it
  net::io_context context{1};
  tcp::acceptor acceptor{context};
  net::steady_timer clock{context}, pause{context};
  bool stepping = false;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(Settings settings, Handler& handler) {
  const std::string where = place_of(settings.listen, settings.port);
  auto parts = std::make_unique<Parts>(std::move(settings), handler);
  if (const std::string why = parts->listen(); !why.empty()) return Error{where + ": cannot listen: " + why};
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

int Server::port() const {
  BoostError ignored;
  return parts_->acceptor.local_endpoint(ignored).port();
}

void Server::run_for(std::chrono::milliseconds time) { parts_->context.run_for(time); }
void Server::run() { parts_->context.run(); }
void Server::stop() { parts_->context.stop(); }

Result<bool> is_every_address(const std::string& listen) {
  BoostError why;
  const auto address = net::ip::make_address(listen, why);
  if (why) return Error{"--listen " + listen + ": expected an IP address of this machine, such as 127.0.0.1"};
  return address.is_unspecified();
}

std::string place_of(const std::string& address, int port) {
  const bool six = address.find(':') != std::string::npos;
  return (six ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace canopy::http
