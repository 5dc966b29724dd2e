#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <cuda/driver_abi.h>
#include "fake_cuda.h"

/// The inside of the fake, under one mutex. control.cpp: which calls are allowed, and faults. memory.cpp, virtual.cpp:
/// memory. streams.cpp, copies.cpp, launch.cpp: work. capture.cpp: graphs.
namespace canopy::cuda {

// The definitions cannot differ from the plugin's declarations.
#define CANOPY_X(name, symbol, ...) extern "C" __attribute__((visibility("default"))) Result symbol(__VA_ARGS__);
CANOPY_CUDA_REQUIRED(CANOPY_X)
CANOPY_CUDA_OPTIONAL(CANOPY_X)
#undef CANOPY_X

}  // namespace canopy::cuda

namespace canopy::fake_cuda {

using namespace canopy::cuda;

inline constexpr std::size_t kGranularity = 2U << 20;
inline constexpr std::size_t kPoisoned = 32U << 20;
inline constexpr int kPoison = 0xFF;

/// Physical memory; alive while a handle or a mapping has it.
struct Memory {
  Memory(int fd_, std::size_t bytes_, bool exportable_) : fd(fd_), bytes(bytes_), exportable(exportable_) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  int fd;
  std::size_t bytes;
  bool exportable;
  std::uint64_t inode = 0, taken = 0;  ///< taken: counted against the device's memory; 0 when another process's
};

struct Mapping {
  std::size_t bytes = 0;
  std::shared_ptr<Memory> memory;
  MemAccess access = MemAccess::none;
};

/// Pinned host memory. The number says whether it is still the same when work comes to it.
struct HostRange {
  std::size_t bytes = 0;
  std::uint64_t number = 0;
  bool ours = false;  ///< true if cuMemHostAlloc made it
};

using Work = std::function<Result()>;

struct Event;
struct Queue;

struct Op {
  Work work;                     ///< empty: wait
  std::shared_ptr<bool> record;  ///< that a wait waits for
  std::shared_ptr<Queue> recorder;
};

struct Graph {
  std::vector<Work> work;
};

struct Capture {
  Graph graph;
  StreamHandle origin = nullptr;
  CaptureMode mode = CaptureMode::global;
  std::thread::id thread;
  bool invalidated = false;
  std::set<Queue*> members, unjoined;
};

struct Queue {
  unsigned flags = 0;
  std::deque<Op> ops;
  std::shared_ptr<Capture> capture;
};

struct Event {
  unsigned flags = 0;
  std::shared_ptr<bool>
      done;           ///< flag of the last record; each record has its own, since streams reach theirs in any order
  int not_ready = 0;  ///< answers still to be given; below 0: always
  std::shared_ptr<Queue> recorder;
  std::weak_ptr<Capture> capture;  ///< capture of the last record
  bool captured = false;
  std::chrono::steady_clock::time_point at;
};

struct Fault {
  std::uint64_t nth = 0, times = 0;
  Result result = Result::success;
};

struct Function {
  const Twin* twin = nullptr;
  ModuleHandle module = nullptr;
};

struct State {
  std::mutex mutex;
  // Settings of tests.
  std::uint64_t memory = 4ULL << 30;
  int devices = 1, not_ready = 2;
  bool eager = false;
  std::map<int, int> attributes;
  std::map<std::string, std::vector<Fault>> faults;
  // Results for tests.
  std::map<std::string, std::uint64_t> calls;
  std::vector<const char*> log;
  std::uint64_t pageable_copies = 0, launches = 0;
  // The device.
  bool initialized = false;
  Result sticky = Result::success;
  std::size_t context_owners = 0;
  std::uint64_t taken = 0, next = 1;
  std::map<DevicePtr, std::size_t> allocations, reservations;
  std::map<DevicePtr, Mapping> mappings;
  std::map<MemHandle, std::shared_ptr<Memory>> handles;
  std::map<std::uint64_t, std::weak_ptr<Memory>> inodes;
  std::map<std::uintptr_t, HostRange> host;
  std::deque<std::pair<DevicePtr, std::size_t>> freed;
  std::map<StreamHandle, std::shared_ptr<Queue>> streams;
  std::vector<std::shared_ptr<Queue>> orphans;  ///< destroyed with work in them
  std::shared_ptr<Queue> legacy = std::make_shared<Queue>();
  std::map<EventHandle, std::shared_ptr<Event>> events;
  std::set<ModuleHandle> modules;
  std::map<FunctionHandle, Function> functions;
  std::map<GraphHandle, Graph> graphs;
  std::map<GraphExecHandle, Graph> execs;
  std::vector<std::weak_ptr<Capture>> captures;

  /// A handle that never was and never will be again.
  template <class Handle>
  Handle fresh() {
    return reinterpret_cast<Handle>(0xFA0000 + 16 * next++);
  }
};

State& state();
std::map<std::string, const Twin*>& twins();

/// Conditions under which a call is refused.
enum Needs : unsigned { kNothing = 0, kInit = 1, kContext = 2, kNotInCapture = 4 };

struct Entry {
  std::unique_lock<std::mutex> lock;
  Result result;
};
/// Counts, logs and judges a call; holds the mutex for its length.
Entry enter(const char* function, unsigned needs);
#define FAKE_ENTER(needs)                     \
  const Entry entry = enter(__func__, needs); \
  if (entry.result != Result::success) return entry.result

Result made_sticky(Result result);

// memory.cpp
/// Device addresses are addresses of this process: a device is emulated in host memory.
inline std::byte* pointer(DevicePtr at) { return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(at)); }
bool device_range(DevicePtr at, std::size_t bytes, bool write);
/// 0: not pinned.
std::uint64_t host_number(const void* at, std::size_t bytes);
bool take(std::uint64_t bytes);
void forget_memory();

// streams.cpp. nullptr for a stream that is none.
std::shared_ptr<Queue> queue_of(StreamHandle stream);
Result enqueue(StreamHandle stream, Work work);
/// Runs what is in it, and what that waits for.
Result run(const std::shared_ptr<Queue>& queue);
Result run_all();
/// success, or ILLEGAL_ADDRESS where the body touched memory that is not there.
Result guarded(const std::function<void()>& body);

// capture.cpp
bool capture_forbids();
void add_to_capture(Queue& queue, Work work);

}  // namespace canopy::fake_cuda
