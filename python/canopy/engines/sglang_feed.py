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


class Sent:
    """The state of a request that was last sent to the feed. Counts are tokens."""

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
        self._index, self._sent, self._lock, self._pool = index, {}, threading.Lock(), pool
        threading.Thread(target=_look_on, args=(weakref.ref(self),), daemon=True, name="canopy feed").start()

    def inserts(self, req: Req, space, matched: int, committed: int, node: int = 0) -> None:
        """Records that the next insert brings the request's first `committed` tokens, of which the index had `matched`, up
        to `node`, when the request began. So the feed has both as one operation, and its readers find the reason of the
        request's miss."""
        with self._lock:
            sent = self._begun(req, space, matched, node)
            tokens = len(req.full_untruncated_fill_ids)
            self._index.request_inserts(sent.number, min(committed, tokens), min(committed, tokens), tokens)
            sent.inserting = True

    def committed(self, req: Req, space, matched: int, committed: int) -> None:
        """Records that the index has the request's first `committed` tokens; it had `matched` of them when the request
        began."""
        with self._lock:
            sent = self._begun(req, space, matched)
            sent.committed, sent.tokens, sent.inserting = committed, len(req.full_untruncated_fill_ids), False
            self._send(sent, "committed", min(committed, sent.tokens))

    def _begun(self, req: Req, space, matched: int, node: int = 0) -> Sent:
        sent = self._sent.get(req.rid)
        if sent is None:
            prompt = len(req.origin_input_ids)
            known = node if isinstance(node, int) else 0  # SGLang does not define what a node is
            number = self._index.request_begun(prompt, min(matched, prompt), space=space, node=known)
            sent = self._sent[req.rid] = Sent(number, req)
        elif sent.req is None:
            sent.req = req
            self._send(sent, "resumed", matched)
        return sent

    def released(self, req: Req) -> None:
        """Records that the request's row is free, because it has ended or was retracted."""
        with self._lock:
            sent = self._sent.get(req.rid)
            if sent is None:
                return
            if req.finished():
                del self._sent[req.rid]
                aborted = type(getattr(req, "finished_reason", None)).__name__ == "FINISH_ABORT"
                self._send(sent, "aborted" if aborted else "finished", min(sent.committed, sent.tokens))
            else:
                sent.req = None
                self._send(sent, "retracted", 0)

    def look(self) -> None:
        """Sends the tokens decoded since the last call, and the number of free pages."""
        self._index.poll()
        if self._pool is not None:
            try:
                self._index.callers_pool(*self._pool())
            except RuntimeError:  # a policy in Python lets other threads run while the index waits for it
                return
        for sent in list(self._sent.values()):
            with self._lock:
                if sent.req is None or sent.inserting or not sent.req.output_ids:
                    continue
                tokens = len(sent.req.origin_input_ids) + len(sent.req.output_ids)
                if tokens <= sent.tokens:
                    continue
                sent.tokens = tokens
                try:
                    self._send(sent, "running", tokens - 1)
                except RuntimeError:  # a policy in Python lets other threads run while the index waits for it
                    return

    def _send(self, sent: Sent, phase: str, computed: int) -> None:
        self._index.request_progress(sent.number, phase, computed, sent.committed, sent.tokens)


def _look_on(of: weakref.ref[Requests]) -> None:
    warned = False
    while (requests := of()) is not None:
        try:
            requests.look()
        except Exception as error:  # such as one of the allocator: the feed then has the events of the cache's own calls
            if not warned:
                logger.warning("canopy: %s: %s; the feed may show running requests late", type(error).__name__, error)
            warned = True
        del requests
        time.sleep(Requests.EVERY)
