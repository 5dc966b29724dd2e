#pragma once

namespace canopy::app {

/// While it exists, SIGINT, SIGTERM and SIGHUP end the work at its next step, so that results so far are printed, a
/// recording is complete, and a feed's shared memory is removed. The second signal ends the process at once. Signals
/// that the process already ignored stay ignored. Only one may exist at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;

  /// Returns true if a signal came, for `stopped` of a run's options.
  static bool came();
  /// Returns the exit code that shells give to a process ended by the signal, such as 130 or 143. REQUIRES: came().
  static int exit_code();
  /// Returns the signal's name, such as "SIGINT". REQUIRES: came().
  static const char* name();
};

}  // namespace canopy::app
