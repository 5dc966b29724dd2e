#pragma once

#include <string>
#include <string_view>

namespace canopy::sockets {

/// Why nothing may listen at an ipc:// endpoint: its path is a file of another kind, or another process listens there.
/// Empty if it may, and for other endpoints. libzmq itself would remove what it finds at the path.
std::string flaw_of_ipc_path(std::string_view endpoint);

}  // namespace canopy::sockets
