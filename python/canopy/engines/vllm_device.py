"""The order in which vLLM's own prefix cache gives its blocks away: one of Canopy's policies. vllm.scheduler() imports it.

vLLM keeps the blocks, their hashes, their reference counts and the tables of requests. Its queue of free blocks is replaced
in each pool (canopy._core.BlockQueue, in C++), and five functions of its KVCacheManager are wrapped: they say where a request
begins, what it found, which blocks it had, and that the cache was reset. An error here never reaches vLLM: it is logged once,
and vLLM's own queue takes over with the blocks that are free.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable

from vllm.v1.core.kv_cache_utils import FreeKVCacheBlockQueue

from .. import _core
from .vllm import MANAGER, logger, look_on, policy_of, release

if TYPE_CHECKING:
    from vllm.v1.core.block_pool import BlockPool
    from vllm.v1.core.kv_cache_manager import KVCacheManager
    from vllm.v1.request import Request

# Managers in whose groups each block of a table continues the one before it. Those of windows, states and buffers free
# blocks in the middle of a table, or write them again.
LINKED = ("FullAttentionManager", "SinkFullAttentionManager", "HiSparseSourceManager")


class Known:
    """A request between its first look at the cache and its end."""

    __slots__ = ("hit", "numbers", "running")

    def __init__(self, queues: int) -> None:
        self.numbers = [0] * queues  # by queue
        self.hit = 0  # tokens
        self.running = False


class Door:
    """The queues of the pools of one KVCacheManager, and its requests."""

    def __init__(self, manager: KVCacheManager, policy: str, feed: str) -> None:
        _core.quiet_exit()
        self._manager = weakref.ref(manager)  # it has this object
        self._known: dict[str, Known] = {}
        self._queues: list[tuple[BlockPool, list[Any], _core.BlockQueue]] = []
        by_pool: dict[BlockPool, list[Any]] = {}
        for one in manager.coordinator.single_type_managers:
            by_pool.setdefault(one.block_pool, []).append(one)
        for number, (pool, managers) in enumerate(by_pool.items()):
            queue = _core.BlockQueue(
                pool.blocks, pool.free_block_queue.get_all_free_blocks(),
                [(one.kv_cache_group_id, one.block_size, type(one).__name__ in LINKED) for one in managers],
                pool.hash_block_size, policy_of(policy), f"{feed}-gpu{number or ''}" if feed else "",
                functools.partial(_instead, weakref.ref(self), pool),
            )
            self._queues.append((pool, managers, queue))
        for pool, _, queue in self._queues:  # nothing is replaced before all of them are made
            pool.free_block_queue = queue
        self._wrap(manager)
        if any(queue.feed for *_, queue in self._queues):
            threading.Thread(target=look_on, args=(weakref.ref(self),), daemon=True, name="canopy feed").start()

    def cores(self) -> list[_core.BlockQueue]:
        return [queue for *_, queue in self._queues]

    def _wrap(self, manager: KVCacheManager) -> None:
        for name, before, after in (
            ("get_computed_blocks", None, self._looked_up),
            ("get_computed_blocks_for_connector", None, self._looked_up),
            ("free", self._ends, None),
            ("pop_blocks_for_free", self._ends, None),
            ("reset_prefix_cache", None, self._reset),
        ):
            setattr(manager, name, self._wrapped(getattr(manager, name), before, after))

    def _wrapped(self, function: Callable, before: Callable | None, after: Callable | None) -> Callable:
        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            try:
                if before is not None:
                    before(*given, **named)
            except Exception as error:
                self.give_up(error)
            result = function(*given, **named)
            try:
                if after is not None:
                    after(result, *given, **named)
            except Exception as error:
                self.give_up(error)
            return result

        return call

    def _looked_up(self, found: tuple, request: Request, *_: Any, **__: Any) -> None:
        """Begins a request, or one that was preempted again. A request that gets no room is looked up several times."""
        known = self._known.get(request.request_id)
        if known is None or not known.running:
            known = self._begun(request, known)
        known.hit = found[1]

    def _begun(self, request: Request, known: Known | None = None) -> Known:
        if known is None:
            known = self._known[request.request_id] = Known(len(self._queues))
        known.running = True
        for at, (_, _, queue) in enumerate(self._queues):
            known.numbers[at] = queue.arrived(known.numbers[at], request.num_prompt_tokens)
        return known

    def _ends(self, request: Request) -> None:
        """Records the blocks of a request that vLLM is about to free: it has ended, or it is preempted."""
        if not self._queues:
            return
        finished, known = request.is_finished(), self._known.get(request.request_id)
        if known is None or not known.running:
            if not finished and known is not None:
                return
            if known is None and any(one.req_to_blocks.get(request.request_id) for _, many, _ in self._queues for one in many):
                known = self._begun(request)
        if finished:
            self._known.pop(request.request_id, None)
        if known is None or not known.running:
            return
        known.running = False
        aborted = getattr(request.status, "name", "") == "FINISHED_ABORTED"
        ending = "retracted" if not finished else "aborted" if aborted else "finished"
        for number, (_, managers, queue) in zip(known.numbers, self._queues):
            tables = [one.req_to_blocks.get(request.request_id, ()) for one in managers]
            queue.ended(number, request.num_prompt_tokens, request.num_tokens, tables, request.block_hashes, known.hit, ending)
            if text := queue.take_failure():
                logger.warning("canopy: %s", text)

    def _reset(self, done: bool) -> None:
        """Follows vLLM, which resets each pool of which all blocks are free, whether `done` or not."""
        for pool, _, queue in self._queues:
            if queue.num_free_blocks == pool.num_gpu_blocks - 1:  # the null block is never free
                queue.reset()

    def give_up(self, error: Exception | str) -> None:
        """Hands the free blocks to vLLM's own queues, which serve all later calls."""
        queues, self._queues = self._queues, []
        self._known.clear()
        for pool, _, queue in queues:
            pool.free_block_queue = FreeKVCacheBlockQueue(_free_of(pool, queue))
        if (manager := self._manager()) is not None:
            for name in MANAGER:
                vars(manager).pop(name, None)
        if queues:
            logger.error(
                "canopy: %s; from now on vLLM's own prefix cache evicts in vLLM's own order",
                error if isinstance(error, str) else f"{type(error).__name__}: {error}",
                exc_info=error if isinstance(error, Exception) else None,
            )


def _instead(door: weakref.ref[Door], pool: BlockPool, error: str) -> Any:
    """Returns the queue that serves the call of a queue of ours that failed."""
    door().give_up(error)
    return pool.free_block_queue


def _free_of(pool: BlockPool, queue: _core.BlockQueue) -> list[Any]:
    """Returns the free blocks of a pool, those without a hash first: in the order of lru, unless that is lost."""
    free = [block for block in pool.blocks if queue.is_free(block.block_id)]
    try:
        ordered = queue.get_all_free_blocks()
        if sorted(block.block_id for block in ordered) == [block.block_id for block in free]:
            return ordered
    except Exception:
        logger.exception("canopy: the order of the free blocks is lost")
    return sorted(free, key=lambda block: block.block_hash is not None)


def attach(manager: KVCacheManager, policy: str) -> Door:
    """Puts a manager's pools in the order of a policy, given as vllm.policy_named() returns it."""
    door = Door(manager, policy, os.environ.get("CANOPY_FEED") or "")
    for queue in door.cores():
        logger.info(
            "canopy: vLLM's own prefix cache of %d blocks evicts in the order of %s (vLLM %s%s)", queue.facts()["blocks"] - 1,
            queue.policy, release(), f", feed {queue.feed}" if queue.feed else "",
        )
        if text := queue.take_failure():
            logger.warning("canopy: %s", text)
    return door
