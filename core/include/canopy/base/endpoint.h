#pragma once

#include <string>
#include <string_view>

/// Endpoints in the notation of ZeroMQ: tcp://HOST:PORT and ipc://PATH. Only their text; sockets are elsewhere.
namespace canopy {

/// Returns an error message, "'tcp:/x' is no endpoint; expected tcp://HOST:PORT or ipc://PATH". Empty if `text` is a
/// valid endpoint.
std::string flaw_of_endpoint(std::string_view text);

/// Returns true if other machines can reach a program that binds to the endpoint: its host is neither this machine's
/// loopback nor a path. REQUIRES: it is a valid endpoint.
bool is_open_to_other_machines(std::string_view endpoint);

}  // namespace canopy
