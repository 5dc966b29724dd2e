#include "lookup.h"

#include <sys/un.h>

#include <csignal>
#include <cstring>

namespace canopy::redis {

struct Lookup::Request {
  std::string host, port;
  addrinfo hints{};
  gaicb what{};
};

Lookup::Lookup() = default;

Lookup::~Lookup() {
  // A request that cannot be cancelled is left to the C library.
  if (state_ == State::pending && ::gai_cancel(&request_->what) == EAI_NOTCANCELED)
    static_cast<void>(request_.release());
}

bool Lookup::set(const addrinfo* found) {
  for (; found != nullptr; found = found->ai_next) {
    if (found->ai_addrlen > sizeof(sockaddr_storage)) continue;
    std::memcpy(&known_.emplace_back().address, found->ai_addr, found->ai_addrlen);
    known_.back().length = found->ai_addrlen;
  }
  return !known_.empty();
}

bool Lookup::leave(std::size_t number) {
  if (state_ != State::known || number < number_) return state_ == State::known;  // it was skipped already
  if (number_ + 1 >= known_.size()) return false;
  ++number_;
  return true;
}

void Lookup::begin(const Address& of) {
  if (state() == State::pending) return;
  known_.clear(), number_ = 0;
  if (of.host.empty()) {
    sockaddr_un unix_socket{};
    unix_socket.sun_family = AF_UNIX;
    std::memcpy(unix_socket.sun_path, of.path.c_str(), of.path.size() + 1);
    std::memcpy(&known_.emplace_back().address, &unix_socket, sizeof unix_socket);
    known_.back().length = sizeof unix_socket;
    state_ = State::known;
    return;
  }
  request_ = std::make_unique<Request>();
  request_->host = of.host, request_->port = std::to_string(of.port);
  request_->hints.ai_socktype = SOCK_STREAM;
  request_->hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(of.host.c_str(), request_->port.c_str(), &request_->hints, &found) == 0) {
    state_ = set(found) ? State::known : State::failed;
    ::freeaddrinfo(found);
    return;
  }
  request_->hints.ai_flags = AI_NUMERICSERV;
  request_->what.ar_name = request_->host.c_str(), request_->what.ar_service = request_->port.c_str();
  request_->what.ar_request = &request_->hints;
  sigevent silent{};
  silent.sigev_notify = SIGEV_NONE;
  gaicb* list[] = {&request_->what};
  const int error = ::getaddrinfo_a(GAI_NOWAIT, list, 1, &silent);
  if (error != 0) why_ = ::gai_strerror(error);
  state_ = error == 0 ? State::pending : State::failed;
}

Lookup::State Lookup::state() {
  if (state_ != State::pending) return state_;
  const int error = ::gai_error(&request_->what);
  if (error == EAI_INPROGRESS) return state_;
  if (error != 0) why_ = "the host has no known address: " + std::string(::gai_strerror(error));
  state_ = error == 0 && set(request_->what.ar_result) ? State::known : State::failed;
  if (request_->what.ar_result != nullptr) ::freeaddrinfo(request_->what.ar_result);
  return state_;
}

}  // namespace canopy::redis
