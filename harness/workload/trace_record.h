#pragma once

#include <canopy/support/result.h>
#include <canopy/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::workload {

/// One request of a trace as its file has it. The prompt is `tokens`, or `ids` that stand for `block` tokens each;
/// equal ids are equal tokens.
struct TraceRecord {
  std::uint64_t time_ms = 0;
  std::string space;  ///< namespace; "" is the shared one
  std::int32_t priority = 0;
  std::uint64_t hints = 0;          ///< canopy::hint
  std::uint32_t output_tokens = 0;  ///< 0 also where the file does not say
  std::uint32_t turn = 0;           ///< of its conversation, from 1; 0: the file does not say

  std::vector<Token> tokens;       ///< the prompt, where block is 0
  std::uint64_t block = 0;         ///< tokens that an id stands for
  std::uint32_t input_tokens = 0;  ///< length of a prompt of ids; the last id may stand for less than a block
  std::vector<std::uint64_t> ids;

  std::uint32_t length() const { return block ? input_tokens : static_cast<std::uint32_t>(tokens.size()); }
  /// Forgets the last request, and keeps the storage.
  void clear() {
    space.clear();
    tokens.clear();
    ids.clear();
    time_ms = block = hints = 0;
    priority = 0;
    output_tokens = turn = input_tokens = 0;
  }
};

/// A trace file, one request at a time, in the order in which the cache saw them.
class TraceReader {
 public:
  virtual ~TraceReader() = default;
  /// Fills `record`, reusing its storage. False at the end. After an error, the same error again: what follows a broken
  /// line may be meant otherwise.
  virtual Result<bool> next(TraceRecord& record) = 0;
  virtual double progress() const = 0;  ///< the part that was read, 0..1
  /// What a person must know about what was read: requests that were left out, figures that the file does not have.
  virtual std::vector<std::string> notes() const { return {}; }
};

}  // namespace canopy::workload
