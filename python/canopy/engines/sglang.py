"""Canopy as SGLang's prefix cache: install the package beside SGLang, then `--radix-cache-backend canopy`.

SGLang finds register() through the entry point group `sglang.srt.plugins`, in each of its processes, and calls make() to
build a cache. If this module cannot serve a configuration, SGLang's default cache is used, and the log contains the reason.

Environment:

    CANOPY_POLICY       another eviction policy than --radix-eviction-policy: a name of canopy.plugins(), or MODULE:CLASS
    CANOPY_ACCOUNTING   sglang_unified (default): what counts as a use, as in SGLang's own default cache; sglang; default
    CANOPY_FEED         a name under which canopy-inspector and `canopy top` attach; replica and ranks are appended if
                        there are several
    CANOPY_SLOTS        what the index keeps: `slots` (the default on CPU), or its own numbers with a `table` on the device
    CANOPY_ANY_RELEASE  1: a release that is not in RELEASES is tried all the same
    CANOPY_STRICT       1: raises an exception instead of using the default cache

Tenants and retention (Engine.set_share, canopy.Retention) are not possible through this cache:

    tenant      extra_key is the tenant of a namespace, and cache_salt its salt. They part prefixes, but have no shares:
                EvictParams has only numbers of tokens, so a cache does not know for which request it evicts. extra_key
                also ends with lora_id if the request has an adapter (Req), with nothing between them.
    retention   no field of a request (GenerateReqInput, Req) says how long a prefix is worth keeping. `priority` is the
                only wish that reaches the cache: checkpoint() passes it on, and the eviction policy `priority` reads it.

Both were checked in 0.5.23. For shares, give the Engine the requests, as a scheduler of your own does.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import os
from typing import TYPE_CHECKING

from . import releases
from .sglang_settings import Settings, reason_of_policy, settings_of

if TYPE_CHECKING:
    from sglang.srt.mem_cache.base_prefix_cache import BasePrefixCache
    from sglang.srt.mem_cache.registry import TreeCacheBuildContext

NAME = "canopy"
RELEASES = ("0.5.22", "0.5.23")
"""Releases of SGLang with which the cache was tested."""
HYBRID_RELEASES = ("0.5.23",)
"""Those with which windows and states were tested."""

logger = logging.getLogger(__name__)


def register() -> None:
    """Registers the backend. Called once in each process of SGLang; a second call changes nothing."""
    try:
        from sglang.srt.mem_cache import registry

        known = registry.get_radix_cache_factory(NAME)
    except (ImportError, AttributeError) as missing:
        logger.warning(
            "canopy: SGLang %s has no --radix-cache-backend (%s); it exists since 0.5.13, and this package supports %s",
            release(), missing, ", ".join(RELEASES),
        )
        return
    if known is None:
        registry.register_radix_cache_backend(NAME, make)


def make(context: TreeCacheBuildContext) -> BasePrefixCache:
    """Returns the cache for a context, or SGLang's default cache. This is the factory that SGLang calls."""
    core = getattr(context.params, "tree_core_backend", None)
    try:
        why = reason_against(context)
        if not why:
            settings = settings_of(context)
            return build_hybrid(context, settings) if hybrid(context) else build(context.params, settings)
    except (AttributeError, ImportError, TypeError) as differs:
        if release() in (HYBRID_RELEASES if hybrid(context) else RELEASES):
            raise
        context.params.tree_core_backend = core
        why = f"SGLang {release()} has another interface ({differs})"
    if os.environ.get("CANOPY_STRICT") == "1":
        raise RuntimeError(f"canopy: {why}, and CANOPY_STRICT=1 forbids the default cache")
    logger.warning("canopy: %s; SGLang's default prefix cache is used", why)
    from sglang.srt.mem_cache.registry import default_radix_cache_factory

    return default_radix_cache_factory(context)


def build(params, settings: Settings) -> BasePrefixCache:
    from .sglang_cache import CanopyRadixCache
    from .sglang_table import CanopyTableCache

    on_host = str(getattr(params.token_to_kv_pool_allocator, "device", "cpu")).startswith("cpu")
    table = settings.slots == "table" or (settings.slots is None and not on_host)
    return (CanopyTableCache if table else CanopyRadixCache)(params, settings)


def hybrid(context: TreeCacheBuildContext) -> bool:
    """Returns true for a model with sliding windows or recurrent states."""
    return bool(context.is_hybrid_swa or context.is_hybrid_ssm)


def build_hybrid(context: TreeCacheBuildContext, settings: Settings) -> BasePrefixCache:
    """Returns SGLang's UnifiedRadixCache with Canopy as its tree core."""
    from sglang.srt.mem_cache.registry import create_unified_radix_cache

    from . import sglang_hybrid

    context.params.tree_core_backend = sglang_hybrid.register(settings)
    return create_unified_radix_cache(context, cache_class=sglang_hybrid.CanopyUnifiedRadixCache)


def release() -> str:
    """Returns the installed release of SGLang."""
    try:
        return importlib.metadata.version("sglang")
    except importlib.metadata.PackageNotFoundError:
        return getattr(importlib.import_module("sglang"), "__version__", "of an unknown release")


def reason_against(context: TreeCacheBuildContext) -> str:
    """Returns the reason for using the default cache; empty if there is none."""
    why = releases.reason_of_release("SGLang", release(), RELEASES)
    if why:
        return why
    params = context.params
    if context.disable_radix_cache or params.disable:
        return "the radix cache is disabled"
    if context.enable_hierarchical_cache:
        return "a host tier (hierarchical cache) is not supported"
    if params.component_registry_override or params.enable_session_radix_cache:
        return "session-aware caching and components of other kinds are not supported"
    if (getattr(context.server_args, "kv_canary_sweep_interval", 0) or 0) > 0:
        return "the sweep of the KV canary (--kv-canary-sweep-interval) reads SGLang's own tree"
    page = getattr(params.token_to_kv_pool_allocator, "page_size", params.page_size)
    if page != params.page_size:
        return f"the allocator's pages ({page} tokens) are not the cache's ({params.page_size})"
    return (
        reason_of_model(context)
        or reason_of_arguments()
        or reason_of_policy(params.eviction_policy, params.eviction_policy_config)
    )


def reason_of_model(context: TreeCacheBuildContext) -> str:
    """Returns a reason in the windows and states of a model for using the default cache; empty if there is none."""
    params = context.params
    if not hybrid(context):
        return ""
    if releases.reason_of_release("SGLang", release(), HYBRID_RELEASES):
        return f"models with sliding windows or recurrent states are supported with {', '.join(HYBRID_RELEASES)} only: install that release"
    if context.is_hybrid_swa and context.full_tokens_per_layer == 0:
        return "every layer of this model has a sliding window, and a tree without full attention is not supported"
    if getattr(params.token_to_kv_pool_allocator, "swa_req_ring", False) or not params.swa_gates_prefix_match:
        return "this model's windows belong to requests and not to the prefix cache"
    for pool in (params.token_to_kv_pool_allocator, params.req_to_token_pool):
        if ".unified_" in type(pool).__module__:
            return f"a pool that windows or states share with full attention ({type(pool).__name__}) was not tested"
    if hasattr(params.req_to_token_pool, "req_to_c128_sidecar"):
        return "this model has states of a kind that is not supported (C128)"
    return ""


def reason_of_arguments() -> str:
    """Returns a reason in the launch arguments for using the default cache; empty if there is none."""
    from sglang.srt.runtime_context import get_disagg, get_memory, get_serving

    memory = get_memory()
    for flag in ("enable_lmcache", "enable_flexkv", "enable_unified_cache_external_linker"):
        if getattr(memory, flag, False) is True:
            return f"{flag} selects another cache"
    if getattr(get_serving(), "enable_streaming_session", False) is True:
        return "streaming sessions run on SGLang's own cache"
    if getattr(get_disagg(), "disaggregation_mode", "null") in ("prefill", "decode"):
        return "disaggregated prefill and decode are not supported yet"
    return ""
