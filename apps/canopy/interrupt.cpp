#include "interrupt.h"

#include <signal.h>

#include <atomic>
#include <iterator>

namespace canopy::app {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> g_came{0};
static_assert(std::atomic<int>::is_always_lock_free);
struct sigaction g_before[std::size(kSignals)];

void note(int signal) { g_came.store(signal); }

}  // namespace

Interrupt::Interrupt() {
  g_came.store(0);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], nullptr, &g_before[i]);
    if (g_before[i].sa_handler == SIG_IGN) continue;
    struct sigaction ours{};
    ours.sa_handler = note;
    ours.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(kSignals[i], &ours, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &g_before[i], nullptr);
}

bool Interrupt::came() { return g_came.load() != 0; }
int Interrupt::exit_code() { return 128 + g_came.load(); }
const char* Interrupt::name() {
  return g_came.load() == SIGINT ? "SIGINT" : g_came.load() == SIGTERM ? "SIGTERM" : "SIGHUP";
}

}  // namespace canopy::app
