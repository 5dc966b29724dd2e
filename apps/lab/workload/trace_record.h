#pragma once

#include <canopy/base/doubts.h>
#include <canopy/base/result.h>
#include <canopy/retention.h>
#include <canopy/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::workload {

/// One request of a trace file. The prompt is `tokens`, or `ids` of `block` tokens each; equal ids mean equal tokens.
struct TraceRecord {
  std::uint64_t time_ms = 0;
  std::string space;  ///< namespace; "" is the shared one
  std::int32_t priority = 0;
  std::uint64_t hints = 0;          ///< canopy::hint
  std::uint32_t output_tokens = 0;  ///< 0 also if the file does not have it
  std::uint32_t turn = 0;           ///< turn of its conversation, from 1; 0: not in the file
  std::vector<Retention> retention;
  std::vector<Token> answer;  ///< tokens of the answer; empty: not in the file, or the prompt has ids

  std::vector<Token> tokens;       ///< the prompt, if block is 0
  std::uint64_t block = 0;         ///< tokens per id
  std::uint32_t input_tokens = 0;  ///< length of a prompt of ids; the last id may have fewer tokens than a block
  std::vector<std::uint64_t> ids;

  std::uint32_t length() const { return block ? input_tokens : static_cast<std::uint32_t>(tokens.size()); }
  /// Clears the last request but keeps the storage.
  void clear() {
    space.clear();
    tokens.clear();
    ids.clear();
    retention.clear();
    answer.clear();
    time_ms = block = hints = 0;
    priority = 0;
    output_tokens = turn = input_tokens = 0;
  }
};

/// A trace file, one request at a time, in the order in which the cache received them.
class TraceReader {
 public:
  virtual ~TraceReader() = default;
  /// Fills `record`, reusing its storage. Returns false at the end. After an error, returns the same error again,
  /// because later lines may depend on the broken one.
  virtual Result<bool> next(TraceRecord& record) = 0;
  virtual double progress() const = 0;  ///< part that was read, 0..1
  /// Returns the reasons why what was read may not be what is in the file. Call it after the last request.
  virtual Doubts doubts() const = 0;
  /// Returns notes for people on the data, such as figures that the file does not have.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace canopy::workload
