#pragma once

#include "mooncake_line.h"
#include "request_source.h"

#include <memory>

namespace canopy::workload {

/// Opens Mooncake's JSONL (github.com/kvcache-ai/Mooncake): per line `timestamp` (ms), `input_length`, `output_length`
/// (tokens) and `hash_ids`, one per block of `block` tokens of the prompt; equal ids mean equal prefixes up to there.
/// Token j of block h is splitmix64(h * block + j) mod 128000, cut to input_length.
///
/// One line is in memory at a time. An unusable line is an error `file:line: what was found, what was expected`.
Result<std::unique_ptr<RequestSource>> open_mooncake_trace(const std::string& path,
                                                           std::uint64_t block = kMooncakeBlock);

}  // namespace canopy::workload
