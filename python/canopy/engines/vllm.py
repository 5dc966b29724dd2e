"""Canopy inside vLLM: install the package beside vLLM, and name it in vLLM's options.

The order in which vLLM's own prefix cache, on the device, gives its blocks away:

    --scheduler-cls canopy.engines.vllm.scheduler

The scheduler stays vLLM's (see scheduler() below). The order in which the CPU tier of the offloading connector evicts, for
example `hazard`:

    --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config":
        {"cpu_bytes_to_use": 100000000000, "eviction_policy": "hazard", "cache_policy_module_path": "canopy.engines.vllm"}}'

`eviction_policy`, and for the device `canopy` in --additional-config '{"canopy": "hazard"}', is

    canopy              the policy of $CANOPY_POLICY, or hazard (the default for the device)
    hazard, lfu, ...    a policy of canopy.plugins()
    canopy:lru          the same, for names that vLLM has itself (lru, arc)
    canopy:{"slru": {"protect_after": 3}}   a policy with options; for the device also the object itself, not as text
    my_policies:Mine    a class of a module: a canopy.Policy

vLLM imports it from here as an attribute of this module. A tier below the CPU, on a disk or on Redis, is CanopyTier (see
vllm_tier.py). If this module cannot serve a release of vLLM, the device and the CPU tier evict in vLLM's own order of lru, and
the log has the reason; a tier below is refused.

Environment:

    CANOPY_POLICY       the policy for `canopy`, in one of the forms above
    CANOPY_FEED         a name under which canopy-inspector and `canopy top` attach to the CPU tier; to the device: NAME-gpu
    CANOPY_ANY_RELEASE  1: a release that is not in RELEASES may be tried, if its interface is one that is known
    CANOPY_STRICT       1: raises an exception instead of using vLLM's own order
"""

from __future__ import annotations

import functools
import importlib
import json
import logging
import os
import time
import weakref
from typing import Any, Iterator

from .. import _core
from . import releases

RELEASES = ("0.31.0", "0.32.0", "0.33.0")
"""Releases of vLLM with which this module was tested."""

DEFAULT = "hazard"
PREFIX = "canopy:"

logger = logging.getLogger("vllm.canopy")  # below vLLM's own logger, whose lines are shown

# The functions of CachePolicy and their parameters, by release. Another interface is not served.
COMMON = {
    "__init__": ("self", "cache_capacity"),
    "get": ("self", "key"),
    "remove": ("self", "key"),
    "touch": ("self", "keys", "req_context"),
    "on_store_miss": ("self", "keys", "req_context"),
    "on_request_finished": ("self", "key_groups", "insertion_only_keys", "reused_keys", "req_context"),
    "evict": ("self", "n", "protected"),
    "clear": ("self",),
    "mark_evictable": ("self", "key"),
    "mark_non_evictable": ("self", "key"),
}
INTERFACES = {
    "0.32": COMMON | {"insert": ("self", "key", "chunk")},
    "0.33": COMMON
    | {"insert": ("self", "key", "chunk", "req_context"), "on_request_access": ("self", "keys", "req_context")},
}


# The functions of SecondaryTierManager that the tier below is called by, or calls.
TIER = {
    "__init__": ("self", "offloading_spec", "primary_kv_view", "tier_type", "backpressure_detector"),
    "lookup": ("self", "key", "req_context"),
    "submit_store": ("self", "job_metadata"),
    "submit_load": ("self", "job_metadata"),
    "get_finished_jobs": ("self",),
    "on_new_request": ("self", "req_context"),
    "on_request_finished": ("self", "req_context"),
    "on_schedule_end": ("self", "context"),
    "take_events": ("self",),
    "touch": ("self", "keys", "req_context"),
    "drain_jobs": ("self",),
    "shutdown": ("self",),
}

# The functions of vLLM's queue of free blocks, whose place BlockQueue takes, and those of KVCacheManager that are wrapped: their
# first parameters.
QUEUE = {
    "__init__": ("self", "blocks"),
    "popleft": ("self",),
    "popleft_n": ("self", "n"),
    "remove": ("self", "block"),
    "append": ("self", "block"),
    "append_n": ("self", "blocks"),
    "prepend_n": ("self", "blocks"),
    "get_all_free_blocks": ("self",),
    "iter_blocks_after": ("self", "cursor"),  # only a lazy CPU offload calls it, which is refused
}
MANAGER = {
    "get_computed_blocks": ("self", "request"),
    "get_computed_blocks_for_connector": ("self", "request"),
    "free": ("self", "request"),
    "pop_blocks_for_free": ("self", "request"),
    "reset_prefix_cache": ("self",),
}
EVERY = 0.1  # seconds between two looks for an inspector


def __getattr__(name: str) -> Any:
    if name == "CanopyTier":
        return tier_class()
    try:
        policy = policy_named(name)
    except ValueError as wrong:
        raise AttributeError(f"canopy.engines.vllm: {wrong}") from None
    return policy_class(policy)


def policy_given(extra: Any) -> str:
    """Returns `canopy` of vLLM's additional_config as text. Raises ValueError if it is neither text nor an object."""
    given = extra.get("canopy") if isinstance(extra, dict) else None
    if isinstance(given, dict):
        return json.dumps(given)
    if given is None or isinstance(given, str):
        return given or "canopy"
    raise ValueError(f"additional_config: 'canopy' is {given!r}; expected the name of a policy, or one name with its options, "
                     'such as {"slru": {"protect_after": 3}}')


def policy_named(name: str) -> str:
    """Returns the policy that `eviction_policy` names, as text. Raises ValueError if it names none."""
    if name.startswith(PREFIX):
        return name.removeprefix(PREFIX)
    if name == "canopy":
        return (os.environ.get("CANOPY_POLICY") or DEFAULT).removeprefix(PREFIX)
    known = known_policies()
    if name in known or ":" in name:
        return name
    raise ValueError(f"there is no policy '{name}'; expected one of {', '.join(known)}, or MODULE:CLASS")


def known_policies() -> list[str]:
    return sorted(row["name"] for row in _core.plugins() if row["interface"] == "EvictionStrategy")


def policy_of(text: str) -> Any:
    """Returns a policy as canopy.Index takes it: a name, a dictionary with options, or an object."""
    if text.startswith("{"):
        return json.loads(text)
    module, colon, name = text.partition(":")
    return getattr(importlib.import_module(module), name)() if colon else text


@functools.cache
def policy_class(policy: str) -> type:
    """Returns the class for vLLM's CPU tier: one that evicts in the order of the policy, or vLLM's own lru."""
    why = reason_against()
    if why:
        if os.environ.get("CANOPY_STRICT") == "1":
            raise RuntimeError(f"canopy: {why}, and CANOPY_STRICT=1 forbids vLLM's own order")
        logger.warning("canopy: %s; the CPU tier evicts in vLLM's own order of lru", why)
        from vllm.v1.kv_offload.cpu.policies.lru import LRUCachePolicy

        return LRUCachePolicy
    from .vllm_policy import CanopyCachePolicy

    return type("CanopyCachePolicy", (CanopyCachePolicy,), {"policy": policy, "__module__": __name__})


def scheduler(*given: Any, vllm_config: Any, **named: Any) -> Any:
    """Makes the scheduler that vLLM itself would have made, and puts its prefix cache in the order of a policy.

    vLLM calls this as the class that --scheduler-cls names. Raises ValueError if the policy is none."""
    policy = policy_named(policy_given(getattr(vllm_config, "additional_config", None)))
    _core.Chunks(1, policy_of(policy))  # raises ValueError for a name or an option that there is not
    made = own_scheduler(vllm_config)(*given, vllm_config=vllm_config, **named)
    why = reason_of_release() or reason_of_device() or reason_of_server(vllm_config, made)
    if not why:
        from .vllm_device import attach

        try:
            attach(made.kv_cache_manager, policy)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
    if why:
        if os.environ.get("CANOPY_STRICT") == "1":
            raise RuntimeError(f"canopy: {why}, and CANOPY_STRICT=1 forbids vLLM's own order")
        logger.warning("canopy: %s; vLLM's own prefix cache evicts in vLLM's own order", why)
    return made


def own_scheduler(vllm_config: Any) -> type:
    """Returns the class of scheduler that vLLM takes where none is named."""
    config = vllm_config.scheduler_config
    if getattr(vllm_config, "diffusion_config", None) is not None:
        module = importlib.import_module("vllm.v1.core.sched.diffusion_scheduler")
        name = "DiffusionAsyncScheduler" if config.async_scheduling else "DiffusionScheduler"
        if hasattr(module, name):  # 0.31 has no other scheduler for those that are not asynchronous
            return getattr(module, name)
    named, config.scheduler_cls = config.scheduler_cls, None
    try:
        return config.get_scheduler_cls()
    finally:
        config.scheduler_cls = named


def reason_of_device() -> str:
    """Returns the reason why the order of vLLM's own prefix cache cannot be served; empty if there is none."""
    from vllm.v1.core.kv_cache_manager import KVCacheManager
    from vllm.v1.core.kv_cache_utils import FreeKVCacheBlockQueue, KVCacheBlock

    queue, manager = releases.parameters_of(FreeKVCacheBlockQueue), releases.parameters_of(KVCacheManager)
    wrong = {name for name in queue.keys() | QUEUE.keys() if queue.get(name) != QUEUE.get(name)}
    wrong |= {name for name, expected in MANAGER.items() if manager.get(name, ())[: len(expected)] != expected}
    wrong |= {name for name in ("block_id", "_block_hash") if name not in KVCacheBlock.__slots__}
    return f"the prefix cache of vLLM {release()} has another interface ({', '.join(sorted(wrong))})" if wrong else ""


def reason_of_server(vllm_config: Any, made: Any) -> str:
    """Returns the reason why this server's prefix cache stays in vLLM's own order; empty if there is none."""
    if getattr(vllm_config, "diffusion_config", None) is not None:
        return "the prefix cache of a diffusion model was not tested"
    if not made.kv_cache_manager.enable_caching:
        return "prefix caching is off"
    for name, extra in connectors_of(getattr(vllm_config, "kv_transfer_config", None)):
        if name == "SimpleCPUOffloadConnector" and extra.get("lazy_offload"):
            return "a lazy SimpleCPUOffloadConnector copies blocks in vLLM's own order"
    return ""


def connectors_of(config: Any) -> Iterator[tuple[str, dict]]:
    """Returns the names and the options of the KV connectors, those within a MultiConnector as well."""
    if config is None:
        return
    rows = [{"kv_connector": config.kv_connector, "kv_connector_extra_config": config.kv_connector_extra_config}]
    for row in rows:
        extra = row.get("kv_connector_extra_config") or {}
        yield row.get("kv_connector") or "", extra
        if row.get("kv_connector") == "MultiConnector":
            rows += extra.get("connectors", ())


def look_on(of: weakref.ref) -> None:
    """Serves inspectors of an object's feeds while there are no calls, until its `cores()` are gone."""
    while (one := of()) is not None and (cores := one.cores()):
        for core in cores:
            core.poll()
        del one, cores, core
        time.sleep(EVERY)


def tier_class() -> type:
    """Returns the tier below the CPU. Raises RuntimeError if the release of vLLM cannot be served."""
    why = reason_of_release() or reason_of_tier()
    if why:
        raise RuntimeError(f"canopy: {why}; remove the tier of type CanopyTier, or install a release that is known")
    from .vllm_tier import CanopyTier

    return CanopyTier


def release() -> str:
    """Returns the release of vLLM that is imported."""
    try:
        return importlib.import_module("vllm._version").__version__.partition("+")[0]
    except (ImportError, AttributeError):
        return "of an unknown release"


def reason_of_release() -> str:
    return releases.reason_of_release("vLLM", release(), RELEASES)


def reason_of_tier() -> str:
    """Returns the reason why the tier below the CPU cannot be served; empty if there is none."""
    from vllm.v1.kv_offload.tiering.base import SecondaryTierManager

    wrong = releases.differences(SecondaryTierManager, TIER)
    return f"the tiers of vLLM {release()} have another interface ({', '.join(wrong)})" if wrong else ""


def reason_against() -> str:
    """Returns the reason for using vLLM's own order; empty if there is none."""
    return reason_of_release() or ("" if interface() else f"the cache policies of vLLM {release()} have another interface")


@functools.cache
def interface() -> str:
    """Returns the name of vLLM's interface for cache policies in INTERFACES; empty if it is another one."""
    from vllm.v1.kv_offload.base import ReqContext
    from vllm.v1.kv_offload.cpu.policies.base import CachePolicy, ChunkStatus

    if not isinstance(getattr(ReqContext("canopy"), "_offload_key_positions", None), dict):
        return ""
    if not {"ref_cnt", "chunk_id"} <= {name for name, *_ in ChunkStatus._fields_}:
        return ""
    theirs = releases.parameters_of(CachePolicy)
    return next((name for name, ours in INTERFACES.items() if theirs == ours), "")
