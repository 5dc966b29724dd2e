#pragma once

#include <string>
#include <string_view>

/// Endpoints in the notation of ZeroMQ, tcp://HOST:PORT and ipc://PATH, as text. Sockets are elsewhere.
namespace canopy {

/// Returns an error message, "'tcp:/x' is not an endpoint; expected tcp://HOST:PORT or ipc://PATH". Empty if `text` is
/// a valid endpoint.
std::string flaw_of_endpoint(std::string_view text);

/// Returns true if other machines can reach a program that binds to the endpoint: it is neither a path nor an address
/// of this machine's loopback. REQUIRES: the endpoint is valid.
bool is_open_to_other_machines(std::string_view endpoint);

}  // namespace canopy
