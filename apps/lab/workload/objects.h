#pragma once

#include "json_line.h"
#include "text.h"
#include "trace_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace canopy::workload {

/// Gives a prompt that shares nothing its ids: the prints (id_print) of the request's number and of their places.
/// REQUIRES: `block` and `input_tokens` of the record are set. No other request has `number`.
inline void add_own_ids(TraceRecord& record, std::uint64_t number) {
  const std::uint64_t most = ~std::uint64_t{0} / record.block;
  for (std::uint64_t at = 0; at < record.input_tokens; at += record.block)
    record.ids.push_back(id_print(fmt::format("request {} at {}", number, at), most));
}

/// Makes prompts out of the objects of an ordinary cache: a prompt for each object, which it shares with no other.
template <class Name>
class Objects {
 public:
  explicit Objects(const TraceOptions& options)
      : block_(options.block ? options.block : 512), token_bytes_(std::max<std::uint64_t>(options.token_bytes, 1)) {}

  /// Returns the tokens of an object of a size.
  std::uint64_t tokens(std::uint64_t size) const { return size / token_bytes_ + (size % token_bytes_ != 0); }
  /// Fills the prompt of a record. REQUIRES: `tokens` <= kMaxPromptTokens.
  void fill(TraceRecord& record, const Name& name, std::uint64_t tokens) {
    // Each object has its own range of block numbers, however long it becomes.
    const std::uint64_t stride = kMaxPromptTokens / block_ + 1;
    const std::uint64_t object = numbers_.try_emplace(name, numbers_.size()).first->second;
    record.block = block_;
    record.input_tokens = static_cast<std::uint32_t>(tokens);
    for (std::uint64_t i = 0; i * block_ < tokens; ++i) record.ids.push_back(object * stride + i);
  }

 private:
  std::uint64_t block_, token_bytes_;
  std::unordered_map<Name, std::uint64_t> numbers_;
};

}  // namespace canopy::workload
