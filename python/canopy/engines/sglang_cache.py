"""The prefix cache for SGLang. It needs SGLang and torch, so only sglang.make() imports it.

The contract is BasePrefixCache of SGLang 0.5.22 and 0.5.23: the cache owns what it inserted, a request owns its row from
cache_protected_len on, and the allocator owns the free list. A node's handle is a canopy.Hit, a lock a canopy.Hold.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import time
from typing import TYPE_CHECKING, Any, Sequence

import torch
from sglang.srt.mem_cache.base_prefix_cache import (
    BasePrefixCache,
    DecLockRefResult,
    EvictResult,
    IncLockRefResult,
    InsertResult,
    MatchResult,
)

from .. import Added, Hit, Hold, Index, _core
from .sglang_events import Events
from .sglang_feed import Requests
from .sglang_settings import Settings

if TYPE_CHECKING:
    from sglang.srt.managers.schedule_batch import Req
    from sglang.srt.mem_cache.base_prefix_cache import EvictParams, InsertParams, MatchPrefixParams
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams
    from sglang.srt.mem_cache.radix_cache import RadixKey


logger = logging.getLogger(__name__)


def space_of(owner: RadixKey | Req):
    """Returns the namespace of a key or of a request."""
    if owner.extra_key is None and owner.cache_salt is None:
        return None
    return owner.extra_key, None, owner.cache_salt


NO_SLOTS = torch.empty(0, dtype=torch.int64)
# The fields of a result after the first four. No match here sets them, and they differ between releases.
UNSET = tuple(MatchResult(0, None, None, None))[4:]


def tensor_of(slots: _core.SlotBuffer, frombuffer=torch.frombuffer, dtype=torch.int64) -> torch.Tensor:
    """Returns numbers of the index as a tensor on the host, without copying them."""
    return frombuffer(slots, dtype=dtype) if len(slots) else NO_SLOTS


def open_index(kind: type, *given: Any, feed: str | None, **named: Any) -> tuple[Any, str | None]:
    """Returns an index, and the name of its feed. A feed that cannot be opened is left out, and the log has the reason. A policy in
    Python that raises is replaced by lru, because an exception would end the scheduler."""
    make = functools.partial(kind, *given, on_policy_failure=log_failed_policy, **named)
    try:
        return make(feed=feed), feed
    except ValueError as refused:
        if feed is None:
            raise
        index = make(feed=None)  # raises if it is not the feed
        logger.warning("canopy: no feed: %s", refused)
        return index, None


def log_failed_policy(text: str) -> None:
    logger.error("canopy: %s", text)


@functools.cache
def log_unfit(text: str) -> None:
    """Logs once that a prompt is not kept, and why."""
    logger.warning("canopy: a prompt is not kept in the prefix cache (%s)", text)


class CanopyRadixCache(BasePrefixCache):
    """One whole-path index for full attention. The index keeps the slots themselves, so on a GPU each checkpoint copies
    the new ones to the host (sglang_table.py does not)."""

    slots_a_page: int | None = None  # numbers that the index keeps of a page: its slots, or one of its own (1)

    def __init__(self, params: CacheInitParams, settings: Settings = Settings()):
        self.disable = False
        self.req_to_token_pool = params.req_to_token_pool
        self.token_to_kv_pool_allocator = params.token_to_kv_pool_allocator
        self.page_size = params.page_size
        self.is_eagle = params.is_eagle
        self.eviction_policy = params.eviction_policy.lower()
        self.device = torch.device(getattr(self.token_to_kv_pool_allocator, "device", "cpu"))
        if params.enable_metrics:
            self.init_metrics_collector()
        self.index, feed = open_index(
            Index,
            self.page_size,
            settings.policy,
            getattr(self.token_to_kv_pool_allocator, "size", None),
            accounting=settings.accounting,
            overlap=int(self.is_eagle),
            feed=settings.feed,
            slots_a_page=self.slots_a_page,
            changes=params.enable_kv_cache_events,
        )
        self._events = Events(params, self.index) if params.enable_kv_cache_events else None
        # Called several times for each waiting request, so there is no Python code between SGLang and the index.
        self.lock, self.unlock = self.index.hold_whole, _core.release
        self._matcher = _core.KeyMatcher(self.index, MatchResult, UNSET, log_unfit)
        if type(self).match_prefix is CanopyRadixCache.match_prefix:
            self.match_prefix = self._matcher.match
        self._requests = Requests(self.index, self._pool_pages()) if feed else None
        self._locks: dict[int, list[Hold]] = {}
        rows = getattr(self.req_to_token_pool, "req_to_token", None)
        self._rows = rows.numpy() if rows is not None and rows.device.type == "cpu" else None
        if self.slots_a_page is None and (self._rows is not None or self.device.type == "cpu"):
            self._on_device = self._page_ids = tensor_of
        # SGLang's allocators of undivided pages can free pages by number, so their slots are not needed.
        allocator = self.token_to_kv_pool_allocator
        if hasattr(allocator, "free_page_ids") and getattr(allocator, "shard_size", 1) == 1:
            self._free_page_ids = allocator.free_page_ids
        self.root_node = self.index.match(())

    def reset(self) -> None:
        self.index.clear()
        self._locks.clear()
        self.root_node = self.index.match(())

    # ---- The calls for a request ----

    def match_prefix(self, params: MatchPrefixParams) -> MatchResult:
        return self._matcher.match(params)

    def touch_prefix(self, key: RadixKey) -> None:
        self._matcher.touch(key)

    def path_device_indices(self, node: Hit) -> torch.Tensor:
        return self._on_device(self.index.slot_buffer(node))

    def checkpoint(self, req: Req, *, up_to: int, **_: Any) -> None:
        tokens, kv = req.full_untruncated_fill_ids, req.kv
        protected = kv.cache_protected_len
        aligned = max(min(up_to, len(tokens)) - self.is_eagle, 0) // self.page_size * self.page_size
        hold, brought = req.lock, None
        try:
            if hold is None or hold.length > aligned:
                hold = self.index.lock(tokens[: min(protected, up_to)], space=space_of(req))
            brought = self._brought(kv.req_pool_idx, hold.length, aligned)
            if self._requests is not None:
                self._requests.inserts(req, space_of(req), protected, aligned, hold.node)
            added = hold.insert(
                tokens,
                brought,
                space=space_of(req),
                priority=req.priority or 0,
                inserted=kv.cache_inserted_len,
                boundary=len(req.origin_input_ids),
                limit=up_to,
            )
        except (_core.UnfitKey, MemoryError) as why:  # nothing has changed: all slots stay the request's own
            log_unfit(f"{type(why).__name__}: {why}")
            if brought is not None:
                self._untaken(brought)
            if self._requests is not None:
                with contextlib.suppress(MemoryError):  # readers of the feed miss it
                    self._requests.committed(req, space_of(req), protected, protected)
            return
        if added.had > protected:  # another request committed first: its slots are used, and these are freed
            row = self.req_to_token_pool.req_to_token[kv.req_pool_idx, protected : added.had]
            self.token_to_kv_pool_allocator.free_segment(row.to(torch.int64, copy=True), start_pos=protected)
            theirs = self._on_device(self.index.slot_buffer(hold.hit, protected))[: added.had - protected]
            self.req_to_token_pool.write((kv.req_pool_idx, slice(protected, added.had)), theirs)
        self._taken(added, brought, aligned)
        if self._requests is not None:
            self._requests.committed(req, space_of(req), protected, added.length)
        kv.cache_protected_len = added.length
        kv.cache_inserted_len = max(kv.cache_inserted_len, aligned)
        if hold is not req.lock:
            self.unlock(req.lock)
            req.lock = hold
        req.last_node = hold.hit

    def on_release(self, req: Req, *, checkpointed: bool) -> None:
        if self._requests is not None:
            self._requests.released(req)

    def evict(self, params: EvictParams) -> EvictResult:
        if params.num_tokens <= 0:
            return EvictResult()
        start = time.perf_counter() if self.metrics_collector is not None else 0.0
        left = self.index.evict_buffer(params.num_tokens, 1)
        tokens = len(left) * self.page_size
        if tokens:
            self._free_page_ids(self._page_ids(left))
            if self.slots_a_page is not None:
                self._left(left)
        if self.metrics_collector is not None:
            self.update_eviction_metrics(tokens, start)
        return EvictResult(tokens)

    # ---- Older names for some of these, which SGLang's tests and plugins use ----

    def insert(self, params: InsertParams) -> InsertResult:
        key = params.key
        slots = params.value if params.value is not None else torch.frombuffer(key.raw_token_ids(), dtype=torch.int64)
        whole = len(key) // self.page_size * self.page_size
        brought = self._numbers_of(slots[:whole])
        with self.index.lock((), space=space_of(key)) as hold:
            try:
                added = hold.insert(
                    key.token_ids,
                    brought,
                    priority=params.priority or 0,
                    inserted=params.inserted_len,
                    limit=key.limit,
                )
            except (_core.UnfitKey, MemoryError):
                self._untaken(brought)
                raise
            self._taken(added, brought, whole)
            return InsertResult(prefix_len=added.had, total_len=added.length, last_device_node=hold.hit)

    def inc_lock_ref(self, node: Hit) -> IncLockRefResult:
        before = self.index.evictable
        self._locks.setdefault(node.node, []).append(self.lock(node))
        return IncLockRefResult(delta=self.index.evictable - before, node_id=node.node)

    def dec_lock_ref(self, node: Hit, params: Any = None) -> DecLockRefResult:
        before = self.index.evictable
        locks = self._locks[node.node]
        locks.pop().release()
        if not locks:
            del self._locks[node.node]
        return DecLockRefResult(delta=self.index.evictable - before)

    # ---- Sizes, in tokens ----

    def evictable_size(self) -> int:
        return self.index.evictable

    def protected_size(self) -> int:
        return self.index.protected

    full_evictable_size = evictable_size
    full_protected_size = protected_size

    def total_size(self) -> int:
        return len(self.index)

    def all_values_flatten(self) -> torch.Tensor:
        return self._on_device(self.index.all_slot_buffer())

    # ---- For schedulers and people ----

    def supports_fast_match_prefix(self) -> bool:
        return True

    def supports_prefix_sharing(self) -> bool:
        return True

    def dfs_weight_order(self, node_handles: Sequence[Hit]) -> list[int]:
        return self.index.dfs_weight_order(list(node_handles))

    def take_events(self) -> list:
        return [] if self._events is None else self._events.take()

    def pretty_print(self) -> None:
        print(self.index.tree())
        print(f"#tokens: {self.total_size()}")

    def _pool_pages(self):
        """Returns a function for the allocator's number of pages and of free pages; None if the allocator has no counts."""
        allocator = self.token_to_kv_pool_allocator
        size, available = getattr(allocator, "size", None), getattr(allocator, "available_size", None)
        if not isinstance(size, int) or available is None:
            return None
        page, pages = self.page_size, size // self.page_size  # without self: the cache must not hold itself
        return lambda: (pages, min(available() // page, pages))

    # ---- Between host and device ----

    def _on_device(self, numbers: _core.SlotBuffer) -> torch.Tensor:
        """Returns the slots that numbers of the index stand for. On a CPU this is tensor_of."""
        return tensor_of(numbers).to(self.device)

    def _page_ids(self, numbers: _core.SlotBuffer) -> torch.Tensor:
        """Returns the allocator's pages for numbers of the index, one for each page."""
        return tensor_of(numbers).to(self.device)

    def _free_page_ids(self, pages: torch.Tensor) -> None:
        slots = pages[:, None] * self.page_size + torch.arange(self.page_size, device=pages.device)
        self.token_to_kv_pool_allocator.free_segment(slots.flatten(), start_pos=0)

    def _brought(self, row: int, start: int, end: int):
        """Returns numbers for the index that stand for the slots of a request's row. On a GPU this waits for the row."""
        if self._rows is not None:
            return self._rows[row, start:end]
        return self._numbers_of(self.req_to_token_pool.req_to_token[row, start:end])

    def _numbers_of(self, slots: torch.Tensor):
        return slots.cpu().numpy()

    def _taken(self, added: Added, brought, end: int) -> None:
        """Called when the index has the numbers up to token `end`, except those that `added` excludes."""

    def _untaken(self, brought) -> None:
        """Called when the index has taken none of the numbers."""

    def _left(self, numbers: _core.SlotBuffer) -> None:
        """Called when these numbers have left the index and their slots are freed."""
