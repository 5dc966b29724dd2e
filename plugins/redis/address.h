#pragma once

#include <canopy/support/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::redis {

/// Where a server listens: a host and a port, or the path of a unix socket.
struct Address {
  std::string host;  ///< empty: `path` is it
  std::uint16_t port = 0;
  std::string path;

  std::string text() const;  ///< "cache-1:7001", "[::1]:7001", "/run/redis.sock"
  friend bool operator==(const Address&, const Address&) = default;
};

/// "cache-1:7001, 10.0.0.2:7001" or "/run/redis.sock". Servers are separated by commas.
Result<std::vector<Address>> read_addresses(std::string_view text);
/// One "HOST:PORT", "[HOST]:PORT" or "HOST:PORT" whose host has colons, as Redis writes IPv6 ones. False: it is none.
/// An empty host is possible.
bool read_host_and_port(std::string_view text, Address& address);

}  // namespace canopy::redis
