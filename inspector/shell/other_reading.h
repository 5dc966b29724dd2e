#pragma once

#include <account/two_pasts.h>
#include <sources/recording.h>

#include <chrono>
#include <memory>
#include <string>

namespace canopy::inspector {

/// Reads a second recording to its end, in steps, for the panel that shows two recordings beside each other.
class OtherReading {
 public:
  /// REQUIRES: the recording's operations are all found (Recording::scan).
  OtherReading(std::unique_ptr<Recording> recording, std::string name);

  /// Continues for about this long. Returns true at the end.
  bool read(std::chrono::milliseconds budget);
  double done() const;  ///< 0..1
  /// Returns the past. REQUIRES: read() has returned true.
  std::shared_ptr<const OtherPast> past() const { return past_; }

 private:
  std::unique_ptr<Recording> recording_;
  Mirror mirror_;
  std::shared_ptr<OtherPast> past_ = std::make_shared<OtherPast>();
  std::uint64_t at_ = 0;
};

}  // namespace canopy::inspector
