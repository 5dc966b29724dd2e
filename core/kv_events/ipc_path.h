#pragma once

#include <string>
#include <string_view>

namespace canopy::kv_events {

/// Returns an error message if a socket cannot be bound to an ipc:// endpoint: the path is a file of another kind, or
/// another process listens there. Empty otherwise, and for other endpoints. libzmq would remove a file at the path.
std::string flaw_of_ipc_path(std::string_view endpoint);

/// Removes the path of an ipc:// endpoint if nothing listens there any longer; libzmq does not remove it.
void remove_ipc_path(std::string_view endpoint);

}  // namespace canopy::kv_events
