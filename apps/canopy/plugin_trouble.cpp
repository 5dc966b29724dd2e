#include "plugin_trouble.h"

#include <canopy/base/plugin_call.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace canopy::app {
namespace {

/// Writes to stderr. Calls only functions that are safe in a signal handler.
void say(const char* text) {
  while (*text) {
    const ssize_t wrote = ::write(STDERR_FILENO, text, std::strlen(text));
    if (wrote <= 0) return;
    text += wrote;
  }
}

/// Prints "canopy: `what` inside eviction strategy 'x' (x.so), rank". Returns false if no plugin runs in this thread.
bool name_plugin(const char* what) {
  const PluginCall& now = PluginCall::of_this_thread();
  const char* const component = now.component.load();
  if (!component) return false;
  say("canopy: ");
  say(what);
  say(" inside ");
  say(component);
  say(", ");
  say(now.function.load());
  say("\n");
  return true;
}

struct Fatal {
  int signal;
  const char* name;
  struct sigaction before;
};
std::array<Fatal, 5> g_fatal{{{SIGSEGV, "segmentation fault", {}},
                              {SIGBUS, "bus error", {}},
                              {SIGFPE, "arithmetic error", {}},
                              {SIGILL, "illegal instruction", {}},
                              {SIGABRT, "abort", {}}}};

void on_fatal(int signal, siginfo_t* info, void* context) {
  for (const Fatal& fatal : g_fatal) {
    if (fatal.signal != signal) continue;
    name_plugin(fatal.name);
    if ((fatal.before.sa_flags & SA_SIGINFO) != 0) return fatal.before.sa_sigaction(signal, info, context);
    ::sigaction(signal, &fatal.before, nullptr);
    ::raise(signal);  // delivered when this handler returns, with the previous action
  }
}

}  // namespace

void name_plugins_in_trouble() {
  // After a stack overflow, the handler needs its own stack.
  alignas(16) static std::array<char, 1 << 16> stack;
  const stack_t other{stack.data(), 0, stack.size()};
  ::sigaltstack(&other, nullptr);
  for (Fatal& fatal : g_fatal) {
    struct sigaction ours{};
    ours.sa_sigaction = on_fatal;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(fatal.signal, &ours, &fatal.before);
  }
  std::atexit([] {
    if (name_plugin("a plugin ended the process with exit()")) ::_exit(1);
  });
}

HangWatch::HangWatch(std::chrono::milliseconds limit)
    : thread_([this, limit, &call = PluginCall::of_this_thread()] {
        using Clock = std::chrono::steady_clock;
        std::uint64_t entered = call.entered.load();
        auto since = Clock::now();
        bool reported = false;
        std::unique_lock lock(mutex_);
        while (!ends_.wait_for(lock, std::chrono::milliseconds(500), [&] { return ended_; })) {
          if (const std::uint64_t now = call.entered.load(); now != entered) {
            entered = now, since = Clock::now(), reported = false;
            continue;
          }
          const char* const component = call.component.load();
          if (!component || reported || Clock::now() - since < limit) continue;
          std::fprintf(stderr, "\ncanopy: %s, %s: it has not returned for %lld s\n", component, call.function.load(),
                       static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(limit).count()));
          reported = true;
        }
      }) {}

HangWatch::~HangWatch() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

}  // namespace canopy::app
