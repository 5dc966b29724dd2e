#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "address.h"

namespace canopy::redis {

/// Resolves a server's address. The C library looks up host names in its own thread (getaddrinfo_a), because that may
/// take seconds.
class Lookup {
 public:
  enum class State { none, pending, known, failed };
  Lookup();
  ~Lookup();
  Lookup(const Lookup&) = delete;

  void begin(const Address& of);
  /// Returns the state of the lookup. Never waits.
  State state();
  const std::string& why() const { return why_; }
  /// Returns the current one of the host's addresses. REQUIRES: state() is known.
  const sockaddr_storage& address() const { return known_[number_].address; }
  socklen_t length() const { return known_[number_].length; }
  /// Returns the number of address().
  std::size_t number() const { return number_; }
  /// Skips the address of this number because it failed. Returns false if there is no other address.
  bool leave(std::size_t number);

 private:
  struct Request;  // the C library writes to it until it has ended
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
