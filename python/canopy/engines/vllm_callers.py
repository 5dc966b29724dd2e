"""The options of the running engine. vLLM does not pass them to a policy or a tier, but its functions that make one have them.

A CachePolicy is made with its capacity only, and a SecondaryTierManager with the memory and the offloading options. All
tested releases make both within OffloadingConnector.__init__, in the same thread.
"""

from __future__ import annotations

import sys
from typing import Any


def variable_of_callers(name: str, attribute: str) -> Any:
    """Returns the variable `name` of the nearest caller in which it has that attribute. None: there is no such caller."""
    frame = sys._getframe(1)
    while frame is not None:
        value = frame.f_locals.get(name)
        if value is not None and hasattr(value, attribute):
            return value
        frame = frame.f_back
    return None


def tokens_by_group() -> dict[int, int]:
    """Returns the tokens of a chunk of each KV cache group; empty if no caller has the spec of the offloading."""
    spec = variable_of_callers("self", "blocks_per_chunk")
    groups = getattr(getattr(spec, "config", None), "groups", ())
    return {group.group_id: group.tokens_per_block * spec.blocks_per_chunk for group in groups}


def facts_of_model() -> dict[str, Any]:
    """Returns what else than the fields of vLLM's own tier of files changes the bytes of a chunk. Raises RuntimeError if they
    cannot be known."""
    config = variable_of_callers("vllm_config", "cache_config")
    layout = getattr(getattr(config, "cache_config", None), "kv_cache_layout", None)
    if layout is None or getattr(config, "model_config", None) is None:
        raise RuntimeError("canopy: vLLM does not say which layout its KV cache has, so records of another one could be taken "
                           "for its own; remove the tier of type CanopyTier")
    speculative = getattr(config, "speculative_config", None)
    cache = {name: getattr(config.cache_config, name, None) for name in (
        "cache_dtype", "kv_cache_dtype_skip_layers", "mamba_cache_dtype", "mamba_ssm_cache_dtype", "mamba_cache_mode")}
    return {
        "layout": layout,
        "runner": bool(getattr(config, "use_v2_model_runner", False)),
        "cache": text_of(cache),
        "model": facts_of_weights(config.model_config),
        "draft": facts_of_weights(getattr(speculative, "draft_model_config", None)),
    }


def facts_of_weights(model: Any) -> dict[str, Any] | None:
    if model is None:
        return None
    names = ("model", "revision", "quantization", "quantization_config", "hf_overrides", "dtype", "runner_type",
             "convert_type", "config_format")
    facts = {name: text_of(getattr(model, name, None)) for name in names}
    # The revision that a branch of a model on a hub was when the server started.
    return facts | {"commit": getattr(getattr(model, "hf_config", None), "_commit_hash", None)}


def text_of(value: Any) -> str:
    """Returns a text that is the same in each process."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {text_of(value[key])}" for key in sorted(value, key=str)) + "}"
    return getattr(value, "__qualname__", None) or str(value)
