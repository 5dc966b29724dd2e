#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

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
  /// A host may have several addresses. REQUIRES: state() is known.
  const sockaddr_storage& address() const { return known_[number_].address; }
  socklen_t length() const { return known_[number_].length; }
  /// Which of them address() is.
  std::size_t number() const { return number_; }
  /// The one of this number was of no use. False: there is no other left.
  bool leave(std::size_t number);

 private:
  struct Request;  // the C library writes into it until it has ended
  struct Known {
    sockaddr_storage address{};
    socklen_t length = 0;
  };
  bool set(const addrinfo* found);

  State state_ = State::none;
  std::vector<Known> known_;
  std::size_t number_ = 0;
  std::string why_;
  std::unique_ptr<Request> request_;
};

}  // namespace canopy::redis
