#include "model_memory.h"

#include <canopy/base/figures.h>
#include <canopy/base/file.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <vector>

namespace canopy::lab {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostBytes = 16u << 20, kMost = 1u << 24;
constexpr int kMostDepth = 16;

/// Thrown if a config cannot be used; never leaves this file.
struct Unusable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string read_whole(const std::string& path) {
  const OpenedFile file = open_regular(path);
  if (!file.descriptor)
    throw Unusable(file.error ? std::strerror(file.error)
                              : fmt::format("is {}; expected a file", canopy::kind_of(file.facts.st_mode)));
  if (static_cast<std::uint64_t>(file.facts.st_size) > kMostBytes)
    throw Unusable(fmt::format("has {}; a model's config.json has a few thousand bytes",
                               bytes(static_cast<std::uint64_t>(file.facts.st_size))));
  std::string text(kMostBytes, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ::ssize_t got = ::read(file.descriptor.get(), text.data() + length, text.size() - length);
    if (got < 0) throw Unusable(std::strerror(errno));
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  text.resize(length);
  return text;
}

/// The keys of a model, with their spellings in the configs of different families.
class Keys {
 public:
  explicit Keys(const json& model) : model_(model) {}

  bool has(const char* key) const { return model_.contains(key) && !model_[key].is_null(); }
  const json& at(const char* key) const { return model_[key]; }
  std::optional<std::uint64_t> find(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (!has(name)) continue;
      const json& value = model_[name];
      if (!value.is_number_integer() || value.is_number_float() || value < 0 || value > kMost)
        throw Unusable(
            fmt::format("'{}' is {}; expected a whole number from 0 to {}", name, in_quotes(value.dump()), kMost));
      return value.get<std::uint64_t>();
    }
    return {};
  }
  std::uint64_t need(std::initializer_list<const char*> names) const {
    const auto value = find(names);
    if (!value || *value == 0)
      throw Unusable(
          fmt::format("has no '{}'{}; without it the size of the KV cache is unknown. --kv-bytes N sets the bytes of a "
                      "token",
                      *names.begin(), value ? " above 0" : ""));
    return *value;
  }
  std::string text(const char* key) const { return has(key) && at(key).is_string() ? at(key).get<std::string>() : ""; }

 private:
  const json& model_;
};

enum class Layer { full, window, state, none };

Layer layer_of(const std::string& type) {
  if (type == "full_attention" || type == "attention") return Layer::full;
  if (type == "sliding_attention" || type == "chunked_attention") return Layer::window;
  if (type == "linear_attention" || type == "mamba" || type == "mamba2") return Layer::state;
  throw Unusable(fmt::format("'layer_types' has {}, an unknown type of layer; --kv-bytes N sets the bytes of a token",
                             in_quotes(type)));
}

/// Returns what each layer keeps, from the fields of the family to which the config belongs.
std::vector<Layer> layers_of(const Keys& keys) {
  const std::uint64_t count = keys.need({"num_hidden_layers", "n_layer", "num_layers"});
  if (count > 4096) throw Unusable(fmt::format("'num_hidden_layers' is {}; expected at most 4096", count));
  std::vector<Layer> layers(count, Layer::full);
  if (keys.has("layer_types") || keys.has("layers_block_type")) {
    const json& types = keys.at(keys.has("layer_types") ? "layer_types" : "layers_block_type");
    if (!types.is_array() || types.size() != count)
      throw Unusable(fmt::format("'layer_types': expected a list of {} names", count));
    for (std::size_t i = 0; i < count; ++i)
      layers[i] = layer_of(types[i].is_string() ? types[i].get<std::string>() : types[i].dump());
  } else if (const std::string pattern = keys.text("hybrid_override_pattern"); !pattern.empty()) {  // Nemotron-H
    if (pattern.size() != count)
      throw Unusable(fmt::format("'hybrid_override_pattern' has {} letters for {} layers", pattern.size(), count));
    for (std::size_t i = 0; i < count; ++i)
      layers[i] = pattern[i] == '*' ? Layer::full : pattern[i] == 'M' ? Layer::state : Layer::none;
  } else if (keys.has("linear_attn_config")) {  // Kimi Linear: layers are counted from 1
    std::fill(layers.begin(), layers.end(), Layer::state);
    const json& linear = keys.at("linear_attn_config");
    if (!linear.is_object() || !linear.contains("full_attn_layers") || !linear["full_attn_layers"].is_array())
      throw Unusable("'linear_attn_config' has no list 'full_attn_layers'");
    for (const json& layer : linear["full_attn_layers"]) {
      if (!layer.is_number_integer() || layer < 1 || layer > count)
        throw Unusable(
            fmt::format("'full_attn_layers' has {}; expected layers from 1 to {}", in_quotes(layer.dump()), count));
      layers[layer.get<std::size_t>() - 1] = Layer::full;
    }
  } else if (const auto period = keys.find({"attn_layer_period", "full_attention_interval"}); period && *period > 0) {
    // Jamba names the first layer with attention; Qwen3-Next has attention in the last layer of each interval.
    const std::uint64_t offset = keys.find({"attn_layer_offset"}).value_or(*period - 1);
    for (std::size_t i = 0; i < count; ++i) layers[i] = i % *period == offset % *period ? Layer::full : Layer::state;
  } else if (const auto window = keys.find({"sliding_window", "attention_chunk_size"});
             window && *window > 0 && !(keys.has("use_sliding_window") && keys.at("use_sliding_window") == false)) {
    const bool alternates = keys.text("model_type").starts_with("gemma2") || keys.text("model_type") == "cohere2";
    const std::uint64_t every =
        keys.find({"sliding_window_pattern", "_sliding_window_pattern", "no_rope_layer_interval"})
            .value_or(alternates ? 2 : 0);
    // In Qwen2, the first layers use full attention.
    const std::uint64_t from = keys.has("use_sliding_window") ? keys.find({"max_window_layers"}).value_or(0) : 0;
    for (std::size_t i = 0; i < count; ++i)
      if (i >= from && (every == 0 || (i + 1) % every != 0)) layers[i] = Layer::window;
  } else if (!keys.has("num_attention_heads") && !keys.has("n_head") && keys.find({"state_size", "d_state"})) {
    std::fill(layers.begin(), layers.end(), Layer::state);  // Mamba without attention
  }
  return layers;
}

struct Type {
  double bytes = 2;
  std::string name;
};

Type type_of(const json& whole, const Keys& keys) {
  if (const json scheme = whole.value("quantization_config", json::object());
      scheme.is_object() && scheme.contains("kv_cache_scheme") && scheme["kv_cache_scheme"].is_object()) {
    const json bits = scheme["kv_cache_scheme"].value("num_bits", json(8));
    if (!bits.is_number_integer() || bits < 1 || bits > 32)
      throw Unusable(fmt::format("'kv_cache_scheme' has num_bits {}; expected 1 to 32", in_quotes(bits.dump())));
    return {bits.get<double>() / 8, fmt::format("{} bits (kv_cache_scheme)", bits.get<int>())};
  }
  std::string name = keys.text("torch_dtype");
  if (name.empty()) name = keys.text("dtype");
  if (name.empty()) name = Keys(whole).text("torch_dtype");
  if (name.empty()) name = Keys(whole).text("dtype");
  if (name.starts_with("torch.")) name = name.substr(6);
  if (name.empty()) return {2, "bfloat16 (the config names no type)"};
  if (name == "bfloat16" || name == "float16") return {2, name};
  if (name == "float32") return {4, name};
  if (name.starts_with("float8")) return {1, name};
  throw Unusable(fmt::format("'torch_dtype' is {}; known are bfloat16, float16, float32 and float8", in_quotes(name)));
}

/// Returns the bytes of one recurrent layer's state: the convolution's part in the model's type, the rest in float32
/// unless the config has `mamba_ssm_dtype`.
std::uint64_t state_bytes(const Keys& keys, double type_bytes) {
  const std::string ssm = keys.text("mamba_ssm_dtype");
  const std::uint64_t wide = ssm == "bfloat16" || ssm == "float16" ? 2 : 4;
  const auto convolution = [&](std::uint64_t channels, std::uint64_t kernel) {
    return static_cast<std::uint64_t>(static_cast<double>(channels * (kernel - std::min<std::uint64_t>(kernel, 1))) *
                                      type_bytes);
  };
  if (keys.has("linear_num_value_heads")) {  // Qwen3-Next: gated delta net
    const std::uint64_t key_heads = keys.need({"linear_num_key_heads"}), key = keys.need({"linear_key_head_dim"});
    const std::uint64_t value_heads = keys.need({"linear_num_value_heads"}),
                        value = keys.need({"linear_value_head_dim"});
    return convolution(2 * key_heads * key + value_heads * value, keys.need({"linear_conv_kernel_dim"})) +
           value_heads * key * value * wide;
  }
  if (keys.has("linear_attn_config")) {  // Kimi Linear: KDA
    const Keys linear(keys.at("linear_attn_config"));
    const std::uint64_t heads = linear.need({"num_heads"}), size = linear.need({"head_dim"});
    return convolution(3 * heads * size, linear.need({"short_conv_kernel_size"})) + heads * size * size * wide;
  }
  if (const auto heads = keys.find({"mamba_num_heads", "mamba_n_heads", "num_mamba_heads"})) {  // Mamba 2
    const std::uint64_t size = keys.need({"mamba_head_dim", "mamba_d_head"}),
                        state = keys.need({"ssm_state_size", "mamba_d_state"});
    const std::uint64_t groups = keys.find({"n_groups", "mamba_n_groups"}).value_or(1);
    return convolution(*heads * size + 2 * groups * state, keys.need({"conv_kernel", "mamba_d_conv"})) +
           *heads * size * state * wide;
  }
  const std::uint64_t inner =
      keys.find({"intermediate_size_mamba"})
          .value_or(keys.need({"hidden_size", "d_model"}) * keys.find({"mamba_expand", "expand"}).value_or(2));
  return convolution(inner, keys.find({"mamba_d_conv", "conv_kernel", "d_conv"}).value_or(4)) +
         inner * keys.need({"mamba_d_state", "state_size", "d_state"}) * wide;
}

ModelMemory memory_of(const json& whole) {
  if (!whole.is_object()) throw Unusable("expected a JSON object, a model's config.json");
  const bool nested = whole.contains("text_config") && whole["text_config"].is_object();
  const Keys keys(nested ? whole["text_config"] : whole);
  const Type type = type_of(whole, keys);
  const std::vector<Layer> layers = layers_of(keys);
  const auto count = [&](Layer kind) {
    return static_cast<std::uint64_t>(std::count(layers.begin(), layers.end(), kind));
  };
  const std::uint64_t full = count(Layer::full), windows = count(Layer::window);
  // Falcon-H1 has both in each layer.
  const std::uint64_t states = keys.text("model_type") == "falcon_h1" ? full : count(Layer::state);
  if (full == 0)
    throw Unusable(
        "has no layer that keeps the whole path, so the bytes of a token are undefined; --kv-bytes N sets them");

  ModelMemory memory;
  std::string how;
  double layer_bytes = 0;
  if (const auto rank = keys.find({"kv_lora_rank"}); rank && *rank > 0) {
    const std::uint64_t rope = keys.need({"qk_rope_head_dim"});
    layer_bytes = static_cast<double>(*rank + rope) * type.bytes;
    how = fmt::format("MLA, {} + {} values a token", *rank, rope);
    if (const auto indexer = keys.find({"index_head_dim"}); indexer && *indexer > 0) {
      // One byte per value, and a float32 scale for each 128 of them.
      const std::uint64_t extra = *indexer + (*indexer + 127) / 128 * 4;
      layer_bytes += static_cast<double>(extra);
      how += fmt::format(" and {} bytes for the indexer", extra);
    }
  } else {
    const std::uint64_t heads = keys.need({"num_attention_heads", "n_head"});
    const std::uint64_t kv_heads = keys.find({"num_key_value_heads", "num_kv_heads"}).value_or(heads);
    const auto size = keys.find({"head_dim", "attention_head_dim"});
    const std::uint64_t head = size && *size > 0 ? *size : keys.need({"hidden_size", "n_embd"}) / heads;
    if (kv_heads == 0 || head == 0) throw Unusable("'num_key_value_heads' or 'head_dim' is 0");
    layer_bytes = static_cast<double>(2 * kv_heads * head) * type.bytes;
    how = fmt::format("{}K and V of {} of {}",
                      kv_heads == heads ? ""
                      : kv_heads == 1   ? "MQA, "
                                        : "GQA, ",
                      plural(kv_heads, "head"), plural(head, "value"));
  }
  memory.bytes_per_token = layer_bytes * static_cast<double>(full);
  memory.sentence = fmt::format("{} of {} keep the whole path ({}, {}): {} bytes a token", full,
                                plural(layers.size(), "layer"), how, type.name, memory.bytes_per_token);
  if (windows > 0) {
    memory.window = keys.need({"sliding_window", "attention_chunk_size"});
    memory.window_bytes = static_cast<std::uint64_t>(layer_bytes * static_cast<double>(windows));
    memory.sentence += fmt::format("; {} with a window: {} bytes for each of a prefix's last {} tokens, not included",
                                   plural(windows, "layer"), memory.window_bytes, memory.window);
  }
  if (states > 0) {
    memory.state_bytes = states * state_bytes(keys, type.bytes);
    memory.sentence += fmt::format("; {} with a recurrent state: {} for each state that is kept, not included",
                                   plural(states, "layer"), bytes(memory.state_bytes));
  }
  memory.sentence += ".";
  return memory;
}

}  // namespace

Result<ModelMemory> model_memory_of(std::string_view text, const std::string& path) {
  // A config is never this deep, and values are copied and printed by recursion.
  const auto not_too_deep = [](int depth, json::parse_event_t, const json&) {
    if (depth > kMostDepth) throw Unusable(fmt::format("has lists and objects more than {} deep", kMostDepth));
    return true;
  };
  try {
    return memory_of(json::parse(text, not_too_deep));
  } catch (const json::parse_error& error) {
    return Error{fmt::format("{}: not JSON at byte {}; expected a model's config.json", path, error.byte)};
  } catch (const Unusable& unusable) {
    return Error{fmt::format("{}: {}", path, unusable.what())};
  } catch (const json::exception& error) {
    return Error{fmt::format("{}: cannot be used as a model's config.json: {}", path, printable(error.what()))};
  }
}

Result<ModelMemory> read_model_memory(const std::string& path) {
  try {
    return model_memory_of(read_whole(path), path);
  } catch (const Unusable& unusable) {
    return Error{fmt::format("{}: {}", path, unusable.what())};
  }
}

}  // namespace canopy::lab
