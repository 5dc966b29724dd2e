#pragma once

#include <canopy/support/result.h>
#include <canopy/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::workload {

/// One request as a client would send it. `space` is the name of its namespace; "" is the shared one.
struct ClientRequest {
  std::uint64_t arrival_ms = 0;
  std::string space;
  std::int32_t priority = 0;
  std::uint32_t output_tokens = 0;  ///< how many tokens the model will answer with
  std::vector<Token> prompt;
  std::uint64_t hints = 0;  ///< for policies (canopy::hint)
};

/// Requests in the order of their arrival, one at a time: a trace file or a generator. Only the current request is in
/// memory, so a source can be longer than memory.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  /// Fills `request`, reusing its storage. False at the end.
  virtual Result<bool> next(ClientRequest& request) = 0;
  /// The part that was handed out, 0..1; for a progress bar.
  virtual double progress() const = 0;
  virtual std::uint64_t seed() const { return 0; }  ///< 0: nothing is random
};

}  // namespace canopy::workload
