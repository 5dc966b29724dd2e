#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace canopy {

/// Returns the minor version of an interface: 1 for "canopy.PrefixIndex/12.1"; nothing if the text has another form.
inline std::optional<std::uint32_t> minor_version(std::string_view interface) {
  const std::size_t slash = interface.find('/'), dot = interface.rfind('.');
  if (slash == interface.npos || dot == interface.npos || dot < slash + 2) return std::nullopt;
  std::uint32_t minor = 0;
  const char* const end = interface.data() + interface.size();
  const auto read = std::from_chars(interface.data() + dot + 1, end, minor);
  return read.ec == std::errc() && read.ptr == end ? std::optional(minor) : std::nullopt;
}

/// Returns true if a host with the interface `host` can use a component with the interface `component`: the names and
/// major versions are equal, and the component's minor version is not newer.
inline bool accepts(std::string_view host, std::string_view component) {
  const auto ours = minor_version(host), theirs = minor_version(component);
  return ours && theirs && *theirs <= *ours &&
         host.substr(0, host.rfind('.')) == component.substr(0, component.rfind('.'));
}

}  // namespace canopy
