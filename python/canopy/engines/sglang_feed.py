"""Sends SGLang's requests to the feed (CANOPY_FEED), and serves the feed while the cache is not called.

SGLang calls its cache when part of a prompt is computed and when a request ends. Between the two it may decode for minutes,
or be idle. So a thread reads the running requests several times a second, and serves inspectors that attached. It takes
Python's lock, as SGLang does, and never runs during a call of the index.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from typing import TYPE_CHECKING, Callable

from .. import Index

if TYPE_CHECKING:
    from sglang.srt.managers.schedule_batch import Req

logger = logging.getLogger(__name__)


class Told:
    """What was sent to the feed about a request. Counts are tokens."""

    __slots__ = ("number", "req", "committed", "tokens", "inserting")

    def __init__(self, number: int, req: Req | None):
        self.number, self.req = number, req  # req: None while it is retracted
        self.committed = self.tokens = 0
        self.inserting = False  # its insert was announced and has not come


class Requests:
    """The running requests, by SGLang's ids."""

    EVERY = 0.1  # seconds

    def __init__(self, index: Index, pool: Callable[[], tuple[int, int]] | None = None):
        """pool: returns the allocator's pages and how many of them are free, without a copy from a device."""
        self._index, self._told, self._lock, self._pool = index, {}, threading.Lock(), pool
        threading.Thread(target=_look_on, args=(weakref.ref(self),), daemon=True, name="canopy feed").start()

    def inserts(self, req: Req, space, matched: int, committed: int, node: int = 0) -> None:
        """Records that the next insert brings the request's first `committed` tokens, of which the index had `matched`, up
        to `node`, when the request began. So the feed has both as one operation, and its readers find the reason of the
        request's miss."""
        with self._lock:
            told = self._begun(req, space, matched, node)
            tokens = len(req.full_untruncated_fill_ids)
            self._index.request_inserts(told.number, min(committed, tokens), min(committed, tokens), tokens)
            told.inserting = True

    def committed(self, req: Req, space, matched: int, committed: int) -> None:
        """Records that the index has the request's first `committed` tokens; it had `matched` of them when the request
        began."""
        with self._lock:
            told = self._begun(req, space, matched)
            told.committed, told.tokens, told.inserting = committed, len(req.full_untruncated_fill_ids), False
            self._tell(told, "committed", min(committed, told.tokens))

    def _begun(self, req: Req, space, matched: int, node: int = 0) -> Told:
        told = self._told.get(req.rid)
        if told is None:
            prompt = len(req.origin_input_ids)
            known = node if isinstance(node, int) else 0  # SGLang does not say what a node is
            number = self._index.request_begun(prompt, min(matched, prompt), space=space, node=known)
            told = self._told[req.rid] = Told(number, req)
        elif told.req is None:
            told.req = req
            self._tell(told, "resumed", matched)
        return told

    def released(self, req: Req) -> None:
        """Records that the request's row is free, because it has ended or was retracted."""
        with self._lock:
            told = self._told.get(req.rid)
            if told is None:
                return
            if req.finished():
                del self._told[req.rid]
                aborted = type(getattr(req, "finished_reason", None)).__name__ == "FINISH_ABORT"
                self._tell(told, "aborted" if aborted else "finished", min(told.committed, told.tokens))
            else:
                told.req = None
                self._tell(told, "retracted", 0)

    def look(self) -> None:
        """Sends the tokens decoded since the last call, and the number of free pages."""
        self._index.poll()
        if self._pool is not None:
            try:
                self._index.callers_pool(*self._pool())
            except RuntimeError:  # a policy in Python lets other threads run while the index waits for it
                return
        for told in list(self._told.values()):
            with self._lock:
                if told.req is None or told.inserting or not told.req.output_ids:
                    continue
                tokens = len(told.req.origin_input_ids) + len(told.req.output_ids)
                if tokens <= told.tokens:
                    continue
                told.tokens = tokens
                try:
                    self._tell(told, "running", tokens - 1)
                except RuntimeError:  # a policy in Python lets other threads run while the index waits for it
                    return

    def _tell(self, told: Told, phase: str, computed: int) -> None:
        self._index.request_progress(told.number, phase, computed, told.committed, told.tokens)


def _look_on(of: weakref.ref[Requests]) -> None:
    told = False
    while (requests := of()) is not None:
        try:
            requests.look()
        except Exception as error:  # of the allocator, say: the feed then has what the cache's own calls send
            if not told:
                logger.warning("canopy: %s: %s; the feed may show running requests late", type(error).__name__, error)
            told = True
        del requests
        time.sleep(Requests.EVERY)
