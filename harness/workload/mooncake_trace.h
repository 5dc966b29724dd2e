#pragma once

#include "request_source.h"

#include <memory>

namespace canopy::workload {

/// Reads Mooncake's JSONL (github.com/kvcache-ai/Mooncake): per line `timestamp` (ms), `input_length`,
/// `output_length` (tokens) and `hash_ids`, one per 512-token block of the prompt; equal ids, equal prefix up
/// to there. Token j of block h is splitmix64(h * 512 + j) mod 128000, cut to input_length.
///
/// One line is in memory at a time. A line that cannot be used is an error `file:line: what was found, what was
/// expected`.
Result<std::unique_ptr<RequestSource>> open_mooncake_trace(const std::string& path);

}  // namespace canopy::workload
