#pragma once

namespace canopy::app {

/// While it lives, SIGINT, SIGTERM and SIGHUP end the work at its next step, so that what was measured is printed, a
/// recording is whole and a feed's shared memory is removed. The second signal ends the process at once. Signals that
/// the process was told to ignore stay ignored. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;

  /// Whether one came, for `stopped` of a run's options.
  static bool came();
  /// The exit code that shells give a process which the signal ended: 130 or 143. REQUIRES: came().
  static int exit_code();
  /// "SIGINT". REQUIRES: came().
  static const char* name();
};

}  // namespace canopy::app
