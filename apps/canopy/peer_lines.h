#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace canopy::app {

/// Prints lines on stderr that another program can cause as often as it likes. The first lines are printed, then only
/// their number, once a second. A quiet second permits one more line.
class PeerLines {
 public:
  /// `beginning`: beginning of each line, such as "canopy serve: ". May be empty.
  explicit PeerLines(std::string beginning = {}) : beginning_(std::move(beginning)) {}
  /// Prints the number of lines that were left out.
  ~PeerLines();
  PeerLines(const PeerLines&) = delete;

  /// Prints the text, filtered by printable_lines(), or counts it.
  void say(const std::string& text);
  /// Prints the number of lines left out, if the last time was a second ago. Call it regularly.
  void turn();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kFirst = 20;
  void print(const std::string& text) const;
  void print_count();

  std::string beginning_, last_;
  unsigned allowed_ = kFirst;
  std::uint64_t left_out_ = 0;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
};

}  // namespace canopy::app
