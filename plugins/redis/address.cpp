#include "address.h"

#include <canopy/base/printable.h>
#include <sys/un.h>

#include <charconv>

namespace canopy::redis {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::string Address::text() const {
  if (host.empty()) return path;
  const bool colons = host.find(':') != std::string::npos;
  return (colons ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool read_host_and_port(std::string_view text, Address& address) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const auto read = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (read.ec != std::errc() || read.ptr != port.data() + port.size() || address.port == 0) return false;
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.size() > 255 || host.find_first_of(" /[]") != std::string_view::npos) return false;
  address.host = host, address.path.clear();
  return true;
}

Result<std::vector<Address>> read_addresses(std::string_view text) {
  constexpr const char* kExpected =
      "expected HOST:PORT, several of them separated by commas, or the path of a unix socket";
  std::vector<Address> addresses;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    const std::string_view one = trimmed(text.substr(0, comma));
    if (more) text.remove_prefix(comma + 1);
    Address address;
    if (!one.empty() && one.front() == '/') {
      address.path = one;
      if (one.size() >= sizeof(sockaddr_un::sun_path))
        return Error{"`at`: " + in_quotes(one) + " is too long for the path of a socket; the system allows " +
                     std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes"};
    } else if (!read_host_and_port(one, address) || address.host.empty()) {
      return Error{"`at`: " + in_quotes(one) + " is not the address of a server; " + kExpected};
    }
    addresses.push_back(std::move(address));
  }
  return addresses;
}

}  // namespace canopy::redis
