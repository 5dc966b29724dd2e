"""Eviction policies in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core import Eviction, Node, Path, RequestFacts


class Policy:
    """Decides which node is evicted first: the one with the smallest rank. Only `rank` must be written.

    A node is borrowed for the call, so copy what you keep. All times are ticks of the index's logical clock; a policy
    that reads no other clock and no random number gives the same decisions for the same requests. An exception ends the
    replay, or the call of the index, with its traceback.

    Optional, called if they are there:

        rank_many(self, nodes)             rank of many at once, where all that wait are ranked anew (see drifts): `nodes` has
                                           a NumPy array for each fact (nodes.hits, nodes.last_access ...) and the clock
                                           as numbers; returns an array, or two as a tuple
        spare(self, node) -> bool          asked of the node that is evicted next: True keeps it and ranks it anew
        evicted(self, node, eviction)      the node leaves
        cleared(self)                      the index was cleared
        arrived(self, request)             a request is about to be matched
        ended(self, request, path)         it has ended; `for node in path` goes over its nodes, deepest first

    Optional attributes:

        name           in reports; the class's name if there is none
        rule           what is evicted first, as a clause, for the inspector; the first line of the docstring if there is
                       none
        drifts         True: ranks change while nodes wait, so all that wait are ranked again each time 2 % of the
                       capacity has been inserted
        reads_prints   "requests": requests come with prefix_prints; "all": evictions as well
    """

    def rank(self, node: Node) -> float | int | tuple[float | int, float | int]:
        """A number, or two of which the second breaks ties; equal ranks are evicted in the order of their slots. An int
        may be from -2**53 to 2**53. Asked when a node can be evicted from now on, and when its facts change."""
        raise NotImplementedError(f"{type(self).__name__} has no rank(self, node)")
