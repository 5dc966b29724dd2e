#pragma once

#include <canopy/base/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::redis {

/// Address of a server: a host and a port, or the path of a unix socket.
struct Address {
  std::string host;  ///< empty: `path` is used
  std::uint16_t port = 0;
  std::string path;

  std::string text() const;  ///< "cache-1:7001", "[::1]:7001", "/run/redis.sock"
  friend bool operator==(const Address&, const Address&) = default;
};

/// Parses "cache-1:7001, 10.0.0.2:7001" or "/run/redis.sock". Servers are separated by commas.
Result<std::vector<Address>> read_addresses(std::string_view text);
/// Parses one "HOST:PORT", "[HOST]:PORT", or "HOST:PORT" with colons in the host, as Redis writes IPv6 addresses.
/// Returns false if it is not an address. The host may be empty.
bool read_host_and_port(std::string_view text, Address& address);

}  // namespace canopy::redis
