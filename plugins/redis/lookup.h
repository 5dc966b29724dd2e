#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "address.h"

namespace canopy::redis {

/// The address of a server as the system wants it. A host's name is looked up by the C library in a thread of its own
/// (getaddrinfo_a), since that may take seconds.
class Lookup {
 public:
  enum class State { none, asked, known, failed };
  Lookup();
  ~Lookup();
  Lookup(const Lookup&) = delete;

  void begin(const Address& of);
  /// Has the answer come? Never waits.
  State state();
  const std::string& why() const { return why_; }
  const sockaddr_storage& address() const { return address_; }
  socklen_t length() const { return length_; }

 private:
  struct Request;  // the C library writes into it until it has ended
  bool set(const addrinfo* found);

  State state_ = State::none;
  sockaddr_storage address_{};
  socklen_t length_ = 0;
  std::string why_;
  std::unique_ptr<Request> request_;
};

}  // namespace canopy::redis
