#include "connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace canopy::redis {

namespace {

constexpr std::uint64_t kAhead = 1 << 20;  // bytes in the outbox before the socket takes them
constexpr std::size_t kPieces = 64;        // in one writev
constexpr int kReads = 16;                 // reads of one connection before another one's turn

}  // namespace

bool Connection::open(const sockaddr_storage& address, socklen_t length, std::size_t number,
                      const Credentials& credentials, Micros now) {
  address_number_ = number;
  socket_ = OwnFd([&] { return UniqueFd(::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); });
  if (!socket_) return false;
  if (address.ss_family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 && errno != EINPROGRESS) {
    socket_ = {};  // keeps errno
    return false;
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT;
  event.data.ptr = this;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket_.get(), &event) != 0) {
    socket_ = {};  // keeps errno
    return false;
  }
  credentials_ = credentials;
  state_ = State::connecting;
  watches_writable_ = true, has_answered_ = false;
  silent_since_ = now;
  return true;
}

void Connection::watch(bool writable) {
  if (watches_writable_ == writable) return;
  watches_writable_ = writable;
  epoll_event event{};
  event.events = EPOLLIN | (writable ? std::uint32_t{EPOLLOUT} : 0u);
  event.data.ptr = this;
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, socket_.get(), &event);
}

void Connection::drop() {
  // Closing removes it from epoll only where no child of a vfork() has it as well.
  if (socket_) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, socket_.get(), nullptr);
  socket_ = {};
  outbox_.clear();
  std::destroy_at(&reader_);
  std::construct_at(&reader_, replies_);
  expected_ = 0;
  silent_since_ = kNever;
  trouble_.clear();
  state_ = State::closed;
}

void Connection::lose(const std::string& why, Blame blame) {
  const bool useless = blame == Blame::server && !has_answered_;
  const std::string kept = why;  // may be trouble_
  drop();
  user_.closed(*this, kept, useless);
}

std::deque<Command> Connection::take_sent() { return std::exchange(sent_, {}); }
std::deque<Command> Connection::take_waiting() { return std::exchange(waiting_, {}); }

void Connection::on_event(std::uint32_t events, Micros now) {
  if (state_ == State::closed) return;  // since epoll reported the event
  if (state_ == State::connecting) {
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return lose(std::strerror(error));
    if ((events & (EPOLLOUT | EPOLLIN)) == 0) return;
    state_ = credentials_.password.empty() ? State::ready : State::greeting;
    silent_since_ = kNever;
    if (state_ == State::greeting) {
      outbox_.array(credentials_.user.empty() ? 2 : 3);
      outbox_.word("AUTH");
      if (!credentials_.user.empty()) outbox_.word(credentials_.user);
      outbox_.word(credentials_.password);
      silent_since_ = now;
    }
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !receive(now)) return lose(trouble_);
  flush(now);
}

bool Connection::receive(Micros now) {
  for (int i = 0; i < kReads; ++i) {
    std::array<iovec, 2> room = reader_.room();
    const std::size_t size = room[0].iov_len + room[1].iov_len;
    const ssize_t got = ::readv(socket_.get(), room.data(), room[1].iov_len > 0 ? 2 : 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) {
      trouble_ = got == 0 ? "the server closed the connection" : std::strerror(errno);
      return false;
    }
    silent_since_ = now;
    if (!reader_.took(static_cast<std::size_t>(got)) && trouble_.empty()) trouble_ = "the reply is not RESP2";
    if (!trouble_.empty()) return false;
    if (sent_.empty() && state_ == State::ready) silent_since_ = kNever;
    if (static_cast<std::size_t>(got) < size) return true;
  }
  return true;
}

void Connection::flush(Micros now) {
  if (state_ != State::ready && state_ != State::greeting) return;
  for (;;) {
    const bool more = encode_some();
    if (outbox_.unsent() == 0) return watch(false);
    std::array<iovec, kPieces> pieces;
    const std::size_t count = outbox_.next(pieces);
    msghdr message{};
    message.msg_iov = pieces.data(), message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return watch(true);
    if (sent < 0) {
      // The server's last reply explains more than the error does.
      const std::string why = std::strerror(errno);
      return lose(receive(now) ? why : trouble_);
    }
    outbox_.sent(static_cast<std::size_t>(sent));
    // A slow server is not a silent one: it accepted more bytes after the socket was full. Accepting the first bytes
    // proves nothing.
    if (silent_since_ == kNever || watches_writable_) silent_since_ = now;
    if (outbox_.unsent() == 0 && !more) return watch(false);
  }
}

bool Connection::encode_some() {
  if (state_ != State::ready) return false;
  while (!waiting_.empty() && outbox_.unsent() < kAhead) {
    Command next = waiting_.front();
    const std::uint64_t answer = next.kind == Command::Kind::get ? record_bytes_ : 0;
    if (answer > 0 && expected_ > 0 && expected_ + answer > std::max(kWindow, 2 * record_bytes_)) return false;
    waiting_.pop_front();
    if (!user_.encode(next, outbox_)) continue;
    expected_ += answer;
    sent_.push_back(next);
  }
  return !waiting_.empty();
}

void Connection::forget(const Call* call) {
  std::erase_if(waiting_, [&](const Command& command) { return command.call == call; });
  if (reader_.in_value() && !sent_.empty() && sent_.front().call == call) reader_.drop_value();
  for (Command& command : sent_)
    if (command.call == call) command.call = nullptr;
  // Half of a record was sent, and the rest belongs to the caller again: nothing can follow on this connection.
  if (outbox_.lends_from(call)) lose("a record could not be sent in time", Blame::ours);
}

std::byte* Connection::Replies::place(std::uint64_t bytes) {
  if (connection.sent_.empty()) return nullptr;
  return connection.user_.place(connection.sent_.front(), bytes);
}

void Connection::Replies::element(const Element& element) {
  if (!connection.trouble_.empty()) return;  // the rest has no meaning
  if (connection.state_ == State::greeting) return connection.greet(element);
  if (connection.sent_.empty()) {
    connection.trouble_ = "the server sent a reply that belongs to no command";
    if (element.kind == Element::Kind::error)
      connection.trouble_ = element.text;  // "ERR max number of clients reached"
    return;
  }
  Command command = connection.sent_.front();
  if (element.kind == Element::Kind::array && command.kind != Command::Kind::slots) {
    connection.trouble_ = "the server sent a list where none is expected";
    return;
  }
  connection.has_answered_ = true;
  if (element.last) {
    connection.sent_.pop_front();
    if (command.kind == Command::Kind::get) connection.expected_ -= connection.record_bytes_;
  }
  connection.user_.answer(connection, command, element);
}

void Connection::greet(const Element& element) {
  if (element.kind != Element::Kind::status) {
    trouble_ = element.kind == Element::Kind::error ? std::string(element.text) : "the reply to AUTH is not a status";
    return;
  }
  state_ = State::ready;
  silent_since_ = kNever;
}

}  // namespace canopy::redis
