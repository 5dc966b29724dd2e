#include <canopy/base/endpoint.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <charconv>

namespace canopy {
namespace {

constexpr std::string_view kTcp = "tcp://", kIpc = "ipc://";
constexpr std::size_t kMostPath = 107;  // bytes of the path of a Unix socket in Linux

std::string_view host_of(std::string_view endpoint) {
  const std::string_view address = endpoint.substr(kTcp.size());
  return address.substr(0, address.rfind(':'));
}

/// Returns true if the text is a port, or `*` for any free port.
bool is_port(std::string_view text) {
  if (text == "*") return true;
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port <= 65535;
}

}  // namespace

std::string flaw_of_endpoint(std::string_view text) {
  const auto flaw = [&](std::string_view expected) {
    return fmt::format("{} is not an endpoint; expected {}", in_quotes(text), expected);
  };
  if (text.starts_with(kTcp)) {
    const std::size_t colon = text.rfind(':');
    if (colon < kTcp.size() || !is_port(text.substr(colon + 1))) return flaw("tcp://HOST:PORT, a port from 0 to 65535");
    const std::string_view host = host_of(text);
    if (host.empty() || host.find_first_of(" /\t\n") != std::string_view::npos) return flaw("tcp://HOST:PORT");
    return {};
  }
  if (text.starts_with(kIpc)) {
    const std::string_view path = text.substr(kIpc.size());
    if (path.empty() || path.size() > kMostPath || path.find('\0') != std::string_view::npos)
      return flaw(fmt::format("ipc://PATH, a path of 1 to {} bytes", kMostPath));
    return {};
  }
  return flaw("tcp://HOST:PORT or ipc://PATH");
}

bool is_open_to_other_machines(std::string_view endpoint) {
  if (!endpoint.starts_with(kTcp)) return false;
  const std::string_view host = host_of(endpoint);
  return !host.starts_with("127.") && host != "localhost" && host != "[::1]" && host != "lo";
}

}  // namespace canopy
