"""Small language models with random weights, written on the spot: nothing is fetched.

Weights that the servers make up themselves (`--load-format dummy`) are below 0.001: such a model answers by the prompt's last token
alone, whatever its KV cache contains. The answers of these depend on it, and the probability of each token of an answer does so
finely.
"""
import pathlib

COMMON = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 512,
          "max_position_embeddings": 2048, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "tie_word_embeddings": False,
          "dtype": "float32"}
MODELS = {
    "llama": ("LlamaForCausalLM", {"num_hidden_layers": 2}),
    # SGLang makes a pool for windows where a configuration says is_hybrid_swa.
    "cohere2": ("Cohere2ForCausalLM", {"num_hidden_layers": 4, "layer_types": ["sliding_attention", "full_attention"] * 2,
                                       "sliding_window": 64, "logit_scale": 1.0, "tie_word_embeddings": True,
                                       "is_hybrid_swa": True, "hybrid_layer_pattern": [1, 0, 1, 0]}),
    "lfm2": ("Lfm2ForCausalLM", {"num_hidden_layers": 4, "layer_types": ["conv", "full_attention"] * 2, "conv_L_cache": 3,
                                 "block_auto_adjust_ff_dim": False}),
}
def write(folder, kind="llama"):
    """Writes the configuration and the weights of a model into a folder. The same in each run."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    architecture, more = MODELS[kind]
    config = transformers.AutoConfig.for_model(kind, **(COMMON | more), architectures=[architecture])
    model = transformers.AutoModelForCausalLM.from_config(config)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() > 1:  # not a norm's
                size = 0.8 if "embed" in name else 0.7 if "conv" in name else 1.5
                weights.normal_(0, size / weights[0].numel() ** 0.5, generator=generator)
    model.save_pretrained(pathlib.Path(folder))


def others(answers, expected):
    """Returns how many of the answers are not those expected. An answer is a list of pairs: a token and the logarithm of its
    probability. What is computed from the same cache in other batches differs by less than 0.0001."""
    def same(one, two):
        return len(one) == len(two) and all(a == b and abs(p - q) < 0.001 for (a, p), (b, q) in zip(one, two))

    return abs(len(answers) - len(expected)) + sum(not same(one, two) for one, two in zip(answers, expected))
