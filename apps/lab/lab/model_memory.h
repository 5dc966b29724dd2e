#pragma once

#include <canopy/base/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace canopy::lab {

/// The memory of a model's KV cache, from its config.json in the format of Hugging Face's transformers.
struct ModelMemory {
  double bytes_per_token = 0;      ///< bytes of a cached token in the layers that keep the whole path
  std::uint64_t window = 0;        ///< tokens of a prefix kept by layers with a window or chunk; 0: no such layer
  std::uint64_t window_bytes = 0;  ///< bytes of each of these tokens in those layers
  std::uint64_t state_bytes = 0;   ///< bytes of one state of all recurrent layers; 0: no such layer
  std::string sentence;            ///< description of what was read, for people
};

/// Reads full, grouped-query and multi-query attention, MLA (kv_lora_rank), its indexer (index_head_dim), windows
/// (sliding_window, layer_types, sliding_window_pattern) and recurrent layers (linear_attention, Mamba 1 and 2, KDA).
/// If there is a `text_config`, that part is the model. The type of cached values is `torch_dtype` or `dtype`, unless
/// `quantization_config.kv_cache_scheme` has their bits. An error names the file and what is missing or out of range.
Result<ModelMemory> read_model_memory(const std::string& path);
/// Reads the text of such a file. Errors begin with `path`.
Result<ModelMemory> model_memory_of(std::string_view text, const std::string& path);

}  // namespace canopy::lab
