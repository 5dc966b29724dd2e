"""KV events for routers, made by SGLang's own recorder from the changes of Canopy's index: SGLang's classes and hashes.

Only sglang_cache.py and sglang_tree_core.py import this: it needs SGLang.
"""

from __future__ import annotations

from array import array

from sglang.srt.mem_cache.events import KVCacheEventRecorder
from sglang.srt.mem_cache.radix_cache import RadixKey
from sglang.srt.mem_cache.utils import split_node_hash_value

from .. import Index


class Node:
    """The attributes of SGLang's TreeNode that its recorder reads."""

    __slots__ = ("key", "parent", "hash_value", "event_hash_value")

    def __init__(self, key, parent, hash_value=None, event_hash_value=None):
        self.key, self.parent, self.hash_value, self.event_hash_value = key, parent, hash_value, event_hash_value


def nameable(key: RadixKey) -> bool:
    """Returns True if SGLang can hash the names of a key: a client's text may have half of a surrogate pair. Routers
    receive no events of other prefixes."""
    return all(name is None or not any("\ud800" <= letter <= "\udfff" for letter in name)
               for name in (key.extra_key, key.cache_salt))


class Events:
    """The events of one cache. It keeps the tokens and the hashes of each node of the index."""

    def __init__(self, params, index: Index):
        self._index, self._bigram, self._page = index, params.is_eagle, params.page_size
        self._recorder = KVCacheEventRecorder(
            enabled=True,
            page_size=params.page_size,
            dynamo_format=params.dynamo_kv_event_format,
            lora_names=params.kv_event_lora_names,
        )
        self._cleared()  # as SGLang's caches do when they are made

    def take(self) -> list:
        """Returns the events since the last call."""
        for kind, *facts in self._index.take_changes():
            getattr(self, "_" + kind)(*facts)
        return self._recorder.take()

    def _added(self, number, parent, space, words) -> None:
        tokens = array("q")
        tokens.frombytes(words)
        extra_key, _, cache_salt = space or (None, None, None)
        key = RadixKey(tokens, extra_key, is_bigram=self._bigram, cache_salt=cache_salt)
        node = self._nodes[number] = Node(key, self._nodes[parent])
        if nameable(key):
            self._recorder.record_store(node)

    def _split(self, number, upper, units) -> None:
        lower = self._nodes[number]
        hashes, lower.hash_value = split_node_hash_value(lower.hash_value, units, self._page)
        event_hashes, lower.event_hash_value = split_node_hash_value(lower.event_hash_value, units, self._page)
        lower.parent = self._nodes[upper] = Node(lower.key[:units], lower.parent, hashes, event_hashes)
        lower.key = lower.key[units:]

    def _removed(self, number) -> None:
        node = self._nodes.pop(number)
        if nameable(node.key):
            self._recorder.record_remove(node)

    def _cleared(self) -> None:
        self._nodes = {0: Node(RadixKey(array("q")), None, [])}
        self._recorder.record_all_cleared()


class CoreEvents:
    """The functions that SGLang calls of a core's recorder of KV events."""

    def __init__(self, params, index: Index):
        self.enabled = params.enable_kv_cache_events
        self._events = Events(params, index) if self.enabled else None
        self.take()  # SGLang resets a new core, and that is the first event

    def record_all_cleared(self) -> None:
        """Does nothing: the index has recorded that it was cleared."""

    def take(self) -> list:
        return self._events.take() if self._events else []
