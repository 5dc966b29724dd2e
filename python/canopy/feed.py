"""Observes an engine from outside, through its feed."""

from __future__ import annotations

import os
import time

from . import _core, frames, outline


class Feed:
    """A mirror of an engine, made only from its feed: of a running engine (attach) or a recorded one (open). It never
    changes the engine. It is a context manager."""

    def __init__(self, source: _core.FeedSource, name: str, live: bool):
        self._source, self.name, self._live = source, name, live

    @classmethod
    def attach(cls, name: str, timeout: float = 10.0) -> Feed:
        """Returns the feed that a process of this user publishes under `name`, once its tree is known. Raises TimeoutError
        after `timeout` seconds."""
        feed = cls(_core.FeedSource.attach(name), name, True)
        end = time.monotonic() + timeout
        while not feed.poll()._sums()["in_step"]:
            if gone := feed.gone:
                raise ValueError(f"the feed '{name}': {gone}")
            if time.monotonic() > end:
                raise TimeoutError(f"the feed '{name}': no events for {timeout:g} s; its engine serves no requests")
            time.sleep(0.02)
        return feed

    @classmethod
    def open(cls, path: str | os.PathLike) -> Feed:
        """Returns a recording, at its end. seek() goes to any other moment of it."""
        return cls(_core.FeedSource.open(os.fspath(path)), os.fspath(path), False)

    @staticmethod
    def names() -> list[str]:
        """Returns the names of the feeds that can be attached now."""
        return _core.feed_names()

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Closes the feed. It cannot be used afterwards."""
        self._source = None

    def _open(self) -> _core.FeedSource:
        if self._source is None:
            raise ValueError("this feed was closed")
        return self._source

    def _sums(self) -> dict:
        return self._open().sums()

    def poll(self) -> Feed:
        """Applies the events since the last call. Only this call changes the mirror."""
        self._open().poll()
        return self

    def seek(self, commit: int) -> Feed:
        """Goes to the state after `commit` operations of a recording."""
        self._open().seek(commit)
        return self

    @property
    def commits(self) -> int:
        """Operations of the recording; of a live feed, those seen so far."""
        return self._open().commits

    @property
    def gone(self) -> str:
        """The reason why a live feed has ended; empty while its writer lives."""
        return self._open().gone if self._live else ""

    @property
    def config(self) -> str:
        return self._open().config

    @property
    def page_size(self) -> int:
        """Tokens in a page."""
        return self._open().page_size

    @property
    def sums(self) -> dict:
        """requests, tries (requests that ended before they were admitted), running, prompt_tokens, hit_tokens,
        evicted_tokens, nodes, tick, commits, drift (pages by which mirror and engine differ: 0), damaged, in_step, paused.
        Counted from the first event that this mirror saw. What a request finds after its admission (a rematch) is in no feed,
        so it is not in hit_tokens."""
        return self._sums()

    @property
    def doubts(self) -> list[dict]:
        """Reasons why the figures may not be those of the engine, each with kind, count and sentence: a recording that was
        cut, damaged, or never ended by its writer; drift, impossible or lost events. Empty: none is known."""
        return self._open().doubts()

    @property
    def hit_rate(self) -> float:
        """Hit rate of the requests seen, 0 to 1."""
        sums = self._sums()
        return sums["hit_tokens"] / sums["prompt_tokens"] if sums["prompt_tokens"] else 0.0

    @property
    def pools(self) -> list[dict]:
        """For each group: group, policy, pages, free, evictable, protected, owned (in pages)."""
        return self._open().pools()

    def columns(self) -> dict:
        """Returns the nodes as columns, parents before children."""
        return self._open().nodes()

    def tree(self, form: str = "text", lines: int = 40):
        """Returns the nodes as "text" (about `lines` lines) or as a "frame" (pandas)."""
        return tree(self.columns(), form, lines)

    def requests(self, form: str = "columns"):
        """Returns the requests that are remembered, as "columns" or a "frame": lengths, phase, admitted (0: it has no
        pages yet, or ended without) and the reason why each one found no longer prefix."""
        columns = self._open().requests()
        return frames.frame(columns) if form == "frame" else columns

    def next_to_evict(self, most: int = 10, group: int = 0) -> list[dict]:
        """Returns the nodes that are evicted next, in this order, with the policy's reason in words."""
        return self._open().next_to_evict(most, group)

    def __repr__(self) -> str:
        return f"<canopy.Feed {self.name!r}{'' if self._source else ', closed'}>"


def tree(columns: dict, form: str, lines: int):
    if form == "text":
        return outline.text(columns, lines)
    if form == "frame":
        return frames.frame(columns)
    raise ValueError(f"tree: the form must be 'text' or 'frame', not {form!r}")
