"""Prefix reuse of KV caches in LLM serving.

    Index    a radix tree over pages: match, hold, slots, insert, evict
    Engine   a whole prefix cache, composed from a configuration, with its running requests
    replay   runs a trace or a generated workload through an engine
    compare  compares policies with the exact optimum; curve: hit rate over capacity from one pass
    Policy   base class for eviction policies in Python
    Feed     observes a running or recorded engine from outside

Counts are tokens and token ids are integers from 0 to 2**32 - 1, unless a name says pages or slots.
"""

from ._core import (
    Added,
    Engine,
    Eviction,
    Fetch,
    Hit,
    Hold,
    Index,
    Node,
    Path,
    Request,
    RequestFacts,
    Retention,
    load_plugins,
    plugins,
)
from .comparing import Comparison, Curve, compare, curve
from .doubts import DoubtWarning
from .feed import Feed
from .policy import Policy
from .replaying import Report, replay

__version__ = "0.2.0"
__all__ = [
    "Added",
    "Comparison",
    "Curve",
    "DoubtWarning",
    "Engine",
    "Eviction",
    "Feed",
    "Fetch",
    "Hit",
    "Hold",
    "Index",
    "Node",
    "Path",
    "Policy",
    "Report",
    "Request",
    "RequestFacts",
    "Retention",
    "compare",
    "curve",
    "load_plugins",
    "plugins",
    "replay",
]
