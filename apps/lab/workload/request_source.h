#pragma once

#include <canopy/base/doubts.h>
#include <canopy/base/result.h>
#include <canopy/retention.h>
#include <canopy/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::workload {

/// One request as a client sends it. `space` is the name of its namespace, which is its tenant; "" is the shared one.
struct ClientRequest {
  std::uint64_t arrival_ms = 0;
  std::string space;
  std::int32_t priority = 0;
  std::uint32_t output_tokens = 0;  ///< number of tokens of the model's answer
  std::vector<Token> prompt;
  std::uint64_t hints = 0;                ///< for policies (canopy::hint)
  std::vector<Retention> retention = {};  ///< prefixes that it wishes to keep
  std::uint64_t number = 0;               ///< position in the order of arrival, from 1; set by a replay
  std::vector<Token> answer = {};         ///< `output_tokens` tokens of the answer; empty: the source has none
  std::uint32_t turn = 0;                 ///< turn of its conversation, from 1; 0: the source has none
};

/// Requests in order of arrival, one at a time: a trace file or a generator. Only the current request is in memory, so
/// a source can be larger than memory.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  /// Fills `request`, reusing its storage. Returns false at the end.
  virtual Result<bool> next(ClientRequest& request) = 0;
  /// Returns the part that was read, 0..1, for a progress bar.
  virtual double progress() const = 0;
  virtual std::uint64_t seed() const { return 0; }  ///< 0: nothing is random
  /// Returns the reasons why what was read may not be what the source was meant to be. Call it after the last request.
  virtual Doubts doubts() const { return {}; }
  /// Returns notes for people on what was read, such as what was left out. Call it after the last request.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace canopy::workload
