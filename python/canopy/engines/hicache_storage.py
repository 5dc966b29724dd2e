"""The storage below SGLang's HiCache: records on a disk of this machine (`slots`) or on a server (`redis`), each checked when
it is read. It needs SGLang, so only hicache.storage_class() imports it.

The contract is HiCacheStorage of SGLang 0.5.23: calls for batches of pages, from SGLang's threads for storages, each
of which waits for its end. The bytes go between SGLang's host pools and the records in C++ (canopy._core.ChunkStorage), without
a tensor in between and without Python's lock. A storage that is full, damaged, stopped or out of reach costs hits, not answers:
what it does not have is computed. An error here is logged once, and the pool's storage is empty from then on.
"""

from __future__ import annotations

import atexit
import dataclasses
import difflib
import json
import logging
import time
import weakref
from typing import TYPE_CHECKING, Any, Sequence

import torch
from sglang.srt.mem_cache.hicache_storage import HiCacheStorage, PoolHitPolicy, PoolName, PoolTransferResult

from .. import _core
from .sglang import release
from .sglang_settings import replica
from .storages import LIMIT, STAGING, Troubles, in_folder, text_of

if TYPE_CHECKING:
    from sglang.srt.mem_cache.hicache_storage import HiCacheStorageConfig, HiCacheStorageExtraInfo, PoolTransfer
    from sglang.srt.mem_cache.pool_host import HostKVCache

logger = logging.getLogger("sglang.canopy")

OURS = {"storage", "pools", "staging_bytes", "limit_s"}
THEIRS = {"backend_name", "module_path", "class_name", "interface_v1", "file_storage_path"}  # SGLang's own
EXAMPLE = '"storage": {"slots": {"path": "/var/tmp/canopy", "capacity": "500GiB"}}'


@dataclasses.dataclass
class Pool:
    """A host pool of SGLang, and the storage of its pages."""

    core: _core.ChunkStorage | None  # None: its pages have no bytes, or it was given up
    page: int = 1  # tokens
    bytes: int = 0  # bytes of a page
    no_bytes: bool = False  # the pool only gives out numbers; other pools have the bytes
    memory: Sequence[torch.Tensor] = ()  # memory of the pages: it lives as long as the storage
    troubles: Troubles | None = None


class CanopyStorage(HiCacheStorage):
    def __init__(self, storage_config: HiCacheStorageConfig, kwargs: dict[str, Any] | None = None) -> None:
        _core.quiet_exit()
        self._config = storage_config
        options = storage_config.extra_config
        self._storages = storages_of(options)
        self._staging = int(options.get("staging_bytes", STAGING))
        self._limit = float(options.get("limit_s", LIMIT))
        options["interface_v1"] = 1  # SGLang reads it when this returns, and then calls batch_get_v1() and batch_set_v1()
        self._hosts: dict[str, HostKVCache] = {}
        self._pools: dict[str, Pool] = {}
        self._open = False
        self._metrics = None
        atexit.register(close, weakref.ref(self))

    # ---- The pools ----

    def register_mem_pool_host(self, mem_pool_host: HostKVCache) -> None:
        super().register_mem_pool_host(mem_pool_host)
        self._hosts[PoolName.KV.value] = mem_pool_host

    def register_mem_host_pool_v2(self, host_pool: HostKVCache, host_pool_name: str) -> None:
        super().register_mem_host_pool_v2(host_pool, host_pool_name)
        name = str(host_pool_name)
        self._hosts.setdefault(name, host_pool)
        if self._open and name not in self._pools:  # it came later: an error must not end the server
            try:
                self._pools[name] = self._opened(name)
            except Exception as error:
                self._pools[name] = Pool(None)
                logger.error("canopy: pool %s has no storage: %s", name, error)

    def on_host_pools_registered(self) -> None:
        self._open = True
        for name in self._hosts:
            self._pools[name] = self._opened(name)

    def _opened(self, name: str) -> Pool:
        """Opens the storage of a pool. Raises ValueError or RuntimeError with what must be changed."""
        host, config = self._hosts[name], self._config
        columns = columns_of(host)
        if columns is None:
            return Pool(None, no_bytes=True)
        size = sum(column[1] for column in columns)
        if name not in self._storages:
            raise ValueError(
                f"the pool '{name}' (pages of {size} bytes) needs a storage of its own; add to the options of this backend: "
                f'"pools": {{"{name}": {{"slots": {{"path": ..., "capacity": ...}}}}}}'
            )
        storage = in_folder(self._storages[name], folder_of(config))
        core = _core.ChunkStorage.of_columns(
            storage, columns, host.size // host.page_size, meaning(config, name, host, columns), self._staging, self._limit
        )
        if replicated(config, name) and config.tp_size > 1 and not core.shared:
            core.close()
            raise RuntimeError(
                f"the {config.tp_size} ranks of this model read pages that only the first one writes, so the pool '{name}' "
                f"needs a storage that processes share, such as redis; '{''.join(storage)}' serves one process"
            )
        logger.info(
            "canopy: pages of %d bytes of the pool %s are kept on %s (SGLang %s)", size, name, "".join(storage), release()
        )
        return Pool(core, host.page_size, size, memory=tensors_of(host), troubles=Troubles(logger, f"the pool {name}", "page"))

    # ---- What SGLang calls ----

    def batch_exists(self, keys: list[str], extra_info: HiCacheStorageExtraInfo | None = None) -> int:
        return count_of(self._have(PoolName.KV.value, keys, gaps=False))

    def batch_exists_v2(
        self,
        keys: list[str],
        pool_transfers: list[PoolTransfer] | None = None,
        extra_info: HiCacheStorageExtraInfo | None = None,
    ) -> PoolTransferResult:
        pages = self.batch_exists(keys)
        hits = {PoolName.KV: pages} if pages else {}
        restorable = list(range(1, pages + 1))  # numbers of pages that each pool could bring back
        for transfer in pool_transfers or ():
            if not restorable:
                break
            trailing = transfer.hit_policy == PoolHitPolicy.TRAILING_PAGES
            if not trailing and transfer.hit_policy != PoolHitPolicy.ALL_PAGES:
                continue  # a pool without a verdict; SGLang takes what the KV pages say
            there = self._have(str(transfer.name), keys[:pages], gaps=trailing)
            window = max(1, len(transfer.keys or ())) if trailing else pages
            whole = set(lengths_of(there, window))
            if whole:
                hits[transfer.name] = max(whole)
            restorable = [length for length in restorable if length in whole]
        return PoolTransferResult(restorable[-1] if restorable else 0, hits, restorable)

    def batch_get_v1(
        self, keys: list[str], host_indices: torch.Tensor, extra_info: HiCacheStorageExtraInfo | None = None
    ) -> list[bool]:
        return self._move(True, PoolName.KV.value, keys, host_indices)

    def batch_set_v1(
        self, keys: list[str], host_indices: torch.Tensor, extra_info: HiCacheStorageExtraInfo | None = None
    ) -> list[bool]:
        return self._move(False, PoolName.KV.value, keys, host_indices)

    def batch_get_v2(
        self, transfers: list[PoolTransfer], extra_info: HiCacheStorageExtraInfo | None = None
    ) -> dict[str, list[bool]]:
        return {one.name: self._move(True, str(one.name), one.keys or [], one.host_indices) for one in transfers}

    def batch_set_v2(
        self, transfers: list[PoolTransfer], extra_info: HiCacheStorageExtraInfo | None = None
    ) -> dict[str, list[bool]]:
        return {one.name: self._move(False, str(one.name), one.keys or [], one.host_indices) for one in transfers}

    def exists(self, key: str) -> bool:
        return self.batch_exists([key]) == 1

    # SGLang requires these four, and calls none of them: the constructor chose those for whole batches.

    def get(self, key, target_location=None, target_sizes=None):
        return None

    def batch_get(self, keys, target_locations=None, target_sizes=None):
        return [None] * len(keys)

    def set(self, key, value=None, target_location=None, target_sizes=None):
        return False

    def batch_set(self, keys, values=None, target_locations=None, target_sizes=None):
        return False

    def clear(self) -> bool:
        """Forgets all pages, for `POST /hicache/storage-backend/clear`."""
        done = True
        for name, pool in self._pools.items():
            try:
                done &= pool.core is None or pool.core.clear()
            except Exception as error:
                self._give_up(name, error)
        if not done:
            logger.warning("canopy: the storage is out of reach; it may have pages again when it is opened the next time")
        return done

    def get_stats(self):
        """Returns the calls since the last time, for SGLang's metrics (--enable-metrics)."""
        stats, self._metrics = self._metrics, None
        return stats

    def close(self) -> None:
        for name, pool in self._pools.items():
            core, pool.core = pool.core, None
            if core is None:
                continue
            try:
                figures = core.figures()
                core.close()
                logger.info("canopy: the storage of the pool %s is closed: %s", name, text_of(figures))
            except Exception as error:
                logger.error("canopy: %s: %s; a storage could not be closed", type(error).__name__, error)

    def figures(self) -> dict[str, dict[str, Any]]:
        """Returns for each pool counts of pages: stored, known, loaded, absent, damaged, failed, refused; pauses; and the
        flaw of the last damaged record."""
        return {name: pool.core.figures() for name, pool in self._pools.items() if pool.core is not None}

    # ---- Below them ----

    def _have(self, name: str, keys: list[str], gaps: bool) -> list[bool]:
        pool = self._pools.get(name) or Pool(None)
        core = pool.core  # it may be given up meanwhile
        if core is not None:
            try:
                return core.have(keys, gaps)
            except Exception as error:
                self._give_up(name, error)
        return [pool.no_bytes] * len(keys)

    def _move(self, load: bool, name: str, keys: list[str], host_indices: torch.Tensor | None) -> list[bool]:
        pool = self._pools.get(name) or Pool(None)
        core = pool.core
        if core is None or not keys:
            return [pool.no_bytes] * len(keys)
        if host_indices is None or len(host_indices) != len(keys) * pool.page:
            logger.error("canopy: %d pages of %d tokens came without as many places in the pool %s", len(keys), pool.page, name)
            return [False] * len(keys)
        try:
            begun = time.perf_counter()
            good = core.run(load, keys, (host_indices[:: pool.page] // pool.page).tolist())
            self._count(load, pool, sum(good), time.perf_counter() - begun)
            pool.troubles.look(core.figures())
            return good
        except Exception as error:
            self._give_up(name, error)
            return [False] * len(keys)

    def _count(self, load: bool, pool: Pool, pages: int, seconds: float) -> None:
        if not self._config.enable_storage_metrics or not pages:
            return
        if self._metrics is None:
            from sglang.srt.observability.metrics_collector import StorageMetrics

            self._metrics = StorageMetrics()
        stats = self._metrics
        (stats.prefetch_pgs if load else stats.backup_pgs).append(pages)
        (stats.prefetch_bandwidth if load else stats.backup_bandwidth).append(pages * pool.bytes / 1e9 / seconds)

    def _give_up(self, name: str, error: Exception) -> None:
        """Makes the storage of a pool empty. Calls under way end first, so that nothing touches SGLang's memory afterwards."""
        pool = self._pools[name]
        core, pool.core = pool.core, None
        if core is None:
            return  # it was closed, or another thread was first
        logger.error("canopy: %s: %s; the storage of the pool %s is empty from now on", type(error).__name__, error, name,
                     exc_info=error)
        try:
            core.close()
        except Exception as another:
            logger.error("canopy: %s: %s; it could not be closed", type(another).__name__, another)


def close(of: weakref.ref[CanopyStorage]) -> None:
    storage = of()
    if storage is not None:
        storage.close()


def storages_of(options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the storage of each pool, by its name. Raises ValueError for options that are not as they should be."""
    for key in options.keys() - OURS - THEIRS:
        near = difflib.get_close_matches(key, OURS, 1)
        if near:
            raise ValueError(f"canopy: unknown option '{key}'; do you mean '{near[0]}'?")
        logger.warning("canopy: the option '%s' has no meaning here; there are %s", key, ", ".join(sorted(OURS)))
    if "storage" not in options:
        raise ValueError(f"canopy: the options of this backend say where pages are kept: {EXAMPLE}")
    return {PoolName.KV.value: options["storage"], **options.get("pools", {})}


def tensors_of(host: HostKVCache) -> list[torch.Tensor]:
    buffers = host.get_hybrid_pool_buffer() if hasattr(host, "get_hybrid_pool_buffer") else host.kv_buffer
    return list(buffers) if isinstance(buffers, (list, tuple)) else [buffers]


def columns_of(host: HostKVCache) -> list[tuple[int, int, int]] | None:
    """Returns where the parts of a host pool's pages are, as (address, bytes, step): the part of page i is at address +
    i * step. None: its pages have no bytes. Raises ValueError if the pool has another shape."""
    count, page = host.size // host.page_size, host.page_size
    some = sorted({0, min(1, count - 1), count // 2, count - 1})
    try:
        found = host.get_page_buffer_meta(torch.cat([torch.arange(at * page, (at + 1) * page) for at in some]))
    except (ValueError, NotImplementedError, AttributeError) as error:
        raise ValueError(f"{type(host).__name__} cannot be read page by page ({error}); try --hicache-mem-layout page_first")
    if found is None:
        return None
    addresses, sizes = found
    parts = len(addresses) // len(some)
    steps = [(addresses[parts + i] - addresses[i]) // (some[1] - some[0]) if count > 1 else 0 for i in range(parts)]
    regular = len(sizes) == len(addresses) == parts * len(some) and all(
        addresses[row * parts + i] == addresses[i] + at * steps[i] and sizes[row * parts + i] == sizes[i]
        for row, at in enumerate(some) for i in range(parts)
    )
    ranges = [(one.data_ptr(), one.data_ptr() + one.nbytes) for one in tensors_of(host)]
    inside = all(
        any(low <= addresses[i] and addresses[i] + (count - 1) * steps[i] + sizes[i] <= high for low, high in ranges)
        for i in range(parts)
    )
    if not regular or not inside:
        raise ValueError(f"the pages of {type(host).__name__} are not at regular places in its memory")
    return list(zip(addresses, sizes, steps))


def replicated(config: HiCacheStorageConfig, name: str) -> bool:
    """Returns True if all ranks of tensor parallelism have the same bytes in a pool, of which one rank writes them."""
    return config.is_mla_model and name != PoolName.MAMBA.value


def folder_of(config: HiCacheStorageConfig) -> str:
    """Returns the name of this process among those of the server; empty if it is the only one."""
    number = replica()
    places = (("replica", number, 1 if number is None else 2), ("dp", config.dp_rank, config.dp_rank + 1),
              ("tp", config.tp_rank, config.tp_size), ("pp", config.pp_rank, config.pp_size),
              ("cp", config.attn_cp_rank, config.attn_cp_size))
    return "-".join(f"{kind}{rank}" for kind, rank, of in places if of > 1)


def meaning(config: HiCacheStorageConfig, name: str, host: HostKVCache, columns: list[tuple[int, int, int]]) -> str:
    """Returns a text that says what the bytes of a page mean."""
    fields = {
        "model": config.model_name,
        "model_arguments": arguments_of_model(),
        "pool": name,
        "class": type(host).__name__,
        "layout": getattr(host, "layout", None),
        "dtype": str(getattr(host, "dtype", None)),
        "page_size": host.page_size,
        "layers": [getattr(host, "start_layer", None), getattr(host, "end_layer", None)],
        "parts": [column[1] for column in columns],
        "pp": [config.pp_rank, config.pp_size],
        "cp": [config.attn_cp_rank, config.attn_cp_size],
        "tp": config.tp_size if replicated(config, name) else [config.tp_rank, config.tp_size],
    }
    return "SGLang " + json.dumps(fields, sort_keys=True)


def arguments_of_model() -> dict[str, Any]:
    """Returns launch arguments that change what bytes mean and leave no trace in a pool: both kinds of fp8 are uint8 there."""
    names = ("revision", "kv_cache_dtype", "quantization", "quantization_param_path", "json_model_override_args")
    try:
        from sglang.srt.runtime_context import get_model, get_serving

        model, serving = get_model(), get_serving()
        return {name: getattr(model, name, None) for name in names} | {
            "weight_version": getattr(serving, "weight_version", None)}
    except (ImportError, RuntimeError, ValueError):  # there is no server
        return {}


def count_of(there: list[bool]) -> int:
    """Returns how many are there from the first one on."""
    return there.index(False) if False in there else len(there)


def lengths_of(there: list[bool], window: int) -> list[int]:
    """Returns the lengths of beginnings whose last `window` pages are all there, or all of their pages if they are shorter."""
    lengths, run = [], 0
    for length, one in enumerate(there, 1):
        run = run + 1 if one else 0
        if run >= min(window, length):
            lengths.append(length)
    return lengths
