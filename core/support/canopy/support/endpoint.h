#pragma once

#include <string>
#include <string_view>

/// Endpoints as ZeroMQ writes them: tcp://HOST:PORT and ipc://PATH. Only their text; sockets are elsewhere.
namespace canopy {

/// Why a text is no endpoint: "'tcp:/x' is no endpoint; expected tcp://HOST:PORT or ipc://PATH". Empty if it is one.
std::string flaw_of_endpoint(std::string_view text);

/// Whether a program that binds to it can be reached from other machines: its host is neither this machine's loopback
/// nor a path. REQUIRES: it is an endpoint.
bool is_open_to_other_machines(std::string_view endpoint);

}  // namespace canopy
