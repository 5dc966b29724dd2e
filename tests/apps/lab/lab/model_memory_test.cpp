#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <lab/model_memory.h>

using namespace canopy;

namespace {

Result<lab::ModelMemory> read(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / ("canopy_model_" + std::to_string(::getpid()) + ".json");
  std::ofstream(path) << text;
  auto memory = lab::read_model_memory(path.string());
  std::filesystem::remove(path);
  return memory;
}

lab::ModelMemory of(const std::string& text) {
  const auto memory = read(text);
  REQUIRE_MESSAGE(memory, (memory ? "" : memory.error().text));
  return *memory;
}

void check_refused(const std::string& text, const std::string& why) {
  const auto memory = read(text);
  REQUIRE_FALSE(memory);
  CHECK_MESSAGE(memory.error().text.find(why) != std::string::npos, memory.error().text);
}

}  // namespace

TEST_CASE("a token of full, grouped-query and multi-query attention takes K and V of the heads that are cached") {
  // The fields of Llama 3.1 8B: 2 * 32 layers * 8 heads * 128 * 2 bytes.
  CHECK(of(R"({"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096,
               "torch_dtype": "bfloat16"})")
            .bytes_per_token == 131072);
  CHECK(
      of(R"({"num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 64, "dtype": "float32"})").bytes_per_token ==
      2 * 2 * 4 * 64 * 4);
  CHECK(of(R"({"n_layer": 3, "n_head": 4, "num_kv_heads": 1, "n_embd": 256})").bytes_per_token == 3 * 2 * 64 * 2);
  CHECK(
      of(R"({"text_config": {"num_hidden_layers": 1, "num_attention_heads": 1, "head_dim": 8}, "torch_dtype": "float16"})")
          .bytes_per_token == 2 * 8 * 2);
  CHECK(of(R"({"num_hidden_layers": 1, "num_attention_heads": 1, "head_dim": 8,
               "quantization_config": {"kv_cache_scheme": {"num_bits": 8}}})")
            .bytes_per_token == 16);
}

TEST_CASE("MLA keeps one latent and one rotary part a layer, and an indexer keeps its keys besides") {
  const std::string mla = R"("num_hidden_layers": 61, "num_attention_heads": 128, "kv_lora_rank": 512,
      "qk_rope_head_dim": 64, "torch_dtype": "bfloat16")";
  CHECK(of("{" + mla + "}").bytes_per_token == 61 * 576 * 2);
  CHECK(of("{" + mla + R"(, "index_head_dim": 128})").bytes_per_token == 61 * (576 * 2 + 132));
}

TEST_CASE("windows are not in the price of a token, by each family's fields") {
  const std::string heads =
      R"("num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 128, "torch_dtype": "bfloat16")";
  // Gemma 3: five with a window, then one without.
  const auto gemma =
      of("{" + heads + R"(, "num_hidden_layers": 12, "sliding_window": 1024, "sliding_window_pattern": 6})");
  CHECK(gemma.bytes_per_token == 2 * 2 * 4 * 128 * 2);
  CHECK(gemma.sentence ==
        "2 of 12 layers keep the whole path (GQA, K and V of 4 heads of 128 values, bfloat16): 4096 "
        "bytes a token; 10 layers with a window: 20480 bytes for each of a prefix's last 1024 tokens, "
        "not included.");
  CHECK(gemma.window == 1024);
  CHECK(gemma.window_bytes == 10 * 2 * 4 * 128 * 2);
  const auto named = of("{" + heads + R"(, "num_hidden_layers": 3, "sliding_window": 128,
      "layer_types": ["full_attention", "sliding_attention", "full_attention"]})");
  CHECK(named.bytes_per_token == 2 * 2 * 4 * 128 * 2);
  CHECK(named.window_bytes == 2 * 4 * 128 * 2);
  // Qwen2 names a window and does not use it.
  CHECK(of("{" + heads + R"(, "num_hidden_layers": 4, "sliding_window": 128, "use_sliding_window": false})").window ==
        0);
  check_refused("{" + heads + R"(, "num_hidden_layers": 4, "sliding_window": 128})",
                "no layer that keeps the whole path");
}

TEST_CASE("recurrent layers keep a state, by each family's fields") {
  const std::string heads =
      R"("num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "torch_dtype": "bfloat16")";
  // Qwen3-Next 80B: every fourth layer has attention.
  const auto qwen =
      of("{" + heads + R"(, "num_hidden_layers": 48, "full_attention_interval": 4, "linear_num_value_heads": 32,
      "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4})");
  CHECK(qwen.bytes_per_token == 12 * 2 * 2 * 256 * 2);
  CHECK(qwen.state_bytes == 36u * ((2 * 16 * 128 + 32 * 128) * 3 * 2 + 32 * 128 * 128 * 4));
  const auto jamba = of("{" + heads + R"(, "num_hidden_layers": 8, "attn_layer_period": 8, "attn_layer_offset": 4,
      "hidden_size": 4096, "mamba_expand": 2, "mamba_d_state": 16, "mamba_d_conv": 4})");
  CHECK(jamba.bytes_per_token == 2 * 2 * 256 * 2);
  CHECK(jamba.state_bytes == 7u * (8192 * 3 * 2 + 8192 * 16 * 4));
  const auto nemotron =
      of("{" + heads + R"(, "num_hidden_layers": 5, "hybrid_override_pattern": "M-M*-", "mamba_num_heads": 8,
      "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 2, "conv_kernel": 4})");
  CHECK(nemotron.bytes_per_token == 2 * 2 * 256 * 2);
  CHECK(nemotron.state_bytes == 2u * ((8 * 64 + 2 * 2 * 128) * 3 * 2 + 8 * 64 * 128 * 4));
}

TEST_CASE("a config that says too little, or nonsense, is refused with what is missing") {
  check_refused(R"({"num_hidden_layers": )" + std::string(100'000, '['), "more than 16 deep");
  check_refused("[]", "expected a JSON object");
  check_refused("{}", "has no 'num_hidden_layers'");
  check_refused(R"({"num_hidden_layers": 4})", "has no 'num_attention_heads'");
  check_refused(R"({"num_hidden_layers": -4})", "'num_hidden_layers' is '-4'");
  check_refused(R"({"num_hidden_layers": "four"})", "expected a whole number");
  check_refused(R"({"num_hidden_layers": 99999})", "at most 4096");
  check_refused(R"({"num_hidden_layers": 1, "num_attention_heads": 0, "head_dim": 8})",
                "'num_attention_heads' above 0");
  check_refused(R"({"num_hidden_layers": 1, "num_attention_heads": 1, "head_dim": 8, "torch_dtype": "int3"})",
                "'torch_dtype' is 'int3'");
  check_refused(R"({"num_hidden_layers": 2, "layer_types": ["full_attention", "telepathy"]})", "'telepathy'");
  check_refused(R"({"num_hidden_layers": 2, "layer_types": ["full_attention"]})", "a list of 2 names");
  CHECK_FALSE(lab::read_model_memory("/nowhere/config.json"));
  CHECK_FALSE(lab::read_model_memory("/tmp"));
}
