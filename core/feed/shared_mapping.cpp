#include <canopy/feed/shared_mapping.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <utility>

namespace canopy {
namespace {

/// An entry of the handler's table. It belongs to a mapping while `taken` is true. `bytes`: 0 while nothing is mapped.
struct Place {
  std::atomic<bool> taken;
  std::atomic<std::uintptr_t> base;
  std::atomic<std::size_t> bytes;
  std::atomic<bool> cut;
};
constexpr std::size_t kPlaces = 256;
constinit Place g_places[kPlaces];
struct sigaction g_before;

/// Puts zeroed memory of this process in the place of a mapping. Returns false if the system has none.
bool replace(void* base, std::size_t bytes) {
  const int error = errno;
  const void* const now =
      ::mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  errno = error;
  return now != MAP_FAILED;
}

/// Handles SIGBUS, with calls that are safe in a signal handler only. If it returns without new memory at the address,
/// the fault is repeated.
void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Place& place : g_places) {
    const std::size_t bytes = place.bytes.load(std::memory_order_acquire);
    const std::uintptr_t base = place.base.load(std::memory_order_relaxed);
    if (bytes == 0 || at - base >= bytes) continue;
    if (!replace(reinterpret_cast<void*>(base), bytes)) break;
    place.cut.store(true, std::memory_order_release);
    return;
  }
  if ((g_before.sa_flags & SA_SIGINFO) != 0) return g_before.sa_sigaction(signal, info, context);
  if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN) return g_before.sa_handler(signal);
  ::signal(SIGBUS, SIG_DFL);  // ends the process when this handler returns, as without the handler
  ::raise(SIGBUS);
}

void install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction ours{};
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(SIGBUS, &ours, &g_before);
  });
}

}  // namespace

bool SharedMapping::map(int descriptor, std::size_t bytes, Access access) {
  install_handler();
  for (place_ = 0; place_ < kPlaces && g_places[place_].taken.exchange(true); ++place_) {
  }
  if (place_ == kPlaces) {
    errno = EMFILE;
    return false;
  }
  // Populated at once for writing; otherwise the first events would include the cost of page faults.
  const int protection = access == Access::write ? PROT_READ | PROT_WRITE : PROT_READ;
  const int flags = access == Access::write  ? MAP_SHARED | MAP_POPULATE
                    : access == Access::read ? MAP_SHARED
                                             : MAP_PRIVATE;
  void* const at = ::mmap(nullptr, bytes, protection, flags, descriptor, 0);
  Place& place = g_places[place_];
  if (at == MAP_FAILED) {
    place.taken = false;
    return false;
  }
  base_ = static_cast<std::byte*>(at), bytes_ = bytes;
  place.cut = false;
  place.base.store(reinterpret_cast<std::uintptr_t>(at), std::memory_order_relaxed);
  place.bytes.store(bytes, std::memory_order_release);
  return true;
}

bool SharedMapping::let_write(std::size_t from, std::size_t bytes, bool write) {
  return ::mprotect(base_ + from, bytes, write ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

void SharedMapping::detach() {
  if (base_) replace(base_, bytes_);
}

bool SharedMapping::cut() const { return base_ && g_places[place_].cut.load(std::memory_order_acquire); }

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(place_, other.place_);
  return *this;
}

SharedMapping::~SharedMapping() {
  if (!base_) return;
  Place& place = g_places[place_];
  place.bytes.store(0, std::memory_order_release);
  ::munmap(base_, bytes_);
  place.taken.store(false, std::memory_order_release);
}

}  // namespace canopy
