"""Eviction policies in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core import Eviction, Node, Path, RequestFacts


class Policy:
    """Decides which node is evicted first: the one with the smallest rank. Only `rank` is required.

    A node is borrowed for the call, so copy the facts that you keep. All times are ticks of the index's logical clock; a
    policy that reads no other clock and no random number makes the same decisions for the same requests. An exception
    ends the replay, or the call of the index, with its traceback.

    Optional methods:

        rank_many(self, nodes)             ranks many nodes at once, when all nodes in the queue are ranked again (see
                                           drifts): `nodes` has a NumPy array for each fact (nodes.hits,
                                           nodes.last_access ...) and the clock as numbers; returns an array, or a tuple
                                           of two
        spare(self, node) -> bool          called for the next node to evict: True keeps it and ranks it again
        evicted(self, node, eviction)      called when a node is evicted
        cleared(self)                      called when the index was cleared
        arrived(self, request)             called before a request is matched
        ended(self, request, path)         called when it has ended; `for node in path` visits its nodes, deepest first

    Optional attributes:

        name           name in reports; by default the name of the class
        rule           which node is evicted first, as a clause, for the inspector; by default the first line of the
                       docstring
        drifts         True: ranks change while nodes are in the queue, so all of them are ranked again each time 2 % of
                       the capacity has been inserted
        reads_prints   "requests": requests have prefix_prints; "all": evictions have them as well
    """

    def rank(self, node: Node) -> float | int | tuple[float | int, float | int]:
        """Returns a number, or two of which the second breaks ties; equal ranks are evicted in the order of their slots. An
        int may be from -2**53 to 2**53. Called when a node becomes evictable, and when its facts change."""
        raise NotImplementedError(f"{type(self).__name__} has no rank(self, node)")
