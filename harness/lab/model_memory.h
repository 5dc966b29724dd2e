#pragma once

#include <canopy/support/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace canopy::lab {

/// What a model's KV cache takes, from its config.json as Hugging Face's transformers has it.
struct ModelMemory {
  double bytes_per_token = 0;      ///< in the layers that keep the whole path: what a cached token costs
  std::uint64_t window = 0;        ///< tokens that the layers with a window or chunk keep of a prefix; 0: no such layer
  std::uint64_t window_bytes = 0;  ///< for each of these tokens, in those layers
  std::uint64_t state_bytes = 0;   ///< of one state of all recurrent layers; 0: no such layer
  std::string sentence;            ///< what was read, for people
};

/// Reads full, grouped-query and multi-query attention, MLA (kv_lora_rank), its indexer (index_head_dim), windows
/// (sliding_window, layer_types, sliding_window_pattern) and recurrent layers (linear_attention, Mamba 1 and 2, KDA).
/// A part of the model under `text_config` is the model. The type of cached values is `torch_dtype` or `dtype`, unless
/// `quantization_config.kv_cache_scheme` says their bits. An error names the file and what is missing or out of range.
Result<ModelMemory> read_model_memory(const std::string& path);
/// The same for the text of such a file; `path` is in front of an error.
Result<ModelMemory> model_memory_of(std::string_view text, const std::string& path);

}  // namespace canopy::lab
