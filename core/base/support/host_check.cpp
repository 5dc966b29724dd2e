#include <arpa/inet.h>
#include <canopy/base/host_check.h>
#include <canopy/base/printable.h>

#include <algorithm>
#include <cctype>
#include <optional>

namespace canopy {
namespace {

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char c) { return static_cast<char>(c < 128 ? std::tolower(c) : c); });
  return small;
}

/// Returns the name or address of "NAME:PORT", in small letters and without brackets; nothing if the text is neither.
std::optional<std::string> name_of(std::string_view host) {
  std::string_view name = host, port;
  if (host.starts_with('[')) {
    const std::size_t close = host.find(']');
    if (close == std::string_view::npos) return {};
    name = host.substr(1, close - 1), port = host.substr(close + 1);
  } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    name = host.substr(0, colon), port = host.substr(colon);
  }
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (!port.empty() && (port[0] != ':' || port.size() > 6 || !std::ranges::all_of(port.substr(1), is_digit))) return {};
  if (name.empty()) return {};
  return lower(name);
}

/// Returns the address in its usual spelling; other texts unchanged.
std::string usual(std::string_view address) {
  const std::string text = lower(address);
  unsigned char bytes[16];
  char spelled[INET6_ADDRSTRLEN];
  for (const int family : {AF_INET, AF_INET6})
    if (::inet_pton(family, text.c_str(), bytes) == 1 && ::inet_ntop(family, bytes, spelled, sizeof(spelled)))
      return spelled;
  return text;
}

}  // namespace

HostCheck::HostCheck(std::string_view listen, std::vector<std::string> names)
    : listen_(usual(listen)), wildcard_(listen_ == "0.0.0.0" || listen_ == "::"), names_(std::move(names)) {
  for (std::string& name : names_) name = lower(name);
}

bool HostCheck::allows(std::string_view host, std::string_view local) const {
  const auto found = name_of(host);
  if (!found) return false;
  const std::string name = usual(*found);
  if (name == "localhost" || name == "127.0.0.1" || name == "::1") return true;
  if (name == listen_ || (wildcard_ && name == usual(local))) return true;
  return std::ranges::find(names_, name) != names_.end();
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (lower(origin.substr(0, scheme.size())) == scheme) return lower(origin.substr(scheme.size())) == lower(host);
  return false;
}

std::string flaw_of_host(std::string_view name) {
  const auto may_stand = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '.' || c == '_'; };
  if (!name.empty() && std::ranges::all_of(name, may_stand)) return {};
  return " is " + in_quotes(name) + "; expected a host name without a port, such as canopy.example.org";
}

}  // namespace canopy
