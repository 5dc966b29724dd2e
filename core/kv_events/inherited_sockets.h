#pragma once

#include <string_view>

namespace canopy::kv_events {

/// Closes, in a forked child, the parent's sockets that are bound to an endpoint, tcp://HOST:PORT or ipc://PATH, and
/// their connections. ZeroMQ shows no descriptors of them. Otherwise the endpoint would stay taken as long as the child
/// lives, and subscribers would see no end of the parent.
void close_inherited_sockets(std::string_view endpoint) noexcept;

}  // namespace canopy::kv_events
