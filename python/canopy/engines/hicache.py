"""Canopy's storages below SGLang's HiCache: install the package beside SGLang, and name it as its storage backend.

    --enable-hierarchical-cache --hicache-mem-layout page_first --hicache-storage-backend dynamic
    --hicache-storage-backend-extra-config '{"backend_name": "canopy", "module_path": "canopy.engines.hicache",
        "class_name": "CanopyStorage", "storage": {"slots": {"path": "/var/tmp/canopy", "capacity": "500GiB"}}}'

SGLang imports the class from here as an attribute of this module. If this module cannot serve a release of SGLang, it says so
and the start ends: SGLang has no other storage to go on with.

Keys beside SGLang's own:

    storage         where pages of the KV cache are kept: `slots` (a disk of this machine) or `redis`, with its options
    pools           the same for each further pool of a hybrid model: {"mamba": {"slots": {...}}, "swa": {...}}
    staging_bytes   memory for records under way (67108864)
    limit_s         seconds that a call of the storage may take (2)

Environment:

    CANOPY_ANY_RELEASE  1: a release that is not in RELEASES may be tried, if its interface is the one that is known
"""

from __future__ import annotations

import dataclasses
from typing import Any

from . import releases
from .sglang import release

RELEASES = ("0.5.23",)
"""Releases of SGLang with which this module was tested."""

# The functions of HiCacheStorage that SGLang calls, or that its storages must have.
STORAGE = {
    "register_mem_pool_host": ("self", "mem_pool_host"),
    "register_mem_host_pool_v2": ("self", "host_pool", "host_pool_name"),
    "on_host_pools_registered": ("self",),
    "batch_exists": ("self", "keys", "extra_info"),
    "batch_exists_v2": ("self", "keys", "pool_transfers", "extra_info"),
    "batch_get_v1": ("self", "keys", "host_indices", "extra_info"),
    "batch_set_v1": ("self", "keys", "host_indices", "extra_info"),
    "batch_get_v2": ("self", "transfers", "extra_info"),
    "batch_set_v2": ("self", "transfers", "extra_info"),
    "get": ("self", "key", "target_location", "target_sizes"),
    "batch_get": ("self", "keys", "target_locations", "target_sizes"),
    "set": ("self", "key", "value", "target_location", "target_sizes"),
    "batch_set": ("self", "keys", "values", "target_locations", "target_sizes"),
    "exists": ("self", "key"),
    "clear": ("self",),
    "get_stats": ("self",),
}
CONFIG = {
    "tp_rank", "tp_size", "pp_rank", "pp_size", "attn_cp_rank", "attn_cp_size", "dp_rank", "is_mla_model", "model_name",
    "enable_storage_metrics", "extra_config",
}
TRANSFER = {"name", "host_indices", "keys", "hit_policy"}


def __getattr__(name: str) -> Any:
    if name == "CanopyStorage":
        return storage_class()
    raise AttributeError(f"canopy.engines.hicache has no '{name}'; the class is CanopyStorage")


def storage_class() -> type:
    """Returns the class of the storage. Raises RuntimeError if the release of SGLang cannot be served."""
    why = releases.reason_of_release("SGLang", release(), RELEASES) or reason_of_interface()
    if why:
        raise RuntimeError(f"canopy: {why}; name another --hicache-storage-backend, or install a release that is known")
    from .hicache_storage import CanopyStorage

    return CanopyStorage


def reason_of_interface() -> str:
    """Returns what is unknown in SGLang's interface for storages; empty if nothing is."""
    from sglang.srt.mem_cache import hicache_storage as theirs

    wrong = releases.differences(theirs.HiCacheStorage, STORAGE)
    for kind, names in ((theirs.HiCacheStorageConfig, CONFIG), (theirs.PoolTransfer, TRANSFER)):
        wrong += sorted(names - {field.name for field in dataclasses.fields(kind)})
    return f"the storages of SGLang {release()} have another interface ({', '.join(wrong)})" if wrong else ""
