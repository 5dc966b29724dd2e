"""The settings of the prefix cache for SGLang, from SGLang's parameters and the environment (see sglang.py)."""

from __future__ import annotations

import dataclasses
import importlib
import os
from typing import TYPE_CHECKING, Any, Mapping

if TYPE_CHECKING:
    from sglang.srt.mem_cache.registry import TreeCacheBuildContext

# Canopy's names for SGLang's policies and their options. tlru needs SGLang's own tree.
POLICIES = {name: name for name in ("lru", "lfu", "slru", "fifo", "filo", "mru", "priority")}
OPTIONS = {"slru": {"protected_threshold": "protect_after"}}


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of the cache, in addition to SGLang's own parameters."""

    policy: Any = "lru"
    accounting: str = "sglang_unified"
    feed: str | None = None
    slots: str | None = None  # "slots" or "table"; None: by the device


def reason_of_policy(name: str, options: Mapping[str, Any] | None) -> str:
    if os.environ.get("CANOPY_POLICY"):
        return ""
    if name.lower() not in POLICIES:
        return f"the eviction policy '{name}' needs SGLang's own tree"
    for option in options or {}:
        if option not in OPTIONS.get(name.lower(), {}):
            return f"the eviction policy '{name}' has no option '{option}' here"
    return ""


def settings_of(context: TreeCacheBuildContext) -> Settings:
    """Returns SGLang's parameters and the environment as settings."""
    params, feed = context.params, os.environ.get("CANOPY_FEED") or None
    if feed and (number := replica()) is not None:
        feed += f"-dp{number}"
    if feed and context.tp_size * params.pp_size > 1:
        feed += f"-{params.pp_rank}-{context.tp_rank}"
    wanted = os.environ.get("CANOPY_POLICY")
    return Settings(
        policy=policy_of(wanted) if wanted else sglang_policy(params.eviction_policy, params.eviction_policy_config),
        accounting=os.environ.get("CANOPY_ACCOUNTING") or Settings.accounting,
        feed=feed,
        slots=slots_of(os.environ.get("CANOPY_SLOTS")),
    )


def replica() -> int | None:
    """Returns the number of this replica (data parallelism); None if it is the only one, or if SGLang does not say."""
    try:
        from sglang.srt.runtime_context import get_parallel

        number = get_parallel().dp_rank
    except (ImportError, AttributeError, RuntimeError, ValueError):
        return None
    return number if isinstance(number, int) else None


def slots_of(text: str | None) -> str | None:
    if text not in (None, "", "slots", "table"):
        raise ValueError(f"CANOPY_SLOTS is {text!r}; expected slots or table")
    return text or None


def sglang_policy(name: str, options: Mapping[str, Any] | None) -> Any:
    """Returns a policy of SGLang with its options. REQUIRES: reason_of_policy returns no reason against it."""
    ours = POLICIES[name.lower()]
    names = OPTIONS.get(name.lower(), {})
    return {ours: {names[option]: value for option, value in options.items()}} if options else ours


def policy_of(text: str) -> Any:
    """Returns the policy for a name, or for MODULE:CLASS of a policy in Python."""
    module, colon, name = text.partition(":")
    return getattr(importlib.import_module(module), name)() if colon else text
