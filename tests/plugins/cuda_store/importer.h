#pragma once

namespace cuda_store_test {

/// How the test program is told to be the other process, and on which socket.
inline constexpr const char* kImporter = "--importer";

/// Takes memory from the socket, maps it so that it can only be read, compares; once more when the owner has given it
/// back. 0: all was as told; else the number of the step that was not.
int import_and_compare(int socket);

}  // namespace cuda_store_test
