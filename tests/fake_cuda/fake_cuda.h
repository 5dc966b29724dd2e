#pragma once

#include <cstddef>
#include <cstdint>

#include "twins.h"

/// The calls by which a test steers and reads the fake CUDA driver. The library exports the symbols of CUDA's driver
/// with their signatures and no GPU behind them: one device whose memory is host memory, so that code for the driver
/// runs, and fails, anywhere. A program that links the library and also opens it by path has only one fake.
///
/// - Device addresses are addresses of this process. Fresh device memory is 0xFF, up to the first 32 MiB of a piece.
/// - Work is queued and runs only when a caller waits for it: as late as a GPU could. Host buffers are read and
///   written then. Streams that no event joins never run for each other's sake. fake_cuda_eager turns it round.
/// - Work on memory that is unmapped, freed, read-only or not registered any more by the time it runs gives
///   CUDA_ERROR_ILLEGAL_ADDRESS, and so does every later call that needs a context, until fake_cuda_reset.
/// - Unmapping and freeing wait for nothing. Freed memory keeps its addresses for a while, without access.
/// - Stricter than the header: the virtual memory calls want a current context too, access is set for whole
///   mappings, a mapping is undone by exactly one call, and a copy onto itself that overlaps writes 0xFF.
/// - What is alive when the last owner of the context leaves is counted as alive for ever: a leak.
/// - Not there: more than one device, arrays, per-thread default streams. The legacy stream (nullptr) waits for all
///   blocking streams when it is given work, and they for it.
///
/// Read from the environment when the fake is used first, and by every reset:
///   FAKE_CUDA_MEMORY=bytes  FAKE_CUDA_DEVICES=0|1  FAKE_CUDA_ATTRIBUTES=number:value,...
///   FAKE_CUDA_FAIL=cuMemMap:3,cuMemCreate:2:999   the third call, the second with that result; without: out of memory
///   FAKE_CUDA_EAGER=1

struct FakeCudaLive {
  std::size_t reservations, handles, mappings, allocations, host_allocations, host_registrations;
  std::size_t streams, events, modules, graphs, graph_execs;
  std::size_t context_owners;     ///< retained and not released
  std::uint64_t bytes;            ///< device memory that is taken, mapped or not
  std::size_t queued;             ///< pieces of work that have not run
  std::uint64_t pageable_copies;  ///< calls to copy host memory that is neither allocated nor registered
  std::uint64_t launches;         ///< kernels that have run
};

extern "C" {

/// All as at the start, twins apart. What is still alive is forgotten, its addresses given back. REQUIRES: no other
/// thread has a context current.
void fake_cuda_reset();

void fake_cuda_memory(std::uint64_t bytes);          ///< all memory; 4 GiB at the start
void fake_cuda_devices(int count);                   ///< 0 or 1; cuInit answers NO_DEVICE without one
void fake_cuda_attribute(int attribute, int value);  ///< sets the result of cuDeviceGetAttribute; 102 to 0: no VMM
void fake_cuda_not_ready(int answers);  ///< sets how often cuEventQuery is not ready after a record; 2 at the start,
                                        ///< -1: the GPU hangs until a caller synchronizes
void fake_cuda_eager(int on);           ///< work runs in the call that queues it
void fake_cuda_add_twin(const canopy::fake_cuda::Twin*);  ///< kept by pointer, over resets; its name must be new

/// The nth call of `function` from now on (1: the next one), and times - 1 after it, answers `result` and does nothing
/// else; times 0: all that follow. A result after which a real context is gone makes this one gone.
void fake_cuda_fail(const char* function, std::uint64_t nth, int result, std::uint64_t times);

std::uint64_t fake_cuda_calls(const char* function);  ///< refused ones too
void fake_cuda_live(FakeCudaLive* out);

/// The names of all calls since the last reset, in order, into at most `capacity` places; how many there were. The
/// names stay valid. At most a million are kept.
std::size_t fake_cuda_log(const char** names, std::size_t capacity);
}
