#pragma once

#include <string>
#include <string_view>

namespace canopy::kv_events {

/// Returns why a socket cannot be bound to an ipc:// endpoint: its path is a file of another kind, or another process
/// listens there. Empty if it can, and for other endpoints. libzmq would remove a file at the path.
std::string flaw_of_ipc_path(std::string_view endpoint);

/// Removes the path of an ipc:// endpoint at which nothing listens any longer; libzmq leaves it.
void remove_ipc_path(std::string_view endpoint);

}  // namespace canopy::kv_events
