"""The order in which vLLM's CPU tier evicts. It needs vLLM, so only vllm.policy_class() imports it.

The contract is CachePolicy of vLLM 0.32 and 0.33: the manager owns the chunks and their reference counts, the policy owns the
table and the order. The table is a dictionary; the order is kept in C++ (canopy._core.Chunks). An error here never reaches
vLLM: it is logged once, and vLLM's own lru takes over with the chunks that are there.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Collection, Iterable, Sequence

from vllm.v1.kv_offload.cpu.policies.base import CachePolicy
from vllm.v1.kv_offload.cpu.policies.lru import LRUCachePolicy

from .. import _core
from .vllm import INTERFACES, interface, logger, look_on, policy_of, release
from .vllm_callers import tokens_by_group

if TYPE_CHECKING:
    from vllm.v1.kv_offload.base import OffloadKey, ReqContext
    from vllm.v1.kv_offload.cpu.policies.base import ChunkStatus


class NoContext:
    """A context for vLLM's lru that knows no position."""

    def __init__(self):
        self._state = {}

    def get_offload_key_position(self, key):
        return None

    def get_state(self, kind):
        return self._state.get(kind)

    def set_state(self, value):
        self._state[type(value)] = value


class CanopyCachePolicy(CachePolicy):
    """Evicts in the order of one of Canopy's policies. A chunk leaves after all chunks that continue it."""

    policy = "hazard"

    def __init__(self, cache_capacity: int) -> None:
        super().__init__(cache_capacity)
        _core.quiet_exit()
        self._core = _core.Chunks(
            cache_capacity, policy_of(self.policy), os.environ.get("CANOPY_FEED") or "", tokens_by_group())
        # 0.32 gives an insert no context: it is that of the key's store miss, which may be several calls before.
        self._missed: dict[OffloadKey, ReqContext] = {}
        self.get = self._core.chunks.get
        if self._core.feed:
            threading.Thread(target=look_on, args=(weakref.ref(self),), daemon=True, name="canopy feed").start()
        logger.info(
            "canopy: the CPU tier of %d chunks evicts in the order of %s (vLLM %s%s)", cache_capacity, self._core.policy,
            release(), f", feed {self._core.feed}" if self._core.feed else "",
        )

    def get(self, key: OffloadKey) -> ChunkStatus | None:
        return self._core.chunks.get(key)

    def insert(self, key: OffloadKey, chunk: ChunkStatus, req_context: ReqContext | None = None) -> None:
        try:
            missed = self._missed.pop(key, None)
            self._core.insert(key, chunk, missed if req_context is None else req_context)
        except Exception as error:
            self._give_up(error)
            insert(self, key, chunk, req_context)

    def remove(self, key: OffloadKey) -> None:
        try:
            self._core.remove(key)
        except Exception as error:
            if self.get(key) is not None:
                self._give_up(error).remove(key)
            else:
                self._give_up(error)

    def touch(self, keys: Iterable[OffloadKey], req_context: ReqContext) -> None:
        try:
            self._core.accessed(list(keys), req_context)
        except Exception as error:
            self._give_up(error).touch(keys, req_context)

    def on_store_miss(self, keys: Iterable[OffloadKey], req_context: ReqContext) -> None:
        self._missed.update(dict.fromkeys(keys, req_context))

    def on_request_access(self, keys: Iterable[OffloadKey], req_context: ReqContext) -> None:
        try:
            self._core.accessed(keys, req_context)
        except Exception as error:
            self._give_up(error).on_request_access(keys, req_context)

    def on_request_finished(
        self,
        key_groups: Sequence[Sequence[OffloadKey]],
        insertion_only_keys: set[OffloadKey],
        reused_keys: set[OffloadKey],
        req_context: ReqContext,
    ) -> None:
        for keys in key_groups:
            for key in keys:
                if self._missed.get(key) is req_context:
                    del self._missed[key]
        try:
            self._core.finished(key_groups, reused_keys, req_context)
            self._log_failure()
        except Exception as error:
            self._give_up(error).on_request_finished(key_groups, insertion_only_keys, reused_keys, req_context)

    def evict(self, n: int, protected: Collection[OffloadKey]) -> list[tuple[OffloadKey, ChunkStatus]] | None:
        try:
            return self._core.evict(n, protected)
        except Exception as error:
            return self._give_up(error).evict(n, protected)

    def clear(self) -> None:
        self._missed.clear()
        try:
            self._core.clear()
        except Exception as error:
            self._give_up(error).clear()

    def mark_evictable(self, key: OffloadKey) -> None:
        try:
            self._core.mark_evictable(key)
        except Exception as error:
            self._give_up(error).mark_evictable(key)

    def mark_non_evictable(self, key: OffloadKey) -> None:
        try:
            self._core.mark_non_evictable(key)
        except Exception as error:
            self._give_up(error).mark_non_evictable(key)

    def cores(self) -> list[_core.Chunks]:
        return [self._core] if self._core is not None else []

    def _log_failure(self) -> None:
        if text := self._core.take_failure():
            logger.warning("canopy: %s", text)

    def _give_up(self, error: Exception) -> CachePolicy:
        """Hands the chunks to vLLM's own lru, which serves all later calls. Returns it."""
        chunks, self._core = self._core.chunks, None  # its feed ends: it is no longer true
        plain = LRUCachePolicy(self.cache_capacity)
        nowhere = NoContext()
        for key, chunk in chunks.items():
            insert(plain, key, chunk, nowhere)
        for name in INTERFACES[interface()]:
            if name not in ("__init__", "remove"):
                setattr(self, name, getattr(plain, name))
        self.remove = lambda key: plain.remove(key) if key in plain.chunks else None
        logger.error(
            "canopy: %s: %s; from now on the CPU tier evicts in vLLM's own order of lru (%d chunks stay)",
            type(error).__name__, error, len(chunks), exc_info=error,
        )
        return plain


def insert(policy: CachePolicy, key: OffloadKey, chunk: ChunkStatus, context) -> None:
    """Calls policy.insert in the form of this release."""
    if interface() == "0.32":
        policy.insert(key, chunk)
    else:
        policy.insert(key, chunk, NoContext() if context is None else context)
