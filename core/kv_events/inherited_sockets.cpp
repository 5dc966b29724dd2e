#include "inherited_sockets.h"

#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

namespace canopy::kv_events {
namespace {

/// Returns true if a descriptor is a socket whose own address is that of the endpoint, on whichever interface.
bool is_bound_to(int descriptor, std::string_view endpoint) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) != 0) return false;
  if (own.ss_family == AF_UNIX) {
    sockaddr_un path{};
    std::memcpy(&path, &own, sizeof path);
    constexpr std::string_view kIpc = "ipc://";
    return endpoint.starts_with(kIpc) && path.sun_path[0] != '\0' &&
           endpoint.substr(kIpc.size()) ==
               std::string_view(path.sun_path, ::strnlen(path.sun_path, sizeof path.sun_path));
  }
  if (own.ss_family != AF_INET && own.ss_family != AF_INET6) return false;
  sockaddr_in address{};  // the port is where it is in sockaddr_in6
  std::memcpy(&address, &own, sizeof address);
  const std::string_view port = endpoint.substr(endpoint.rfind(':') + 1);
  unsigned number = 0;
  return endpoint.starts_with("tcp://") &&
         std::from_chars(port.data(), port.data() + port.size(), number).ec == std::errc() &&
         number == ntohs(address.sin_port);
}

}  // namespace

void close_inherited_sockets(std::string_view endpoint) noexcept {
  DIR* const all = ::opendir("/proc/self/fd");
  if (!all) return;
  while (const dirent* const entry = ::readdir(all)) {
    int descriptor = -1;
    const std::string_view name = entry->d_name;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    if (descriptor >= 0 && descriptor != ::dirfd(all) && is_bound_to(descriptor, endpoint)) ::close(descriptor);
  }
  ::closedir(all);
}

}  // namespace canopy::kv_events
