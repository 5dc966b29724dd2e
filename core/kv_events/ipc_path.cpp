#include "ipc_path.h"

#include <canopy/base/file.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace canopy::kv_events {
namespace {

bool something_listens(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return client && ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// Returns the path of an ipc:// endpoint. Empty: the endpoint has no path.
std::string path_of(std::string_view endpoint) {
  constexpr std::string_view kIpc = "ipc://";
  if (!endpoint.starts_with(kIpc)) return {};
  const std::string_view path = endpoint.substr(kIpc.size());
  return path.starts_with('@') || path == "*" ? std::string() : std::string(path);
}

}  // namespace

std::string flaw_of_ipc_path(std::string_view endpoint) {
  const std::string path = path_of(endpoint);
  struct stat facts{};
  if (path.empty() || ::lstat(path.c_str(), &facts) != 0) return {};
  if (!S_ISSOCK(facts.st_mode))
    return fmt::format("{} is {}; expected a path that does not exist", in_quotes(path),
                       S_ISREG(facts.st_mode) ? "a file" : kind_of(facts.st_mode));
  if (something_listens(path)) return fmt::format("another process listens at {}", in_quotes(path));
  return {};
}

void remove_ipc_path(std::string_view endpoint) {
  const std::string path = path_of(endpoint);
  struct stat facts{};
  if (!path.empty() && ::lstat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode) && !something_listens(path))
    ::unlink(path.c_str());
}

}  // namespace canopy::kv_events
