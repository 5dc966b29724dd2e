#pragma once

namespace cuda_store_test {

/// Argument that makes the test program the other process; the number of its socket follows.
inline constexpr const char* kImporter = "--importer";

/// Receives memory from the socket, maps it read-only and compares it; again after the owner has freed it. Returns 0 if
/// all was as the owner described it; else the number of the first step that was not.
int import_and_compare(int socket);

}  // namespace cuda_store_test
